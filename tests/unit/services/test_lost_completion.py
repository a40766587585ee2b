"""Writes whose completed file was lost: they look as if their writers had died, and are not taken back for that."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rollback import RequestedRollback
from spark_jobs.core.timeline.results import NamedInstant
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.options import SavepointOptions
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.hudi_tables import FIXTURES, unpack
from tests.support.folder import Folder, read_parquet
from tests.support.jobs import job_context
from tests.support.through import Through

pytestmark = pytest.mark.unit
TYPES = ("COPY_ON_WRITE", "MERGE_ON_READ")
ROWS = (local.batch(0, 8, "one", 1), local.batch(0, 8, "two", 2), local.batch(0, 8, "three", 3))


@pytest.fixture(params=TYPES)
def path(request: pytest.FixtureRequest, root: Folder) -> Folder:
    """A table of three upserts of the same rows."""
    found = root / "t"
    local.create(found, request.param)
    for number, rows in enumerate(ROWS):
        local.write(found, rows, f"k{number}")
    return found


def completed_file(path: Folder, number: int) -> Folder:
    timeline = opened(path).timeline
    return path / ".hoodie" / timeline.name_of(timeline.completed_commits()[number])


def opened(path: Folder) -> HudiTable:
    return HudiTable.open(str(path), lake=path.lake)


def data_files(path: Folder) -> set[str]:
    return {str(one) for one in path.rglob("*") if "/.hoodie/" not in str(one)}


@pytest.mark.parametrize("number", [1, 2], ids=["older", "newest"])
@pytest.mark.parametrize("named", [True, False])
def test_a_rollback_deletes_nothing_of_it(path: Folder, number: int, named: bool) -> None:
    lost = completed_file(path, number)
    time, content, before = lost.name.partition(".")[0], lost.read_bytes(), data_files(path)
    lost.unlink()
    found = [one for one in validate(str(path), lake=path.lake) if one.is_error]
    assert [one.path for one in found] == [f".hoodie/{lost.name}"]
    options = RollbackOptions(base_path=str(path), instant_time=time if named else None)

    with pytest.raises(CorruptTableError, match=r"completed file was lost|is gone: instant \d+ was built upon"):
        run_rollback(options, job_context(lake=path.lake))
    with pytest.raises(CorruptTableError, match=r"completed file was lost|is gone: instant \d+ was built upon"):
        roll_back_failed_writes(opened(path).transaction_settings({}))

    assert data_files(path) == before
    assert not opened(path).timeline.pending({Action.ROLLBACK})
    lost.write_bytes(content)
    assert local.rows_of(path) == local.expected_rows(*ROWS)


def test_one_that_was_never_completed_can_be_said_to_be(path: Folder) -> None:
    lost = completed_file(path, 2)
    time = lost.name.partition(".")[0]
    lost.unlink()
    path.storage.create(str(path / ".hoodie/.temp" / time / "never-completed"), b"")

    run_rollback(RollbackOptions(base_path=str(path), instant_time=time), job_context(lake=path.lake))

    assert local.rows_of(path) == local.expected_rows(*ROWS[:2])


@pytest.mark.parametrize("path", ["COPY_ON_WRITE"], indirect=True)
def test_its_own_moment_is_refused_too(path: Folder) -> None:
    lost = completed_file(path, 1)
    lost.unlink()
    with pytest.raises(CorruptTableError, match="which looks pending"):
        opened(path).scan(as_of=lost.name.partition(".")[0]).to_arrow()


@pytest.mark.parametrize("metadata", [True, False], ids=["metadata table", "listing"])
@pytest.mark.parametrize("table_type", TYPES)
def test_readers_refuse_the_newest_too(root: Folder, table_type: str, metadata: bool) -> None:
    """But for logs of a table without a metadata table: their names don't say who wrote to them."""
    path, properties = root / "t", {"hoodie.metadata.enable": str(metadata).lower()}
    local.create(path, table_type)
    for rows in ROWS[:2]:
        opened(path).upsert(rows, hoodie_conf=properties)
    completed_file(path, 1).unlink()

    if table_type == "MERGE_ON_READ" and not metadata:
        assert local.rows_of(path) == local.expected_rows(ROWS[0])
        return
    with pytest.raises(CorruptTableError, match="looks pending, and has files"):
        opened(path).scan().to_arrow()


