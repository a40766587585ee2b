"""Files of a source, and their columns, as Spark would find them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.write.direct.listing import columns_in_spark, source_files
from tests.support.folder import Folder

pytestmark = pytest.mark.unit


def touched(folder: Folder, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def found(folder: Folder, *paths: str) -> list[str] | str:
    files = source_files([f"{folder}/{path}".rstrip("/") for path in paths], folder.lake)
    return files if isinstance(files, str) else sorted(file[len(str(folder)) + 1 :] for file in files)


def test_files_of_folders_and_patterns(root: Folder) -> None:
    touched(root, "a/1.parquet", "a/2", "a/_SUCCESS", "a/.crc", "a/3._COPYING_", "b1/1", "b2/1", "other/1")
    assert found(root, "a") == ["a/1.parquet", "a/2"]
    assert found(root, "a/1.parquet") == ["a/1.parquet"]
    assert found(root, "a", "other") == ["a/1.parquet", "a/2", "other/1"]
    assert found(root, "b*") == ["b1/1", "b2/1"]
    assert found(root, "b?/1") == ["b1/1", "b2/1"]
    with pytest.raises(StorageError, match=r"c\* does not exist"):
        found(root, "c*")


@pytest.mark.parametrize(
    ("names", "path", "why"),
    [
        (["a/x=1/f"], "a", "has folders in it"),
        (["a/sub/f"], "a", "has folders in it"),
        (["a/f", "a/_metadata"], "a", "says what the columns are"),
        (["a/f"], "{a,b}", "pattern of Hadoop's"),
        (["a/f", "a/_hidden"], "a/*", "is hidden"),
        (["a/_SUCCESS"], "a", "has no files"),
    ],
)
def test_what_spark_lists_in_its_own_way_is_left_to_it(root: Folder, names: list[str], path: str, why: str) -> None:
    touched(root, *names)
    assert why in str(found(root, path))


def test_columns_have_the_types_that_spark_gives_them() -> None:
    stored = pa.schema(
        [
            pa.field("i", pa.int32(), nullable=False),
            pa.field("s", pa.large_string(), metadata={"k": "v"}),
            ("d", pa.dictionary(pa.int8(), pa.string())),
            ("t", pa.timestamp("ms", "Europe/Berlin")),
            ("n", pa.timestamp("us")),
            ("m", pa.decimal128(9, 2)),
        ]
    )
    assert columns_in_spark(stored, {}, "f") == pa.schema(
        [
            ("i", pa.int32()),
            ("s", pa.string()),
            ("d", pa.string()),
            ("t", pa.timestamp("us", "UTC")),
            ("n", pa.timestamp("us")),
            ("m", pa.decimal128(9, 2)),
        ]
    )


def test_columns_with_parts() -> None:
    day, time = pa.field("day", pa.date32()), pa.field("at", pa.timestamp("us", "UTC"))
    stored = pa.schema(
        [
            ("s", pa.struct([day, pa.field("at", pa.timestamp("ms", "UTC"), nullable=False)])),
            ("l", pa.list_(pa.field("item", pa.large_list(pa.large_string())))),
            ("m", pa.map_(pa.string(), pa.struct([day]))),
        ]
    )
    found = columns_in_spark(stored, {}, "f")
    texts = pa.list_(pa.field("element", pa.string()))
    wanted = [("s", pa.struct([day, time])), ("l", pa.list_(pa.field("element", texts)))]
    assert found == pa.schema([*wanted, ("m", pa.map_(pa.string(), pa.struct([day])))])


NANOS = pa.timestamp("ns")


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.timestamp("ns"), pa.uint32(), pa.duration("us"), pa.null(), pa.list_(NANOS), pa.map_(pa.string(), NANOS)),
        *(pa.struct([("a", NANOS)]), pa.struct([("a", pa.int32()), ("A", pa.int32())]), pa.struct([])),
        pa.list_(pa.struct([("a", pa.list_(pa.uint8()))])),
    ],
)
def test_types_that_spark_has_otherwise_are_left_to_it(kind: pa.DataType) -> None:
    assert columns_in_spark(pa.schema([("c", kind)]), {}, "f") == f"column c of f is {kind}"


def test_what_spark_wrote_of_a_column_decides() -> None:
    stored = pa.schema([("a", pa.int32()), ("b", pa.decimal128(5, 1))])

    def said(kind: object) -> dict[bytes, bytes]:
        fields = [{"name": "a", "type": kind}, {"name": "b", "type": "decimal(5,1)"}]
        return {b"org.apache.spark.sql.parquet.row.metadata": json.dumps({"fields": fields}).encode()}

    assert columns_in_spark(stored, said("integer"), "f") == stored
    for other in "interval year to month", {"type": "udt"}, "decimal(9,0)":
        assert "type of Spark's own" in str(columns_in_spark(stored, said(other), "f"))
    inner = pa.struct([("x", pa.int32()), ("y", pa.map_(pa.string(), pa.list_(pa.field("element", pa.date32()))))])
    nested = pa.schema([("a", inner), ("b", pa.decimal128(5, 1))])
    days = {"type": "array", "elementType": "date", "containsNull": True}
    by_text = {"type": "map", "keyType": "string", "valueType": days, "valueContainsNull": True}
    parts = [{"name": "x", "type": "integer"}, {"name": "y", "type": by_text}]
    assert columns_in_spark(nested, said({"type": "struct", "fields": parts}), "f") == nested
    for changed in (
        {"type": "udt", "class": "C", "sqlType": {"type": "struct", "fields": parts}},
        {"type": "struct", "fields": parts[:1]},
        {"type": "struct", "fields": [parts[0], {"name": "y", "type": {**by_text, "valueType": "date"}}]},
        {"type": "struct", "fields": [{"name": "x", "type": "date"}, parts[1]]},
        {"type": "array", "elementType": "date"},
    ):
        assert "type of Spark's own" in str(columns_in_spark(nested, said(changed), "f"))
    assert "two columns" in str(columns_in_spark(pa.schema([("a", pa.int32()), ("A", pa.int32())]), {}, "f"))
