"""Options that say which columns a table's records go by; of all jobs that make or write one."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.flags import Kind, flag

RecordKeyFields = Annotated[
    tuple[str, ...],
    flag(
        "--record-key-fields",
        kind=Kind.NAMES,
        keys=("hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields"),
        help="Columns whose values identify a record.",
    ),
]
PartitionPathFields = Annotated[
    tuple[str, ...],
    flag(
        "--partition-path-fields",
        kind=Kind.NAMES,
        keys=("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields"),
        help="Columns whose values make the partition.",
    ),
]
PrecombineField = Annotated[
    str | None,
    flag(
        "--precombine-field",
        keys=("hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field"),
        help="Column that decides between records of one key: the greatest stays.",
    ),
]
