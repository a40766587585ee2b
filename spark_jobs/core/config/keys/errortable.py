"""Keys of the table of rows that don't fit, and of the lines that tell of such rows (Hudi: HoodieErrorTableConfig)."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, integer, text

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
