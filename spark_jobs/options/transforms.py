"""Options that say what happens to a source's rows before they are written, and to those that don't fit."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.flags import Kind, flag

TransformerSql = Annotated[
    str | None,
    flag(
        "--transformer-sql",
        keys=("hoodie.streamer.transformer.sql", "hoodie.deltastreamer.transformer.sql"),
        help="A query over `<SRC>` that makes the rows to write from the source's.",
    ),
]
TransformerSqlFile = Annotated[
    str | None,
    flag(
        "--transformer-sql-file",
        keys=("hoodie.streamer.transformer.sql.file", "hoodie.deltastreamer.transformer.sql.file"),
        help="Path or URL of a file with such a query, or with several statements, the query last.",
    ),
]
Transformers = Annotated[
    tuple[str, ...],
    flag(
        "--transformer",
        "--transformer-class",
        kind=Kind.NAMES,
        keys=("pyhudi.transformer",),
        help="Functions from rows to rows, as module:function; sql and sql-file in it say where the queries come.",
    ),
]
ErrorTable = Annotated[
    str | None,
    flag(
        "--error-table",
        keys=("hoodie.errortable.base.path",),
        help="Base path of a table that takes the rows that don't fit; without it they fail the write.",
    ),
]
MaxErrors = Annotated[
    int | None,
    flag(
        "--max-errors",
        kind=Kind.INTEGER,
        keys=("pyhudi.errortable.max.errors",),
        least=0,
        help="Rows that may go to the error table; with more of them the write fails.",
    ),
]
