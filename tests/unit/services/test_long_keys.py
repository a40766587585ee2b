"""Record keys that an HFile can't have, in a table with a record index."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local

pytestmark = pytest.mark.unit
INDEX = "hoodie.metadata.record.index.enable"


def test_the_index_is_named_that_has_no_place_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def keyed(rows: pa.Table) -> pa.Table:
        keys = [f"{one}".rjust(length, "k") for one in rows["id"].to_pylist()]
        return rows.append_column(RECORD_KEY, pa.array(keys)).append_column(PARTITION_PATH, rows["p"])

    monkeypatch.setattr(local, "_keyed", keyed)
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "true")
    monkeypatch.setitem(local.AT_ONCE, INDEX, "true")
    local.create(tmp_path / "t", "COPY_ON_WRITE")
    length = 32_768
    with pytest.raises(BadRecordError, match=rf"has 32768 bytes, and the record index \({INDEX}\) takes 32767 at most"):
        local.write(tmp_path / "t", local.batch(0, 2, "v", 1), "k1")
    monkeypatch.setitem(local.AT_ONCE, INDEX, "false")
    local.write(tmp_path / "t", local.batch(0, 2, "v", 1), "k2")
    monkeypatch.setitem(local.AT_ONCE, INDEX, "true")
    with pytest.raises(BadRecordError, match=f"write with {INDEX}=false"):
        local.write(tmp_path / "t", local.batch(0, 2, "w", 2), "k3")
    assert HudiTable.open(str(tmp_path / "t")).scan().to_arrow()["v"].to_pylist() == ["v", "v"]
