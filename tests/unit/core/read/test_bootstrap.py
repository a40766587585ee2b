"""Bootstrapped tables: real ones give what Hudi gave; the parts by literal examples."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.table_config import update_table_config
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.format import BOOTSTRAP_COMPARATOR
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.writer import write_hfile
from spark_jobs.core.read.bootstrap import folder_values, side_by_side
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, BY_FILE_ID, BY_PARTITION, BootstrapIndex, without_scheme
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, read_parquet, unzip, write_parquet
from tests.unit.services.bootstrap.sources import bootstrap

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "tables"
NAMES = ("bootstrap_cow", "bootstrap_mor")
WHOLE = "bootstrap_whole"
"""Without an index: all of it was copied."""
BASE_PATH = "hoodie.bootstrap.base.path"
FULL = {"hoodie.bootstrap.mode.selector": "FullRecordBootstrapModeSelector"}
NO_INDEX = "org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex"


def unpack(name: str, folder: Folder) -> HudiTable:
    """A table and its source, which moved with it."""
    unzip(TABLES / f"{name}.zip", folder)
    return point((folder / name).table(), BASE_PATH, str(folder / f"{name}_source"))


def point(table: HudiTable, key: str, value: str) -> HudiTable:
    update_table_config(table.storage, table.base_path, {key: value}, SYSTEM_CLOCK)
    return table.refreshed()


def keyed_rows(table: HudiTable) -> list[dict[str, object]]:
    """As they are now, by their keys; files may change."""
    found = table.refreshed().scan().to_arrow().drop_columns(["_hoodie_file_name"])
    return found.sort_by("_hoodie_record_key").to_pylist()


@pytest.fixture(params=NAMES)
def table(request: pytest.FixtureRequest, root: Folder) -> HudiTable:
    return unpack(request.param, root)


@pytest.fixture
def cow(root: Folder) -> HudiTable:
    return unpack("bootstrap_cow", root)


@pytest.mark.parametrize("name", [*NAMES, WHOLE])
@pytest.mark.parametrize("query", ["snapshot", "read_optimized"])
def test_a_query_gives_what_hudi_gave(name: str, query: str, root: Folder) -> None:
    table = unpack(name, root)
    wanted = read_parquet(TABLES / f"{name}.{query}.parquet")
    found = table.scan(query=query).to_arrow()
    assert {field.name: field.type for field in found.schema} == {field.name: field.type for field in wanted.schema}
    ordered = found.sort_by("_hoodie_record_key").select(wanted.column_names)
    assert ordered.to_pylist() == wanted.to_pylist()


def test_a_copied_table_needs_neither_index_nor_source(root: Folder) -> None:
    table = unpack(WHOLE, root)
    assert table.config.properties["hoodie.bootstrap.index.class"] == NO_INDEX
    assert not list((Folder(table.base_path, table.lake) / ".hoodie/.aux").rglob("*.hfile"))
    Folder(f"{table.base_path}_source", table.lake).remove()
    path = Folder(table.base_path, table.lake)
    before = keyed_rows(table)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
    for service in (local.compact, local.cluster, local.clean):
        service(path)
        assert keyed_rows(table) == before
        assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []


def test_a_copied_table_without_an_index_is_written_to(root: Folder) -> None:
    for name in local.PARTITIONS:
        (root / "source" / name).mkdir(parents=True)
        stored = local.batch(0, 4, "one", 1)
        write_parquet(stored.filter(pc.field("p") == name), root / "source" / name / "1.parquet")
    fields = {"record_key_fields": ("id",), "partition_path_fields": ("p",), "precombine_field": "ts"}
    bootstrap(root / "t", root / "source", FULL, table_type="COPY_ON_WRITE", **fields)
    point((root / "t").table(), "hoodie.bootstrap.index.class", NO_INDEX)
    (root / "source").remove()
    local.write(root / "t", local.batch(0, 2, "two", 2), "k1")
    local.write(root / "t", local.batch(10, 2, "new", 2), "k2")
    updated = (local.batch(0, 2, "two", 2), local.batch(10, 2, "new", 2))
    assert local.rows_of(root / "t") == local.expected_rows(local.batch(0, 4, "one", 1), *updated)
    assert [str(one) for one in validate(str(root / "t"), deep=True, lake=root.lake)] == []


def test_some_columns(table: HudiTable) -> None:
    whole = table.scan().to_arrow().to_pylist()
    for names in (["week", "_hoodie_record_key", "place"], ["region"], ["_hoodie_file_name"], ["name"]):
        found = table.scan(columns=names).to_arrow()
        assert found.column_names == names
        assert found.to_pylist() == [{name: row[name] for name in names} for row in whole]
    assert table.scan(columns=[]).to_arrow().num_rows == len(whole)
    north = table.scan(columns=["id"], filter=pc.field("region") == "north").to_arrow()
    assert 0 < north.num_rows == sum(row["region"] == "north" for row in whole)


def test_earlier_and_later(table: HudiTable) -> None:
    before = table.scan(as_of=BOOTSTRAP_INSTANT).to_arrow()
    assert set(before["_hoodie_commit_time"].to_pylist()) == {BOOTSTRAP_INSTANT}
    assert set(before["revision"].to_pylist()) == {0}
    changed = table.scan(query="incremental", begin="00000000000002").to_arrow()
    assert sorted(changed["id"].to_pylist()) == [f"north-{number:05d}" for number in range(10, 15)]


def test_readers_travel_to_executors(table: HudiTable) -> None:
    scan = table.scan()
    reader = pickle.loads(pickle.dumps(scan.reader()))
    rows = [batch for one in scan.slices() for batch in reader.read(one)]
    assert pa.Table.from_batches(rows).equals(scan.to_arrow())


def test_the_index_tells_the_same_both_ways(table: HudiTable) -> None:
    index = BootstrapIndex.of(table.lake, table.storage, table.base_path, table.config)
    assert index is not None
    known = 0
    for partition in table.partitions():
        for file_id, source in index.sources(partition).items():
            assert index.source_of(partition, file_id) == source
            storage, path = index.place(source)
            status = storage.stat(path)
            assert status is not None
            assert status.size == source.size
            known += 1
    assert known == (6 if table.config.name == "bootstrap_cow" else 4)
    assert index.sources("nowhere") == {}
    with pytest.raises(CorruptTableError, match="does not know file group nothing of 'nowhere'"):
        index.source_of("nowhere", "nothing")


def test_its_files_are_written_again_to_the_same_bytes(table: HudiTable) -> None:
    for name in (BY_PARTITION, BY_FILE_ID):
        data = (Folder(table.base_path, table.lake) / name).read_bytes()
        reader = HFileReader(data)
        info = {b"INDEX_INFO": reader.info[b"INDEX_INFO"]}
        again = write_hfile(
            reader.entries(), compression=reader.trailer.compression, comparator=BOOTSTRAP_COMPARATOR, file_info=info
        )
        assert again == data


def test_a_source_that_changed(cow: HudiTable) -> None:
    file = next(Folder(cow.base_path + "_source", cow.lake).rglob("week=w2/*.parquet"))
    whole = file.read_bytes()
    write_parquet(read_parquet(file).slice(1), file)
    with pytest.raises(CorruptTableError, match=rf"{file} has \d+ bytes, and had {len(whole)} when the table was"):
        cow.scan().to_arrow()
    file.write_bytes(whole)
    assert cow.scan().to_arrow().num_rows


def test_a_source_that_is_damaged(cow: HudiTable) -> None:
    file = next(Folder(cow.base_path + "_source", cow.lake).rglob("week=w2/*.parquet"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-4] + b"PARX")
    with pytest.raises(
        CorruptTableError, match=rf"^source file {file} is not readable \(.*\): restore it from a copy$"
    ):
        cow.scan().to_arrow()
    file.write_bytes(whole[:4] + bytes(200) + whole[204:])
    with pytest.raises(CorruptTableError, match=rf"^source file {file} is damaged \(.*\): restore it from a copy$"):
        cow.scan().to_arrow()


def test_without_an_index_only_skeletons_are_refused(cow: HudiTable) -> None:
    whole = cow.scan().to_arrow()
    other = point(cow, "hoodie.bootstrap.index.class", NO_INDEX)
    with pytest.raises(CorruptTableError, match=r"hoodie\.bootstrap\.index\.class no index that tells where") as raised:
        other.scan().to_arrow()
    assert "\n" not in str(raised.value)
    reader, slices = other.scan().reader(), other.scan().slices()
    (updated,) = [one for one in slices if one.base_instant != BOOTSTRAP_INSTANT]  # an update made its rows whole
    rows = pa.Table.from_batches(reader.read(updated)).to_pylist()
    assert rows == [row for row in whole.to_pylist() if row["_hoodie_file_name"] == rows[0]["_hoodie_file_name"]]
    keys = other.scan(columns=["_hoodie_record_key"]).to_arrow()  # which are in the skeletons themselves
    assert keys.sort_by("_hoodie_record_key").equals(whole.select(["_hoodie_record_key"]).sort_by("_hoodie_record_key"))
    with pytest.raises(CorruptTableError, match="no index that tells where"):
        local.cluster(Folder(other.base_path, other.lake))


def test_a_table_that_turns_the_index_off_and_names_no_class(cow: HudiTable) -> None:
    """As Hudi: the class decides, and where it is missing the key that turns the index off."""
    off = {**cow.config.properties, "hoodie.bootstrap.index.enable": "false"}
    for removed, is_there in ((False, True), (True, False)):
        given = {key: value for key, value in off.items() if not (removed and key == "hoodie.bootstrap.index.class")}
        index = BootstrapIndex.of(cow.lake, cow.storage, cow.base_path, replace(cow.config, properties=given))
        assert index is not None
        assert index.is_there is is_there


def test_another_index_is_refused(cow: HudiTable) -> None:
    with pytest.raises(UnsupportedTableError, match="has the bootstrap index Own, which this release does not know"):
        point(cow, "hoodie.bootstrap.index.class", "a.b.Own").scan().to_arrow()


def test_our_services_keep_the_rows_of_hudis_tables(table: HudiTable) -> None:
    """Skeletons, and those with logs on top, become whole files."""

    before, path = keyed_rows(table), Folder(table.base_path, table.lake)
    (local.compact if table.config.is_merge_on_read else local.cluster)(path)
    assert keyed_rows(table) == before
    local.cluster(path)
    assert keyed_rows(table) == before
    assert BOOTSTRAP_INSTANT not in {one.base_instant for one in table.refreshed().file_slices()}
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []


def batches(*sizes: int, name: str) -> Iterator[pa.RecordBatch]:
    first = 0
    for size in sizes:
        yield pa.record_batch({name: list(range(first, first + size))})
        first += size


@pytest.mark.parametrize(("left", "right"), [((4, 4, 1), (9,)), ((0, 5), (1, 1, 3, 0)), ((2, 3), (3, 2)), ((), (0,))])
def test_batches_that_end_at_other_rows(left: Sequence[int], right: Sequence[int]) -> None:
    pairs = list(side_by_side(batches(*left, name="a"), batches(*right, name="b"), "x and y"))
    assert [row for one, _ in pairs for row in one["a"].to_pylist()] == list(range(sum(left)))
    assert all(one["a"].to_pylist() == other["b"].to_pylist() for one, other in pairs)


@pytest.mark.parametrize(("left", "right"), [((4, 4), (9,)), ((5,), (1, 1)), ((), (1,))])
def test_files_of_other_lengths(left: Sequence[int], right: Sequence[int]) -> None:
    with pytest.raises(CorruptTableError, match="x and y have not the same number of rows"):
        list(side_by_side(batches(*left, name="a"), batches(*right, name="b"), "x and y"))


@pytest.mark.parametrize(
    ("folder", "values"),
    [
        ("region=north/week=1", {"region": "north", "week": "1"}),
        ("north/1", {"region": "north", "week": "1"}),
        ("region=a%3Ab c/week=__HIVE_DEFAULT_PARTITION__", {"region": "a:b c", "week": None}),
        ("north/1/more", {}),
        ("", {}),
    ],
)
def test_what_folders_tell(folder: str, values: dict[str, str | None]) -> None:
    assert folder_values(folder, ("region", "week")) == values


@pytest.mark.parametrize("url", ["/a/b c%20", "file:/a/b c%20", "file:///a/b c%20", "s3://bucket/a/b c%20"])
def test_paths_without_their_scheme(url: str) -> None:
    assert without_scheme(url) == "/a/b c%20"
