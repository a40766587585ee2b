"""Two writers at once, of which one changes the schema of the table."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.storage import Storage
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder
from tests.support.through import Through

pytestmark = pytest.mark.unit
ROWS = pa.table({"id": [1, 2], "p": ["a", "b"], "ts": [1, 1]})
CONF = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
}


class Meanwhile(Through):
    """Something happens once, when a write knows its places and nothing of it is published."""

    def __init__(self, inner: Storage, happens: Callable[[], None]) -> None:
        super().__init__(inner)
        self.happens: list[Callable[[], None]] = [happens]

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        if path.endswith(".inflight") and self.happens:
            self.happens.pop()()


@pytest.mark.parametrize("operation", ["upsert", "bulk_insert"])
@pytest.mark.parametrize("adds", [False, True])
def test_a_column_that_another_writer_added_is_not_taken_away(root: Folder, operation: str, adds: bool) -> None:
    path = root / "t"
    fields = {"record_key_fields": ["id"], "partition_fields": ["p"], "precombine_field": "ts"}
    HudiTable.create(str(path), name="t", table_type="COPY_ON_WRITE", **fields, lake=path.lake).upsert(ROWS)
    other = pa.table({"id": [3], "p": ["c"], "ts": [1], **({"more": ["x"]} if adds else {})})

    def write_other() -> None:
        path.table().bulk_insert(other, hoodie_conf=CONF)

    watched = root.through(Meanwhile(root.storage, write_other)) / "t"
    if not adds:
        getattr(watched.table(), operation)(ROWS, hoodie_conf=CONF)
        return
    with pytest.raises(
        WriteConflictError, match="another writer changed the schema of table t meanwhile: run it again"
    ):
        getattr(watched.table(), operation)(ROWS, hoodie_conf=CONF)
    assert "more" in path.table().schema.names
    assert [
        row["more"] for row in path.table().scan(columns=["id", "more"]).to_arrow().to_pylist() if row["id"] == 3
    ] == ["x"]
