"""Partitions that a condition rules out are not listed, and no partition that has rows of it is left out."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import BadRecordError, CorruptTableError, StorageError
from spark_jobs.core.keygen.keys import partition_paths
from spark_jobs.core.keygen.spec import COMPLEX, PACKAGE, SIMPLE, Generator, KeySpec
from spark_jobs.core.read.partition_pruning import PartitionPruning
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.faults.faulty_storage import FaultyStorage
from tests.nightly import examples
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

SCHEMA = pa.schema([("t", pa.string()), ("n", pa.int64()), ("b", pa.bool_()), ("d", pa.date32()), ("x", pa.float64())])
ROWS = st.fixed_dictionaries(
    {
        "t": st.none() | st.text(alphabet="ab/%=é0.:", max_size=4) | st.sampled_from(["default", "t=a", "n=1"]),
        "n": st.none() | st.integers(-3, 3),
        "b": st.none() | st.booleans(),
        "d": st.none() | st.dates(dt.date(1969, 12, 30), dt.date(1970, 1, 2)),
        "x": st.none() | st.sampled_from([0.0, 1.5]),
    }
)
FIELDS = st.lists(st.sampled_from(SCHEMA.names), min_size=1, max_size=3, unique=True)


def pruning(fields: list[str], condition: Any, **more: str) -> PartitionPruning | None:
    properties = {
        "hoodie.table.name": "t",
        "hoodie.table.version": "6",
        "hoodie.table.partition.fields": ",".join(fields),
        "hoodie.table.keygenerator.class": SIMPLE if len(fields) == 1 else COMPLEX,
        **more,
    }
    return PartitionPruning.of(TableConfig(properties), SCHEMA, condition)


def conditions_of(row: dict[str, Any], fields: list[str]) -> list[pc.Expression]:
    """Some that the row fulfils."""
    found = []
    for name in fields:
        column, kind = pc.field(name), SCHEMA.field(name).type
        if row[name] is None:
            found.append(column.is_null())
            continue
        value = pa.scalar(row[name], kind)
        found += [column == value, column.isin([value]), column >= value, (column <= value) & column.is_valid()]
    together = found[0]
    for one in found[1:]:
        together = together & one
    return [*found, together, found[0] | (pc.field("n") == 99), ~(pc.field("n") == 99) & found[-1]]


@given(row=ROWS, fields=FIELDS, hive=st.booleans(), encoded=st.booleans())
@settings(max_examples=examples(400), deadline=None)
def test_the_partition_of_a_row_stays(row: dict[str, Any], fields: list[str], hive: bool, encoded: bool) -> None:
    """Whatever the key generator makes of its values, and each folder on the way to it."""
    spec = KeySpec.of(["n"], fields, hive_style=hive, url_encode=encoded)
    try:
        [path] = partition_paths(pa.Table.from_pylist([row], schema=SCHEMA), spec).to_pylist()
    except BadRecordError:
        return
    style = {
        "hoodie.datasource.write.hive_style_partitioning": str(hive).lower(),
        "hoodie.datasource.write.partitionpath.urlencode": str(encoded).lower(),
    }
    for condition in conditions_of(row, fields):
        found = pruning(fields, condition, **style)
        assert found is not None
        assert found.keep([path]) == [path], condition
        parts = path.split("/")
        above = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        assert found.enter(above) == above, condition


URL_ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}


def test_what_is_left_out() -> None:
    t, n, d = pc.field("t"), pc.field("n"), pc.field("d")

    def kept(fields: list[str], condition: pc.Expression, paths: list[str], **more: str) -> list[str]:
        found = pruning(fields, condition, **more)
        assert found is not None
        return found.keep(paths)

    assert kept(["t"], t == "a", ["a", "b", "a/b", "__HIVE_DEFAULT_PARTITION__"]) == [
        "a",
        "__HIVE_DEFAULT_PARTITION__",  # null, empty, or that text
    ]
    assert kept(["t"], t == "a/b", ["a", "a/b", "a%2Fb"]) == ["a/b"]
    assert kept(["t"], t == "a/b", ["a", "a%2Fb"], **URL_ENCODED) == ["a%2Fb"]
    assert kept(["t"], t == "a", ["t=a", "t=b", "a"], **HIVE) == ["t=a", "a"]  # the last was written otherwise
    assert kept(["n"], (n > 1) & (n < 4), ["1", "2", "3", "4", "04"]) == ["2", "3", "04"]
    assert kept(["d"], d >= dt.date(2024, 1, 2), ["2024-01-01", "2024-01-02", "19723"]) == ["2024-01-02", "19723"]
    assert kept(["n", "t"], (n == 1) & (t == "b"), ["1/a", "1/b", "2/b"]) == ["1/b"]
    assert kept(["t", "n"], n == 1, ["a/1", "a/2", "a/b/1"]) == ["a/1", "a/b/1"]  # where one value ends, nobody knows
    assert kept(["x"], pc.field("x") == 1.0, ["1.5", "2.5"]) == ["1.5", "2.5"]  # not judged


def test_folders_that_are_not_entered() -> None:
    def entered(fields: list[str], condition: pc.Expression, folders: list[str], **more: str) -> list[str]:
        found = pruning(fields, condition, **more)
        assert found is not None
        return found.enter(folders)

    t, n = pc.field("t"), pc.field("n")
    assert entered(["t", "n"], t == "a/b", ["a", "b", "a/b"]) == ["a", "a/b"]
    assert entered(["t", "n"], t == "a/b", ["a", "a%2Fb", "a%2Fb/7"], **URL_ENCODED) == ["a%2Fb", "a%2Fb/7"]
    assert entered(["n", "t"], n == 1, ["1", "2", "1/x", "2/x"]) == ["1", "1/x"]
    assert entered(["t", "n"], n == 1, ["a", "a/2"], **URL_ENCODED) == ["a"]


@pytest.mark.parametrize(
    "more",
    [
        {"hoodie.table.version": "5"},  # whose key generator is not sure
        {"hoodie.table.keygenerator.class": PACKAGE + Generator.TIMESTAMP},
        {"hoodie.table.keygenerator.class": PACKAGE + Generator.CUSTOM},
        {"hoodie.table.keygenerator.class": "com.example.Own"},
        {"hoodie.table.keygenerator.class": ""},
        {"hoodie.bootstrap.base.path": "/source"},
        {"hoodie.table.metadata.partitions": "files,record_index"},  # which leaves records where they were
    ],
)
def test_tables_whose_paths_are_not_believed(more: dict[str, str]) -> None:
    assert pruning(["t"], pc.field("t") == "a") is not None
    assert pruning(["t"], pc.field("t") == "a", **more) is None


def test_conditions_without_a_partition_column_and_wrong_ones() -> None:
    assert pruning(["t"], None) is None
    assert pruning(["t"], pc.field("n") == 1) is None
    for wrong in (pc.field("t") == 1, (pc.field("t") == "b") & (pc.field("unknown") == 1)):
        found = pruning(["t"], wrong)
        assert found is not None
        assert found.keep(["a", "b"]) == ["a", "b"]  # the query itself tells what is wrong


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """Six partitions with a record each."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    values = {"id": range(6), "p": list("abcdef"), "v": ["x"] * 6, "ts": [1] * 6}
    local.write(path, pa.table(values, schema=local.SCHEMA), "k")
    return path.table(lists_storage=True)


