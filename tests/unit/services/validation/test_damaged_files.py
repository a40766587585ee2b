"""Invariants 5, 6 and 7: each harm to the data files is found, and the file named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.services.validation.run import validate
from tests import hudi_tables
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.unit.services.validation.damage import (
    data_files,
    findings,
    flip,
    instant_file,
    make_old,
    rewrite,
    the_finding,
)

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]


def without_listing(found: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """The findings but for what the metadata table has to say of the same."""
    return [one for one in found if one[0] != 9]


def live_base(base: Folder) -> str:
    return base.table(lists_storage=True).view().latest_base_files()[0].relative_path


def old_base(base: Folder) -> str:
    """A base file that a newer one of its group stands on."""
    groups = base.table(lists_storage=True).view().all_groups()
    found = [one.base_file for group in groups for one in group.slices[1:] if one.base_file is not None]
    return found[0].relative_path


@pytest.mark.parametrize("deep", [False, True])
def test_a_live_base_file_is_gone(unpack: Unpack, deep: bool) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    (base / path).unlink()
    assert without_listing(findings(base, deep=deep)) == [(5, "ERROR", path)]
    assert (9, "ERROR", path) in findings(base)


def test_a_live_log_file_is_gone(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    path = data_files(base, ".log.")[-1]
    (base / path).unlink()
    assert without_listing(findings(base)) == [(5, "ERROR", path)]


@pytest.mark.parametrize("deep", [False, True])
def test_a_file_of_an_archived_write_of_a_table_without_a_metadata_table(
    root: Folder, deep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else tells of it, so the archive is read for it."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", "false")
    base = root / "t"
    local.create(base, "COPY_ON_WRITE")
    for number in range(3):
        local.write(base, local.batch(10 * number, 10, "v", 1), str(number))
    timeline = base.table().timeline
    archived = timeline.completed_commits()[0]
    archive(timeline, str(base), [archived])
    assert findings(base, deep=deep) == []
    lost = next((base / "a").glob(f"*_{archived.timestamp}.parquet"))
    lost.unlink()
    assert findings(base, deep=deep) == [(5, "ERROR", f"a/{lost.name}")]


def test_a_file_of_an_archived_write_is_gone(unpack: Unpack) -> None:
    """Log appends name the base file that they stand on."""
    base = unpack("tables/archived")
    path = live_base(base)
    (base / path).unlink()
    assert (5, "ERROR", path) in findings(base)


def test_an_old_file_that_no_clean_took(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = old_base(base)
    (base / path).unlink()
    assert without_listing(findings(base)) == [(6, "ERROR", path)]


def test_a_file_of_a_savepoint_is_gone(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    table = base.table()
    (savepoint,) = [one for one in table.timeline.instants if one.action.value == "savepoint"]
    saved = [
        f"{one['partitionPath']}/{name}"
        for one in table.timeline.payload(savepoint, table.clock)["partitionMetadata"].values()
        for name in one["savepointDataFile"]
    ]
    (base / saved[0]).unlink()
    assert (6, "ERROR", saved[0]) in findings(base)


def test_a_file_of_a_pending_plan_is_gone(unpack: Unpack) -> None:
    base = unpack("tables/mor_pending_compaction")
    table = base.table()
    (plan,) = [one for one in table.timeline.instants if not one.is_completed]
    operation = table.timeline.plan(plan, table.clock)["operations"][0]
    path = f"{operation['partitionPath']}/{operation['dataFilePath']}"
    (base / path).unlink()
    assert (6, "ERROR", path) in findings(base)


def test_a_base_file_is_cut(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    (base / path).write_bytes((base / path).read_bytes()[:-100])
    assert without_listing(findings(base)) == [(5, "ERROR", path)]


@pytest.mark.parametrize("at", [-1, -6])
def test_a_byte_of_a_footer_is_flipped(unpack: Unpack, at: int) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    flip(base / path, at)
    assert without_listing(findings(base)) == [(5, "ERROR", path)]


def test_a_log_file_is_cut(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    path = data_files(base, ".log.")[0]
    (base / path).write_bytes((base / path).read_bytes()[:-1])
    assert (5, "ERROR", path) in findings(base)


def test_a_log_file_begins_with_something_else(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    path = data_files(base, ".log.")[0]
    flip(base / path, 2)
    assert findings(base) == [(5, "ERROR", path)]


def test_a_footer_and_the_write_stats_count_differently(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    size = (base / path).size
    rewrite(base / path, rows=lambda table: table.slice(1))
    commit = instant_file(base, f"{path.rsplit('_', 1)[-1].removesuffix('.parquet')}.commit")
    new = (base / path).size
    commit.write_text(commit.read_text().replace(f": {size},", f": {new},").replace(f": {size}\n", f": {new}\n"))
    found = the_finding(base, 5)
    assert found.path == path
    assert "rows, and instant" in found.what


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (b"org.apache.hudi.bloomfilter", None, "has no org.apache.hudi.bloomfilter"),
        (b"org.apache.hudi.bloomfilter", b"AAAA", "its key index is unreadable"),
        (b"hoodie_min_record_key", None, "has no hoodie_min_record_key"),
        (b"hoodie_max_record_key", None, "has no hoodie_max_record_key"),
        (b"hoodie_max_record_key", b"", "is above its greatest"),
        (b"parquet.avro.schema", b"{", "is no Avro record schema"),
        (b"parquet.avro.schema", None, "its footer has no parquet.avro.schema"),
    ],
)
def test_a_footer_without_what_hudi_looks_for(unpack: Unpack, name: bytes, value: bytes | None, said: str) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)

    def change(raw: dict[bytes, bytes]) -> dict[bytes, bytes]:
        kept = {key: text for key, text in raw.items() if key != name}
        return kept if value is None else {**kept, name: value}

    rewrite(base / path, footer=change)
    assert [one for one in validate(str(base), lake=base.lake) if one.path == path and said in one.what]


def test_a_base_file_that_two_commits_name(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    first, second = instant_file(base, ".commit", 0), instant_file(base, ".commit", 1)
    raw, other = json.loads(second.read_text()), json.loads(first.read_text())
    partition = next(iter(other["partitionToWriteStats"]))
    raw["partitionToWriteStats"][partition] += other["partitionToWriteStats"][partition]
    second.write_text(json.dumps(raw))
    found = the_finding(base, 5)
    assert found.path == f".hoodie/{second.name}"
    assert f"is of instant {first.name.split('.')[0]}" in found.what


def test_a_base_file_of_an_instant_that_nobody_knows(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    orphan = path.rsplit("_", 1)[0] + "_20991231000000000.parquet"
    (base / path).copy_to(base / orphan)
    assert findings(base) == [(7, "WARNING", orphan)]


def test_a_base_file_that_readers_take_for_archived(unpack: Unpack) -> None:
    base = unpack("tables/archived")
    path = live_base(base)
    orphan = path.rsplit("/", 1)[0] + "/00000000-aaaa-0_0-1-1_20200101000000000.parquet"
    (base / path).copy_to(base / orphan)
    assert findings(base) == [(7, "ERROR", orphan)]


def test_a_base_file_that_its_commit_does_not_name(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    folder, name = path.rsplit("/", 1)
    file_id, token, rest = name.split("_")
    rival, stranger = f"{folder}/{file_id}_9-9-9_{rest}", f"{folder}/00000000-aaaa-0_{token}_{rest}"
    (base / path).copy_to(base / rival)
    assert findings(base) == [(7, "WARNING", rival)]
    (base / path).copy_to(base / stranger)
    assert findings(base) == [(7, "ERROR", stranger), (7, "WARNING", rival)]


def test_a_log_file_of_an_instant_that_nobody_knows(unpack: Unpack) -> None:
    base, other = unpack("log_tables/logs_avro"), unpack("log_tables/logs_parquet")
    path = data_files(other, ".log.")[0]
    folder = base / data_files(base)[0].rsplit("/", 1)[0]
    orphan = folder / path.rsplit("/", 1)[-1]
    (other / path).copy_to(orphan)
    assert findings(base) == [(7, "WARNING", orphan.relative_to(base).as_posix())]


def test_blocks_that_were_taken_back_are_no_orphans(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_rolled_back")
    for one in base.glob(".hoodie/*.rollback*"):
        one.unlink()  # as if it had been archived, and its entry with it
    assert findings(base) == []


def test_blocks_of_an_undone_write_that_nothing_takes_back(unpack: Unpack) -> None:
    """As where a marker was lost before the rollback: here a log of the undone write lies behind the command."""
    base = unpack("log_tables/logs_rolled_back")
    (rolled_back,) = base.glob("0/.*_20261121160852859.log.2_0-472-481")
    left = rolled_back.with_name(rolled_back.name.replace(".log.2_", ".log.7_"))
    rolled_back.copy_to(left)
    assert findings(base) == [(7, "WARNING", left.relative_to(base).as_posix())]


def test_a_partition_without_its_metafile(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    folder = data_files(base)[0].rsplit("/", 1)[0]
    (base / folder / ".hoodie_partition_metadata").unlink()
    assert (7, "ERROR", f"{folder}/.hoodie_partition_metadata") in findings(base)


def test_a_partition_inside_another(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = data_files(base)[0]
    folder = path.rsplit("/", 1)[0]
    inner = base / folder / "inner"
    (base / path).copy_to(inner / path.rsplit("/", 1)[-1])
    (base / folder / ".hoodie_partition_metadata").copy_to(inner / ".hoodie_partition_metadata")
    assert findings(base) == [(7, "ERROR", f"{folder}/inner")]


def test_what_writers_left_behind(tmp_path: Path) -> None:
    base = hudi_tables.unpack("tables/cow_upserts", Folder(str(tmp_path)))
    folder = data_files(base)[0].rsplit("/", 1)[0]
    time = instant_file(base, ".commit").name.split(".")[0]
    left = {
        f".hoodie/.temp/{time}/1/a.parquet.marker.CREATE": f".hoodie/.temp/{time}",
        f".hoodie/.heartbeat/{time}": f".hoodie/.heartbeat/{time}",
        f".hoodie/{time}.commit.0000.tmp": f".hoodie/{time}.commit.0000.tmp",
        ".hoodie/hoodie.properties.backup": ".hoodie/hoodie.properties.backup",
        f"{folder}/x.parquet.0000.tmp": f"{folder}/x.parquet.0000.tmp",
        f"{folder}/notes.txt": f"{folder}/notes.txt",
    }
    for name in left:
        (base / name).parent.mkdir(parents=True, exist_ok=True)
        (base / name).write_bytes((base / ".hoodie/hoodie.properties").read_bytes())
        make_old(base / name, 2)
    assert findings(base) == sorted((7, "WARNING", path) for path in left.values())