@pytest.mark.parametrize("metadata", [True, False], ids=["metadata table", "listing"])
@pytest.mark.parametrize("table_type", TYPES)
def test_a_savepoint_proves_it(root: Folder, table_type: str, metadata: bool) -> None:
    path, properties = root / "t", {"hoodie.metadata.enable": str(metadata).lower()}
    local.create(path, table_type)
    for rows in ROWS[:2]:
        opened(path).upsert(rows, hoodie_conf=properties)
    lost = completed_file(path, 1)
    time = lost.name.partition(".")[0]
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=time), job_context(lake=path.lake))
    lost.unlink()
    for lists_storage in (False, True):
        with pytest.raises(CorruptTableError, match="looks pending, and is saved"):
            HudiTable.open(str(path), lake=path.lake, lists_storage=lists_storage).scan().to_arrow()
    found = [one for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant == 3]
    assert [one.path for one in found] == [f".hoodie/{lost.name}"]


def test_a_write_without_files_proves_nothing(path: Folder) -> None:
    """It has no markers, neither while it is under way nor after: it may have died."""
    opened(path).delete_partitions(["a"])
    completed_file(path, 3).unlink()
    assert local.rows_of(path) == local.expected_rows(*ROWS)
    assert [one for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant == 3] == []


@pytest.mark.parametrize("is_readable", [True, False])
@pytest.mark.parametrize("path", ["COPY_ON_WRITE"], indirect=True)
def test_a_pending_rollback_hides_no_other_write(path: Folder, is_readable: bool) -> None:
    """One that doesn't say what it is at may be at any."""
    settings = opened(path).transaction_settings({})
    dead = begin(settings, Action.COMMIT)
    assert dead is not None
    dead.to_inflight()
    dead.abandon()
    plan = RequestedRollback(target=NamedInstant.naming(dead.instant), requests=())
    content = plan.payload(settings.base_path) if is_readable else b""
    timeline = settings.load_timeline()
    request(timeline, settings.next_instant(timeline), Action.ROLLBACK, content)
    assert local.rows_of(path) == local.expected_rows(*ROWS)
    lost = completed_file(path, 2)
    lost.unlink()
    if not is_readable:
        assert local.rows_of(path) == local.expected_rows(*ROWS[:2])
        return
    with pytest.raises(CorruptTableError, match="looks pending, and has files"):
        opened(path).scan().to_arrow()
    found = [one.path for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant == 3]
    assert found == [f".hoodie/{lost.name}"]


@pytest.mark.parametrize("path", ["MERGE_ON_READ"], indirect=True)
def test_readers_refuse_one_that_the_metadata_table_was_compacted_upon(path: Folder) -> None:
    """Its files are listed then, whoever looks."""
    lost = completed_file(path, 2)
    often = {"hoodie.metadata.compact.max.delta.commits": "1"}
    for number in range(2):
        opened(path).upsert(local.batch(20 + number, 1, "other", 1), hoodie_conf=often)
    compactions = opened(path / ".hoodie/metadata").timeline.completed(Action.COMMIT)
    assert any(one.follows(lost.name.partition(".")[0]) for one in compactions)
    lost.unlink()
    with pytest.raises(CorruptTableError, match=r"looks pending, and has files \(.hoodie/metadata\)"):
        opened(path).scan().to_arrow()


