"""Another process archives, or takes something back, right after a reader or a job listed the timeline: both go on.

Each case runs once for each time that its job lists the timeline, with the other process acting right after that look.
The archival has a lock of its own, as Hudi's has where it is the only writer of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import InstantGoneError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.locks.choose import LockChoice, choose_lock
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.hive.facts import SyncedUntil, facts_of
from spark_jobs.options import CleanOptions, CompactionOptions, HealthOptions, RollbackOptions, SavepointOptions
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.choices import ServiceMode
from spark_jobs.options.result import JobState
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.health.job import run_health
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.support.through import Through

pytestmark = pytest.mark.unit

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
FIRST, SECOND, THIRD = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(5, 10, "three", 3)
ROWS = local.expected_rows(FIRST, SECOND, THIRD)


@dataclass
class Beside(Through):
    """``act`` is done once, right after the folder was listed for the time of number ``at`` (from 0; -1: never)."""

    inner: Storage
    folder: str
    act: Callable[[], object]
    at: int = -1
    looks: int = 0
    acting: bool = field(default=False)

    def list(self, path: str) -> list[FileStatus]:
        found = self.inner.list(path)
        if path == self.folder and not self.acting:
            number, self.looks = self.looks, self.looks + 1
            if number == self.at:
                self.acting = True
                self.act()
                self.acting = False
        return found


def beside(path: Folder, act: Callable[[], object], at: int) -> tuple[Folder, Beside]:
    """The same table for a reader or a job that looks at its timeline."""
    storage = Beside(inner=path.storage, folder=f"{path}/.hoodie", act=act, at=at)
    return path.through(storage), storage


def another_lock(properties: Mapping[str, str], storage: Storage, folder: str) -> LockChoice:
    return choose_lock(properties, storage, f"{folder}/.aux/another")


def archive(path: Folder) -> None:
    """As much as may go, but for the last commit."""
    conf = {**local.AT_ONCE, "hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2"}
    lake = replace(path.lake, choose_lock=another_lock)
    done = run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=conf), job_context(lake=lake))
    assert done.state is JobState.COMPLETED, done.reason


def rewrite(path: Folder, table_type: str) -> None:
    service = local.compact if table_type == MOR else local.cluster
    service(path)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Folder]:
    """Tables with a replaced or compacted group that was cleaned, and commits that archival may take."""
    made = {}
    for table_type in (COW, MOR):
        path = Folder(str(tmp_path_factory.mktemp(table_type))) / "t"
        local.create(path, table_type)
        local.write(path, FIRST, "first")
        local.write(path, SECOND, "second")
        rewrite(path, table_type)
        local.write(path, THIRD, "third")
        rewrite(path, table_type)
        local.clean(path)
        local.write(path, THIRD, "again")
        conf = {"hoodie.metadata.compact.max.delta.commits": "1"}
        maintain_metadata_table(path.table().transaction_settings(conf), conf, pytest.fail)
        made[table_type] = path
    return made


def rows_by(**query: Any) -> Callable[[Folder], object]:
    def read(path: Folder) -> object:
        return sorted(path.table().scan(columns=["id", "v"], **query).to_arrow().to_pylist(), key=str)

    return read


def health(path: Folder) -> object:
    return run_health(HealthOptions(base_path=str(path), hoodie_conf=local.AT_ONCE), job_context(lake=path.lake)).state


def cleaning_plan(path: Folder) -> object:
    conf = {**local.AT_ONCE, "hoodie.cleaner.incremental.mode": "false"}
    return run_cleaning(
        CleanOptions(base_path=str(path), hoodie_conf=conf, dry_run=True), job_context(lake=path.lake)
    ).files_in


def compaction_plan(path: Folder) -> object:
    if not path.table().config.is_merge_on_read:
        return None
    options = CompactionOptions(base_path=str(path), hoodie_conf=local.AT_ONCE, dry_run=True)
    return run_compaction(options, job_context(lake=path.lake)).state


def archival_plan(path: Folder) -> object:
    conf = {**local.AT_ONCE, "hoodie.keep.min.commits": "1", "hoodie.keep.max.commits": "2"}
    state = run_archival(
        ArchiveOptions(base_path=str(path), hoodie_conf=conf, dry_run=True), job_context(lake=path.lake)
    ).state
    return state in (JobState.DRY_RUN, JobState.NOTHING_TO_DO)  # the other one may have done it all


def sync_facts(path: Folder) -> object:
    table = path.table()
    since = SyncedUntil(instant=table.timeline.completed_commits()[0].timestamp)
    facts = facts_of(table, since)
    return facts.partitions, facts.last_instant, facts.avro_schema


def write(path: Folder) -> object:
    local.write(path, local.batch(0, 4, "last", 9), "last")
    return local.rows_of(path)


def savepoint(path: Folder) -> object:
    return run_savepoint(SavepointOptions(base_path=str(path)), job_context(lake=path.lake)).state


def clean(path: Folder) -> object:
    local.clean(path)
    return local.rows_of(path)


WORK: dict[str, Callable[[Folder], object]] = {
    "snapshot": rows_by(),
    "read-optimized": rows_by(query="read_optimized"),
    "incremental": rows_by(query="incremental", begin="000"),
    "validation": lambda path: validate(str(path), deep=True, lake=path.lake),
    "health": health,
    "plan of a clean": cleaning_plan,
    "plan of a compaction": compaction_plan,
    "plan of an archival": archival_plan,
    "facts of a sync": sync_facts,
    "savepoint": savepoint,
    "clean": clean,
    "upsert": write,
}


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("name", WORK)
def test_a_reader_or_job_goes_on_where_what_it_looks_at_is_archived(
    templates: dict[str, Folder], root: Folder, table_type: str, name: str
) -> None:
    def run(number: int) -> tuple[object, int]:
        path = root / f"t{number}"
        templates[table_type].copy_to(path)
        seen, storage = beside(path, lambda: archive(path), number)
        return WORK[name](seen), storage.looks

    expected, looks = run(-1)
    assert looks or expected is None  # a compaction of a table that has none
    for number in range(looks):
        assert run(number)[0] == expected, f"archived after look {number}"


def planned(path: Folder) -> str:
    """A table with a compaction that is planned and not begun; its instant."""
    local.create(path, MOR)
    local.write(path, FIRST, "first")
    local.write(path, SECOND, "second")
    options = CompactionOptions(base_path=str(path), mode=ServiceMode.SCHEDULE, hoodie_conf=local.AT_ONCE)
    return str(run_compaction(options, job_context(lake=path.lake)).instant)


def cancel(path: Folder, instant: str) -> None:
    options = CompactionOptions(base_path=str(path), mode=ServiceMode.CANCEL, instant_time=instant)
    run_compaction(options, job_context(lake=path.lake))


def test_a_plan_that_is_taken_back_after_the_timeline_was_listed_is_passed_over(root: Folder) -> None:
    path = root / "t"
    instant = planned(path)
    seen, _ = beside(path, lambda: cancel(path, instant), 0)
    table = seen.table()
    old = table.timeline
    assert [one.state for one in old.pending({Action.COMPACTION})] == [State.REQUESTED]
    with pytest.raises(InstantGoneError, match=f"{instant}.compaction.requested is neither on the timeline nor in"):
        old.payload(old.pending({Action.COMPACTION})[0], SYSTEM_CLOCK)
    assert table.pending.compaction == {}
    assert len(table.file_slices()) == 2
    assert sorted(table.scan(columns=["id"]).to_arrow()["id"].to_pylist()) == list(range(20))


def test_a_write_that_is_rolled_back_after_the_timeline_was_listed_is_not_read(root: Folder) -> None:
    path = root / "t"
    local.create(path, COW)
    local.write(path, FIRST, "first")
    last = local.write(path, SECOND, "second")
    options = RollbackOptions(base_path=str(path), instant_time=last)
    seen, _ = beside(path, lambda: run_rollback(options, job_context(lake=path.lake)), 0)
    found = seen.table().scan(columns=["v"]).to_arrow()["v"].to_pylist()
    assert found == ["one"] * 20


class Torn(Through):
    """The first listing meets an archival halfway: it has the older files of the first instants, not their last."""

    def __init__(self, path: Folder) -> None:
        super().__init__(path.storage)
        self.path = path
        self.torn = False

    def list(self, path: str) -> list[FileStatus]:
        if path != f"{self.path}/.hoodie" or self.torn:
            return self.inner.list(path)
        self.torn = True
        before = self.inner.list(path)
        archive(self.path)
        left = {status.name for status in self.inner.list(path)}
        return [one for one in before if one.name in left or one.name.endswith((".requested", ".inflight"))]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_listing_that_an_archival_tore_is_made_again(
    templates: dict[str, Folder], root: Folder, table_type: str
) -> None:
    path = root / "t"
    templates[table_type].copy_to(path)
    storage = Torn(path)
    table = path.through(storage).table()
    assert not table.timeline.pending_writes()
    assert storage.torn
    assert local.rows_of(path) == ROWS


@pytest.mark.parametrize("at", range(3))
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_validation_beside_a_rollback_and_a_cancellation_finds_nothing(
    root: Folder, table_type: str, at: int
) -> None:
    path, instant = root / "t", ""
    if table_type == MOR:
        instant = planned(path)
    else:
        local.create(path, COW)
        local.write(path, FIRST, "first")
        local.write(path, SECOND, "second")

    def take_back() -> None:
        if instant:
            cancel(path, instant)
        last = path.table().timeline.completed_commits()[-1].timestamp
        run_rollback(RollbackOptions(base_path=str(path), instant_time=last), job_context(lake=path.lake))

    seen, _ = beside(path, take_back, at)
    assert [str(one) for one in validate(str(path), deep=True, lake=seen.lake)] == []
