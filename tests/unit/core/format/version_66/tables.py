"""Tables of the version, for its tests."""

from __future__ import annotations

from spark_jobs.core.config.keys.table import VERSION
from spark_jobs.core.create import new_table_properties
from spark_jobs.core.format.instant import Action
from spark_jobs.core.read.scan import Scan
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import begin
from tests.faults import local_table
from tests.support.folder import Folder

TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")


def create(path: Folder, table_type: str) -> None:
    values = new_table_properties(
        name="t", table_type=table_type, record_key_fields=["id"], partition_fields=["p"], precombine_field="ts"
    )
    HudiTable.initialise(str(path), {**values, VERSION.name: "66"}, lake=path.lake)


def write(path: Folder, version: int) -> str:
    """Upsert twenty rows, of which all have this version; the time of the write."""
    return local_table.write(path, local_table.batch(0, 20, f"v{version}", version), f"write {version}")


def fail(path: Folder) -> None:
    """Begin a write that is given up."""
    write = begin(path.table().transaction_settings({}), Action.COMMIT)
    write.to_inflight()
    write.abandon()


def values(scan: Scan) -> set[object]:
    return set(scan.to_arrow()["v"].to_pylist())
