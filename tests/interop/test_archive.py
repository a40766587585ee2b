"""The archive shared with real Hudi, in turn; and a dead write of ours that Hudi undoes by its batched markers.

(``test_killed.py`` has it the other way: Hudi's markers are batched by default.)
"""

from __future__ import annotations

import shutil
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.markers import marker_folder, read_markers
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.engine.marker_server import MarkerServer
from spark_jobs.options import ArchiveOptions
from spark_jobs.services.archival.job import run_archival
from tests.interop.flights import KEY, PARTITION, PRECOMBINE, Oracle, assert_same, by_key, delayed, flights, sample
from tests.interop.our_reader import read
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates, tended_by_hudi
from tests.support.jobs import job_context
from tests.unit.core.support import scope

KEEP = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.cleaner.commits.retained": "1"}
BY_US = {"hoodie.archive.automatic": "false", "hoodie.cleaner.commits.retained": "1"}
"""Hudi writes, and leaves archiving to us."""
LIMITS = ArchiveLimits(keep_min=2, keep_max=3)


def options(path: Path, **more: str) -> dict[str, str]:
    return {
        "hoodie.table.name": path.name,
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": ",".join(KEY),
        "hoodie.datasource.write.partitionpath.field": PARTITION,
        "hoodie.datasource.write.precombine.field": PRECOMBINE,
        "hoodie.metadata.enable": "false",  # else nothing newer than its last compaction is archived
        **more,
    }


def states_by_hudi(hudi: RealHudi, path: Path) -> set[tuple[str, str, str]]:
    return {(one["instant"], one["action"], one["state"]) for one in hudi.ask("archived", path=str(path))}


def states_by_us(path: Path) -> set[tuple[str, str, str]]:
    timeline = HudiTable.open(str(path)).timeline
    found = ArchivedTimeline.load(timeline.archive_place).states
    return {(one.timestamp, one.action.value, one.state.name) for one in found}


def archive_here(path: Path) -> int:
    """Archive what may go; the number of instants that went."""
    timeline = HudiTable.open(str(path)).timeline
    return len(archive(timeline, str(path), instants_to_archive(timeline.instants, LIMITS)).instants)


def test_hudi_loads_our_archive_and_goes_on(tmp_path: Path, real_hudi: RealHudi) -> None:
    path, rows, oracle = tmp_path / "flights", flights(one_in=200), Oracle()
    everything: set[str] = set()

    def write(revision: int, given: dict[str, str]) -> None:
        changed = delayed(sample(rows, revision % 3, 4), revision)
        real_hudi.write(path, changed, "upsert", options(path, **given))
        oracle.upsert(changed)

    real_hudi.write(path, rows, "insert", options(path, **BY_US))
    oracle.upsert(rows)
    for round in range(3):
        for revision in range(1, 5):
            write(10 * round + revision, BY_US)
        everything |= {one["instant"] for one in real_hudi.show_commits(path)}
        assert archive_here(path) >= 3
        assert states_by_hudi(real_hudi, path) == states_by_us(path)
        assert_same(by_key(real_hudi.read(path)), oracle.rows, "Hudi, after our archival")
    details = [one for one in real_hudi.ask("archived", path=str(path)) if one["details"]]
    assert any("HoodieWriteStat" in one["details"] or "partitionToWriteStats" in one["details"] for one in details)

    timeline = HudiTable.open(str(path)).timeline
    only_merge = {
        "hoodie.keep.max.commits": "1000",
        "hoodie.archive.merge.enable": "true",
        "hoodie.archive.merge.files.batch.size": "3",
    }
    asked = ArchiveOptions(base_path=str(path), hoodie_conf=only_merge, dry_run=True)
    look = run_archival(asked, job_context())
    assert len(timeline.archive_place.newest_first()) == 3
    by_hash = ArchiveOptions(base_path=str(path), hoodie_conf=only_merge, plan_hash=look.extra["plan_hash"])
    assert run_archival(by_hash, job_context()).extra["merged_files"] == 3
    assert len(timeline.archive_place.newest_first()) == 1
    assert states_by_hudi(real_hudi, path) == states_by_us(path)

    # Hudi archives on behind ours, and merges its files with ours
    for revision in range(41, 47):
        merge = {"hoodie.archive.merge.enable": "true", "hoodie.archive.merge.files.batch.size": "2"}
        write(revision, {**KEEP, **merge})
        everything |= {one["instant"] for one in real_hudi.show_commits(path)}
        assert states_by_us(path) == states_by_hudi(real_hudi, path)
    assert len(timeline.archive_place.newest_first()) <= 2
    left = {one["instant"] for one in real_hudi.show_commits(path)}
    assert {time for time, _, _ in states_by_us(path)} | left == everything
    assert not {time for time, _, state in states_by_us(path) if state == "COMPLETED"} & left

    for revision in range(51, 54):
        write(revision, BY_US)
    archive_here(path)
    assert states_by_hudi(real_hudi, path) == states_by_us(path)
    assert_same(by_key(read(path)), oracle.rows, "we, at the end")
    assert_same(by_key(real_hudi.read(path)), oracle.rows, "Hudi, at the end")


