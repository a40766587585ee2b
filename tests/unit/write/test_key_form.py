"""Of ComplexKeyGenerator with one column, keys are written as the table's are: with the column's name, or without."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from tests.support.folder import Folder

pytestmark = pytest.mark.unit
NEW_ENCODING = "hoodie.write.complex.keygen.new.encoding"
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
INDEXES = ("SIMPLE", "BLOOM", "BUCKET")


def data(ids: list[str], v: int = 0) -> pa.Table:
    return pa.table({"id": ids, "p": ["a"] * len(ids), "q": ["b"] * len(ids), "v": [v] * len(ids)})


def made(root: Folder, table_type: str = "COPY_ON_WRITE", *, key: Sequence[str] = ("id",)) -> HudiTable:
    return HudiTable.create(
        str(root / "t"),
        name="t",
        table_type=table_type,
        record_key_fields=key,
        partition_fields=["p", "q"],
        lake=root.lake,
    )


def keys_of(table: HudiTable) -> dict[str, int]:
    found = table.refreshed().scan(columns=["_hoodie_record_key", "v"]).to_arrow().to_pylist()
    rows = {one["_hoodie_record_key"]: one["v"] for one in found}
    assert len(rows) == len(found), "a key stands twice"
    return rows


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("table_type", TYPES)
@pytest.mark.parametrize(("value", "name"), [("false", "id:"), ("true", ""), ("", "")])
def test_writes_go_on_in_the_form_of_the_first(
    root: Folder, table_type: str, index: str, value: str, name: str
) -> None:
    conf = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    table = made(root, table_type)
    table.upsert(data(["1", "2", "id:3"]), hoodie_conf={**conf, NEW_ENCODING: value})
    table = table.refreshed()
    table.upsert(data(["2", "id:3", "4"], 1), hoodie_conf=conf)
    assert keys_of(table) == {f"{name}1": 0, f"{name}2": 1, f"{name}id:3": 1, f"{name}4": 1}
    table.refreshed().delete(pa.table({"id": ["1", "id:3"], "p": ["a", "a"], "q": ["b", "b"]}), hoodie_conf=conf)
    assert keys_of(table) == {f"{name}2": 1, f"{name}4": 1}


def test_a_value_that_looks_like_a_name_is_none(root: Folder) -> None:
    table = made(root)
    table.upsert(data(["id:1"]))
    table.refreshed().upsert(data(["id:1", "2"], 1))
    assert keys_of(table) == {"id:1": 1, "2": 1}


@pytest.mark.parametrize("first", ["true", "false"])
def test_another_form_than_the_tables_is_refused(root: Folder, first: str) -> None:
    table = made(root)
    table.upsert(data(["1"]), hoodie_conf={NEW_ENCODING: first})
    other = "false" if first == "true" else "true"
    with pytest.raises(ConfigError, match=f"{NEW_ENCODING}={other} contradicts the keys in the table"):
        table.refreshed().upsert(data(["1"]), hoodie_conf={NEW_ENCODING: other})
    table.refreshed().upsert(data(["1"], 5), hoodie_conf={NEW_ENCODING: first})
    assert list(keys_of(table).values()) == [5]


def test_a_table_whose_rows_are_gone_takes_either(root: Folder) -> None:
    table = made(root)
    table.upsert(data(["1"]), hoodie_conf={NEW_ENCODING: "false"})
    table.refreshed().delete_partitions(["a/b"])
    table.refreshed().upsert(data(["1"]))
    assert keys_of(table) == {"1": 0}


def test_several_columns_always_have_names(root: Folder) -> None:
    table = made(root, key=["id", "v"])
    table.upsert(data(["1"]), hoodie_conf={NEW_ENCODING: "true"})
    assert list(keys_of(table)) == ["id:1,v:0"]
