"""Record keys that an HFile can't have, in a table with a record index."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
INDEX = "hoodie.metadata.record.index.enable"


def test_the_index_is_named_that_has_no_place_for_them(root: Folder) -> None:
    table = HudiTable.create(
        str(root / "t"),
        name="t",
        table_type="COPY_ON_WRITE",
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=root.lake,
    )

    def write(value: str, *, indexed: bool) -> None:
        keys = [f"{number}".rjust(32_768, "k") for number in range(2)]
        rows = pa.table({"id": keys, "p": ["a", "b"], "v": [value] * 2, "ts": [len(value)] * 2})
        table.upsert(rows, hoodie_conf={"hoodie.metadata.enable": "true", INDEX: str(indexed).lower()})

    with pytest.raises(BadRecordError, match=rf"has 32768 bytes, and the record index \({INDEX}\) takes 32767 at most"):
        write("v", indexed=True)
    write("v", indexed=False)
    with pytest.raises(BadRecordError, match=f"write with {INDEX}=false"):
        write("w", indexed=True)
    assert table.refreshed().scan().to_arrow()["v"].to_pylist() == ["v", "v"]