def test_merge_on_read_with_its_metadata_table(tmp_path: Path, real_hudi: RealHudi) -> None:
    """What the metadata table holds back stays; we archive first, then Hudi does."""
    path, rows, oracle = tmp_path / "flights", flights(one_in=200), Oracle()
    keep = {**KEEP, "hoodie.metadata.enable": "true", "hoodie.metadata.compact.max.delta.commits": "2"}
    given = options(path, **{**keep, "hoodie.datasource.write.table.type": "MERGE_ON_READ"})
    by_us = {**given, "hoodie.archive.automatic": "false", "hoodie.compact.inline.max.delta.commits": "3"}
    everything: set[str] = set()

    def write(first: int, count: int, by: dict[str, str]) -> None:
        for revision in range(first, first + count):
            changed = delayed(sample(rows, revision % 3, 4), revision)
            real_hudi.write(path, changed, "upsert", by)  # which compacts, for every third
            oracle.upsert(changed)
            everything.update(one["instant"] for one in real_hudi.show_commits(path))

    def check(when: str) -> None:
        assert states_by_hudi(real_hudi, path) == states_by_us(path), when
        left = {one["instant"] for one in real_hudi.show_commits(path)}
        assert {time for time, _, _ in states_by_us(path)} | left == everything, when
        assert_same(by_key(read(path)), oracle.rows, f"we, {when}")
        assert_same(by_key(real_hudi.read(path)), oracle.rows, f"Hudi, {when}")
        assert_hudi_validates(real_hudi, path, when)

    real_hudi.write(path, rows, "insert", by_us)
    oracle.upsert(rows)
    ours = ArchiveOptions(base_path=str(path), hoodie_conf=keep)
    write(1, 5, by_us)
    assert run_archival(ours, job_context()).extra["archived"] > 0
    check("after our archival")
    assert {action for _, action, _ in states_by_us(path)} >= {"deltacommit", "commit"}
    archived = len(states_by_us(path))
    write(11, 3, given)
    assert len(states_by_us(path)) > archived
    check("after Hudi's archival behind ours")
    tended_by_hudi(real_hudi, path)
    everything.update(one["instant"] for one in real_hudi.show_commits(path))
    check("after Hudi tended the table")


def test_hudi_rolls_our_dead_write_back_by_its_batched_markers(tmp_path: Path, real_hudi: RealHudi) -> None:
    path, rows = tmp_path / "flights", flights(one_in=200)
    real_hudi.write(path, rows, "insert", options(path))
    table = HudiTable.open(str(path))
    timeline = table.timeline
    time = next_instant_time(SYSTEM_CLOCK.now(), table.config.timezone, timeline.last_time)
    inflight = transition(timeline, request(timeline, time, Action.COMMIT), State.INFLIGHT, b"")
    assert inflight.state is State.INFLIGHT
    made = _file_of(table, time)
    unmarked = made.with_name(made.name.replace("0-1-1", "9-9-9"))
    shutil.copy(made, unmarked)
    folder = Path(marker_folder(str(path), time))
    assert {file.name for file in folder.iterdir()} == {"MARKERS.type", "MARKERS0"}

    assert real_hudi.ask("rollback_failed", path=str(path))
    assert not made.exists()
    # what no marker names stays: it was by the markers that Hudi knew
    assert unmarked.exists()
    unmarked.unlink()
    assert not folder.exists()
    assert [one for one in real_hudi.show_commits(path) if one["state"] != "COMPLETED"] == []
    assert_same(by_key(read(path)), by_key(rows), "we, after Hudi's rollback")
    assert_same(by_key(real_hudi.read(path)), by_key(rows), "Hudi, after its rollback")


def _file_of(table: HudiTable, time: str) -> Path:
    """A new base file of a write that is never completed, with its marker."""
    stored = table.scan().to_arrow().slice(0, 5)
    with MarkerServer(table.storage, table.base_path, time, SYSTEM_CLOCK) as service:
        context = WriteContext(
            storage=table.storage,
            base_path=table.base_path,
            format=VERSION_6,
            instant=time,
            file_format=base_file_format({}, table.schema, table.avro_schema),
            payload=OVERWRITE,
            ordering_field=PRECOMBINE,
            max_file_size=1 << 30,
            marker_service=service,
        )
        handle = CreateHandle(context, scope(), "1", SYSTEM_CLOCK.new_uuid())
        handle.write(stored.select([RECORD_KEY, PARTITION_PATH, *table.schema.names]))
        (stat,) = handle.close()
    markers = read_markers(table.storage, table.base_path, time) or []
    assert [(one.data_path, one.kind) for one in markers] == [(stat.path, MarkerType.CREATE)]
    return Path(table.base_path) / str(stat.path)