def test_of_a_write_that_died_readers_see_nothing(path: Folder) -> None:
    """Its markers are there still, whatever of it the metadata table knows."""
    lost = completed_file(path, 2)
    time = lost.name.partition(".")[0]
    lost.unlink()
    path.storage.create(str(path / ".hoodie/.temp" / time / "p" / "f.parquet.marker.CREATE"), b"")
    assert local.rows_of(path) == local.expected_rows(*ROWS[:2])


def test_of_a_writer_that_lives_readers_see_nothing(path: Folder) -> None:
    """Its heartbeat is fresh, whatever is the matter with its markers."""
    lost = completed_file(path, 2)
    time = lost.name.partition(".")[0]
    lost.unlink()
    path.storage.create(heartbeat_path(str(path), time), b"")
    assert local.rows_of(path) == local.expected_rows(*ROWS[:2])
    assert [one for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant == 3] == []
    path.storage.delete(heartbeat_path(str(path), time))
    with pytest.raises(CorruptTableError, match="looks pending, and has files"):
        opened(path).scan().to_arrow()


class TornListing(Through):
    """The first listing of the timeline comes in parts: a file of the first part is published before the second."""

    def __init__(self, inner: Storage, unseen: str) -> None:
        super().__init__(inner)
        self.unseen: str | None = unseen

    def list(self, path: str) -> list[FileStatus]:
        found: list[FileStatus] = self.inner.list(path)
        names = [one.name for one in found]
        if self.unseen in names:
            found = [one for one in found if one.name != self.unseen]
            self.unseen = None
        return found


@pytest.mark.parametrize("path", ["COPY_ON_WRITE"], indirect=True)
def test_a_listing_that_came_in_parts_is_taken_anew(path: Folder) -> None:
    table = opened(path)
    torn = table.refreshed(TornListing(table.storage, completed_file(path, 1).name))
    assert torn.timeline.pending_writes()
    assert len(torn.file_slices()) == len(table.file_slices())
    assert not torn.timeline.pending_writes()


@pytest.mark.parametrize("path", ["MERGE_ON_READ"], indirect=True)
@pytest.mark.parametrize("lists_storage", [False, True], ids=["metadata table", "listing"])
def test_a_compaction_whose_inputs_were_cleaned_since(path: Folder, lists_storage: bool) -> None:
    """Of two file groups one had logs alone, one nothing any more, and no reader missed their rows."""
    local.compact(path)
    lost = completed_file(path, -1)
    local.write(path, local.batch(0, 1, "later", 4), "later")
    local.clean(path)
    assert {lost.name.partition(".")[0]} == {one.base_instant for one in opened(path).file_slices()}
    lost.unlink()
    table = HudiTable.open(str(path), lake=path.lake, lists_storage=lists_storage)
    for partition in local.PARTITIONS:
        with pytest.raises(CorruptTableError, match="no older slice"):
            table.file_slices(partition)


@pytest.mark.parametrize("is_executed", [False, True], ids=["planned", "being executed"])
@pytest.mark.parametrize("lists_storage", [False, True], ids=["metadata table", "listing"])
def test_writes_to_the_buckets_of_a_pending_resizing_prove_nothing(
    root: Folder, is_executed: bool, lists_storage: bool
) -> None:
    """Of real Hudi: its upserts log to the old buckets, which readers take, and to those that are not made yet."""
    table = unpack("log_tables/logs_resizing", root)
    if is_executed:
        (planned,) = (table / ".hoodie").glob("*.replacecommit.requested")
        (table / ".hoodie" / planned.name.replace("requested", "inflight")).write_bytes(b"")
    answer = read_parquet(FIXTURES / "log_tables/logs_resizing.snapshot.parquet").sort_by("_hoodie_record_key")

    found = HudiTable.open(str(table), lake=table.lake, lists_storage=lists_storage).scan().to_arrow()

    assert found.select(answer.column_names).sort_by("_hoodie_record_key").equals(answer)
    assert [one for one in validate(str(table), lake=table.lake) if one.is_error] == []
