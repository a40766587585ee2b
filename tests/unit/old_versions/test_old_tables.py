"""Tables of versions 0 to 5 (``tests/fixtures/make_old_tables.py``): read as Hudi reads them, and never written."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.files.delete_records import DeleteRecords, decode_delete_records
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.choices import Operation
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobState
from spark_jobs.options.savepoint import SavepointOptions
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.health.job import run_health
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.write.config import open_if_there, resolve
from tests.hudi_tables import unpack
from tests.support.folder import Folder, read_parquet
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

TABLES = Path(__file__).parents[2] / "fixtures" / "old_tables"
ANSWERS = sorted((file.name.split(".")[0], file.name.split(".")[1]) for file in TABLES.glob("*.parquet"))
VERSIONS = {file.stem: int(file.stem[-1]) for file in TABLES.glob("*.zip")}


@pytest.fixture
def unpacked(root: Folder) -> Callable[[str], Folder]:
    return lambda name: unpack(f"old_tables/{name}", root / name)


def by_key(table: pa.Table) -> pa.Table:
    return table.sort_by("_hoodie_record_key").combine_chunks()


def test_every_version_has_a_table() -> None:
    assert set(VERSIONS.values()) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize(("name", "query"), ANSWERS)
def test_we_read_what_hudi_read(name: str, query: str, unpacked: Callable[[str], Folder]) -> None:
    table = unpacked(name).table()
    assert table.config.format.version == VERSIONS[name]
    found, wanted = table.scan(query=query).to_arrow(), read_parquet(TABLES / f"{name}.{query}.parquet")
    assert set(found.column_names) == set(wanted.column_names)
    assert found.num_rows == wanted.num_rows > 0
    for column in wanted.column_names:
        ours, theirs = by_key(found).column(column), by_key(wanted).column(column)
        assert ours.to_pylist() == theirs.to_pylist(), column


@pytest.mark.parametrize("name", ["cow_v2", "mor_v2", "cow_v5", "mor_v5"])
def test_the_rows_of_hudi_0_9_and_0_13(name: str, unpacked: Callable[[str], Folder]) -> None:
    """Inserts; an upsert (k02 with a smaller ordering value, and k21); deletes of k03 and k04; k03 again, k01 again."""
    rows = unpacked(name).table().scan(columns=["_hoodie_record_key", "name", "ts"]).to_arrow().to_pylist()
    found = {row["_hoodie_record_key"]: (row["name"], row["ts"]) for row in rows}
    untouched = {f"k{number:02d}": ("first", 10) for number in range(5, 21)}
    changed = {"k01": ("last", 30), "k02": ("earlier", 5), "k03": ("back", 10), "k21": ("new", 1)}
    if name.startswith("mor"):
        changed["k05"] = ("after the plan", 40)  # of a compaction that is not executed
    assert found == {**untouched, **changed}


def test_the_table_of_hudi_0_5(unpacked: Callable[[str], Folder]) -> None:
    """Log files alone: three rows, then one changed and one deleted; a third delta commit is pending."""
    rows = unpacked("mor_v0").table().scan(columns=["_hoodie_record_key", "id", "value"]).to_arrow()
    assert sorted(rows.to_pylist(), key=lambda row: str(row["id"])) == [
        {"_hoodie_record_key": key, "id": key, "value": value} for key, value in (("a", 10), ("c", 3))
    ]


def test_deletes_of_hudi_0_13_keep_their_ordering_values(unpacked: Callable[[str], Folder]) -> None:
    """Blocks of version 2, in the data's logs and in those of the metadata table."""
    found: dict[str, list[DeleteRecords]] = {}
    for name in ("mor_v5", "flags_v5"):
        logs = sorted(unpacked(name).rglob("*.log.*"))
        blocks = [block for path in logs for block in read_blocks(path.read_bytes())]
        contents = [block.read_content() for block in blocks if block.type is BlockType.DELETE_BLOCK]
        assert {content[:4] for content in contents} == {b"\0\0\0\2"}
        found[name] = [part for content in contents for part in decode_delete_records(content)]
    assert [(one.keys.to_pylist(), one.orderings.to_pylist()) for one in found["flags_v5"]] == [
        (["k1", "k2"], ["z", "a"])
    ]
    assert sorted(key for one in found["mor_v5"] for key in one.keys.to_pylist()) == ["k03", "k04"]
    assert {one.orderings.type for one in found["mor_v5"]} == {pa.int32()}


def test_a_log_of_hudi_0_5() -> None:
    data = (TABLES / "log_of_hudi_0_5").read_bytes()
    (block,) = read_blocks(data)
    assert (block.type, block.instant) == (BlockType.AVRO_DATA_BLOCK, "20200616120000")
    schema = pa.schema([("_hoodie_record_key", pa.string()), ("value", pa.int32())])
    rows = read_rows(block, schema)
    assert rows.to_pylist() == [
        {"_hoodie_record_key": key, "value": value} for key, value in zip("abc", (1, 2, 3), strict=True)
    ]


@pytest.mark.parametrize("name", sorted(VERSIONS))
def test_nothing_writes_to_them(name: str, unpacked: Callable[[str], Folder]) -> None:
    path = unpacked(name)
    before = digest(path)
    base = str(path)
    ingest = IngestOptions(base_path=base, op=Operation.UPSERT)
    writes: list[Callable[[], object]] = [
        lambda: resolve(ingest, open_if_there(base, path.lake), path.lake),
        lambda: run_cleaning(CleanOptions(base_path=base), job_context(lake=path.lake)),
        lambda: run_compaction(CompactionOptions(base_path=base), job_context(lake=path.lake)),
        lambda: run_archival(ArchiveOptions(base_path=base), job_context(lake=path.lake)),
        lambda: run_savepoint(SavepointOptions(base_path=base), job_context(lake=path.lake)),
        lambda: path.table().transaction_settings({}).new_lock(),
    ]
    for write in writes:
        with pytest.raises(UnsupportedTableError, match=f"has table version {VERSIONS[name]} .*: upgrade it with Hudi"):
            write()
    assert run_health(HealthOptions(base_path=base), job_context(lake=path.lake)).state is JobState.COMPLETED
    assert digest(path) == before


def digest(path: Folder) -> dict[str, str]:
    """A hash of each file."""
    return {str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(path.walk())}
