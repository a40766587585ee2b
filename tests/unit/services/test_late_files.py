"""Files that tasks make after their write was rolled back, or published without them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.markers import create_marker, marker_folder
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.core.view.file_system_view import build_view
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.unit.core.support import HandClock, new_table

pytestmark = pytest.mark.unit


def test_a_file_made_after_the_rollback_is_deleted_and_never_seen(root: Folder) -> None:
    table = new_table(root / "t", clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({})
    transaction = begin(settings, Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    transaction.abandon()
    undo(settings, transaction.time, lambda text: None)
    late = f"0f0e0d0c-0000-4000-8000-000000000000-0_1-1-1_{transaction.time}.parquet"
    create_marker(settings.storage, table.base_path, transaction.time, "a", late, MarkerType.CREATE)
    file = file_at(table.storage, table.base_path, "a", late)
    file.parent.mkdir(exist_ok=True)
    file.touch()
    assert not table.refreshed().view(["a"]).all_groups()
    roll_back_failed_writes(settings)
    assert not file.exists()
    assert not file_at(table.storage, marker_folder(table.base_path, transaction.time)).exists()


def test_undo_leaves_an_instant_alone_that_another_worker_took_over(root: Folder) -> None:
    table = new_table(root / "t", clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({})
    transaction = begin(settings, Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    undo(settings, transaction.time, lambda text: None)  # its heartbeat lives: that of the worker which goes on
    assert [one.timestamp for one in settings.load_timeline().pending_writes()] == [transaction.time]
    transaction.abandon()


@pytest.fixture
def twice(root: Folder) -> tuple[Folder, str]:
    """A table whose second write changed all rows, and the time of that."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(0, 20, "one", 1), "first")
    return path, local.write(path, local.batch(0, 20, "two", 2), "second")


def late_file(path: Folder, time: str, *, group: str | None = None) -> Folder:
    """A task of that write, which outlived it, makes a file with a marker: of a file group of the write, or its own."""
    table = path.table()
    live = next(one.base_file for one in table.file_slices("a") if one.base_file is not None)
    name = f"{group or live.name.file_id}_9-9-9_{time}.parquet"
    create_marker(table.storage, table.base_path, time, "a", name, MarkerType.CREATE)
    (path / live.relative_path).copy_to(path / "a" / name)
    return path / "a" / name


def test_of_two_files_of_a_slice_the_one_counts_that_the_commit_names(twice: tuple[Folder, str]) -> None:
    path, time = twice
    late = late_file(path, time)
    late.write_bytes(b"PAR1torn")
    assert len(local.rows_of(path)) == 20
    assert path.table(lists_storage=True).scan().to_arrow().num_rows == 20
    local.roll_back(path)
    assert not late.exists()
    assert (len(local.rows_of(path)), local.problems_of(path)) == (20, [])


def test_the_next_writer_deletes_a_late_file_with_its_marker(twice: tuple[Folder, str]) -> None:
    path, time = twice
    late = late_file(path, time, group="0f0e0d0c-0000-4000-8000-000000000000-0")
    local.roll_back(path)
    assert not late.exists()
    assert (len(local.rows_of(path)), local.problems_of(path)) == (20, [])


def test_two_files_of_a_slice_of_which_nothing_tells_are_refused(twice: tuple[Folder, str]) -> None:
    path, time = twice
    late_file(path, time)
    table = path.table(lists_storage=True)
    visibility = Visibility.of(table.timeline)
    with pytest.raises(CorruptTableError, match=rf"2 base files of one file slice, and instant {time} does not say"):
        build_view(VERSION_6, table.listing.files(["a"]), visibility, table.pending, partitions=frozenset({"a"}))


def test_what_an_archived_commit_wrote_is_not_late(root: Folder) -> None:
    """A task that outlived its write made a file and markers, and tried what the commit names once more."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    times = [local.write(path, local.batch(20 * n, 20, "one", 1), f"write {n}") for n in range(6)]
    table = path.table()
    oldest = next(
        one.base_file
        for one in table.file_slices("a")
        if one.base_file is not None and one.base_file.name.instant == times[0]
    )
    limits = ArchiveLimits(keep_min=2, keep_max=3)
    archive(table.timeline, table.base_path, instants_to_archive(table.timeline.instants, limits))
    assert not path.table().timeline.find(times[0])
    create_marker(table.storage, table.base_path, times[0], "a", str(oldest.name), MarkerType.CREATE)
    late = late_file(path, times[0], group="0f0e0d0c-0000-4000-8000-000000000000-0")
    local.roll_back(path)
    assert (path / oldest.relative_path).exists()
    assert not late.exists()
    # the metadata table, which was not compacted, knows archived commits no more: the folders tell
    assert path.table(lists_storage=True).scan().to_arrow().num_rows == 120


def test_a_log_that_others_wrote_to_stays(root: Folder) -> None:
    """Hudi appends to a log on storages that can: the marker of a write that failed names the log of another."""
    path = root / "t"
    local.create(path, "MERGE_ON_READ")
    local.write(path, local.batch(0, 20, "one", 1), "first")
    local.write(path, local.batch(0, 20, "two", 2), "second")
    table = path.table()
    log = table.file_slices("a")[0].log_files[0]
    create_marker(table.storage, table.base_path, "20200101000000000", "a", str(log.name), MarkerType.APPEND)
    local.roll_back(path)
    assert (path / log.relative_path).exists()
    assert local.problems_of(path) == []


def test_the_copy_of_a_heartbeat_that_its_writer_died_over_goes_with_its_instant(tmp_path: Path) -> None:
    """A local disk has the copies that a heartbeat is replaced by."""
    table = new_table(tmp_path / "t", clock=HandClock(moment=datetime.now(UTC)))
    settings = table.transaction_settings({})
    alive = begin(settings, Action.DELTA_COMMIT)
    assert alive is not None
    beats = tmp_path / "t" / ".hoodie" / ".heartbeat"
    own, other = f"{alive.time}.0c0ffee0.tmp", "20200101000000000.0c0ffee0.tmp"
    for name in (own, other, "notes.tmp"):
        (beats / name).touch()
    (found,) = [one for one in validate(table.base_path, lake=table.lake) if "heartbeat" in one.what]
    assert found.path == f".hoodie/.heartbeat/{other}"
    roll_back_failed_writes(settings)
    assert sorted(one.name for one in beats.iterdir()) == [alive.time, own, "notes.tmp"]
    alive.abandon()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("listed", ["true", "false"])
def test_files_of_a_write_whose_completed_file_is_empty_stay(
    root: Folder, monkeypatch: pytest.MonkeyPatch, table_type: str, listed: str
) -> None:
    """Hudi makes the file first and fills it then; its markers go after that."""
    path = root / "t"
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", listed)
    local.create(path, table_type)
    first, second, third = local.batch(0, 20, "one", 1), local.batch(100, 20, "two", 2), local.batch(0, 20, "three", 3)
    local.write(path, first, "first")
    time = local.write(path, second, "second")
    table = path.table()
    done = next(one for one in table.timeline.find(time) if one.is_completed)
    for stat in table.timeline.commit_metadata(done, table.clock).write_stats:
        create_marker(table.storage, table.base_path, time, stat.partition_path, stat.file_name, MarkerType.CREATE)
    file_at(table.storage, table.timeline.path(done)).write_bytes(b"")
    local.write(path, third, "third")
    assert local.rows_of(path) == local.expected_rows(first, second, third)
    assert not file_at(table.storage, marker_folder(table.base_path, time)).exists()
