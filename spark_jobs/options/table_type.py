"""The option that says of which type a new table is; of all jobs that make one."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.choices import TableType
from spark_jobs.options.flags import flag

NewTableType = Annotated[
    TableType | None,
    flag(
        "--table-type",
        choices=TableType,
        keys=("hoodie.datasource.write.table.type", "hoodie.datasource.write.storage.type", "hoodie.table.type"),
        help="Type of a new table; COPY_ON_WRITE if not given.",
    ),
]