def calls(table: HudiTable, name: str, condition: Any) -> tuple[int, list[dict[str, Any]]]:
    """How often the storage was asked, and the rows."""
    counting = replace(table, storage=FaultyStorage(inner=table.storage))
    rows = counting.scan(filter=condition).to_arrow().to_pylist()
    storage = counting.storage
    assert isinstance(storage, FaultyStorage)
    return storage.calls.count(name), rows


def test_storage_is_listed_for_the_partitions_asked_for(table: HudiTable) -> None:
    key = pc.field("_hoodie_record_key")
    everything, rows = calls(table, "list", key == "1")
    fewer, found = calls(table, "list", (pc.field("p") == "b") & (key == "1"))
    assert found == rows
    assert len(rows) == 1
    if table.storage.capabilities.ordered:
        assert everything == 1  # of the timeline: all partitions come by one walk of the table
    else:
        assert everything - fewer == 2 * 5  # five partitions less, once for their metafile and once for their files
    none, nothing = calls(table, "list", pc.field("p") == "z")
    assert (nothing, none) == ([], fewer - 2)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(wanted=st.sets(st.sampled_from("abcdefgh")))
def test_the_rows_are_those_of_a_whole_scan(table: HudiTable, wanted: set[str]) -> None:
    condition = pc.field("p").isin(pa.array(sorted(wanted), pa.string()))
    everything = table.scan().to_arrow()
    assert table.scan(filter=condition).to_arrow().equals(everything.filter(condition))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("listed", ["false", "true"], ids=["by the storage", "by the metadata table"])
def test_a_partition_that_is_gone_as_a_whole_is_missed(root: Folder, table_type: str, listed: str) -> None:
    """Its folder is not among those that the storage lists; what completed writes say of it is."""
    path, conf = root / "t", {"hoodie.metadata.enable": listed}
    local.create(path, table_type)
    path.table().upsert(local.batch(0, 8, "one", 1), hoodie_conf=conf)
    (path / "a").remove()
    of_a, of_b = (pc.field("p") == one for one in ("a", "b"))
    with pytest.raises((CorruptTableError, StorageError), match=r"it is gone|can't be read"):
        path.table().scan(filter=of_a).to_arrow()
    assert path.table().scan(filter=of_b).to_arrow().num_rows == 4


def test_a_partition_that_was_deleted_and_cleaned_is_not_missed(root: Folder) -> None:
    path, conf = root / "t", {"hoodie.metadata.enable": "false"}
    local.create(path, "COPY_ON_WRITE")
    path.table().upsert(local.batch(0, 8, "one", 1), hoodie_conf=conf)
    path.table().delete_partitions(["a"], hoodie_conf=conf)
    for version in (2, 3):
        path.table().upsert(local.batch(0, 8, f"{version}", version).filter(pc.field("p") == "b"), hoodie_conf=conf)
    local.clean(path)
    if (path / "a").exists():
        (path / "a").remove()
    assert path.table().scan(filter=pc.field("p") == "a").to_arrow().num_rows == 0
