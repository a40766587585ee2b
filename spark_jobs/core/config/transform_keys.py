"""Keys of what happens to a source's rows before they are written (Hudi: SqlTransformerConfig,
HoodieErrorTableConfig).
"""

from __future__ import annotations

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, integer, names, text

SOURCE_SCHEMA_FILE = Key(
    name="hoodie.streamer.schemaprovider.source.schema.file",
    parse=text,
    default="",
    doc="Path or URL of a file with the source's schema in Avro's JSON, where `--source-schema` gives none.",
    aliases=("hoodie.deltastreamer.schemaprovider.source.schema.file",),
)
TRANSFORMER_SQL = Key(
    name="hoodie.streamer.transformer.sql",
    parse=text,
    default="",
    doc="A query over `<SRC>` that makes the rows to write from the source's.",
    aliases=("hoodie.deltastreamer.transformer.sql",),
)
TRANSFORMER_SQL_FILE = Key(
    name="hoodie.streamer.transformer.sql.file",
    parse=text,
    default="",
    doc="A file with such a query, or with several statements, the query last.",
    aliases=("hoodie.deltastreamer.transformer.sql.file",),
)
TRANSFORMERS = Key(
    name="pyhudi.transformer",
    parse=names,
    default=NO_NAMES,
    doc="Functions from rows to rows, as module:function.",
)
ERROR_TABLE_ENABLE = Key(
    name="hoodie.errortable.enable",
    parse=boolean,
    default=True,
    doc="Whether rows that don't fit go to the error table, where a base path for it is given.",
)
ERROR_TABLE_PATH = Key(
    name="hoodie.errortable.base.path",
    parse=text,
    default="",
    doc="Base path of the error table; without it rows that don't fit fail the write.",
)
ERROR_TABLE_NAME = Key(
    name="hoodie.errortable.target.table.name",
    parse=text,
    default="",
    doc="Name of the error table; the table's own with `_errors` if not given.",
)
MAX_ERRORS = Key(
    name="pyhudi.errortable.max.errors",
    parse=integer(-1),
    default=-1,
    doc="Rows that may go to the error table; with more of them the write fails; -1 for any number.",
)
SHOW_VALUES = Key(
    name="pyhudi.errors.show.values",
    parse=boolean,
    default=True,
    doc="Whether the line of error of a write shows one short value of a row that doesn't fit.",
)
