"""A writer that was only thought dead puts files down after its rollback: none of them is ever the table's, and none
stays.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import UnknownInstantError, WriteConflictError
from spark_jobs.core.files.log_writer import command_block
from spark_jobs.core.files.markers import delete_markers
from spark_jobs.core.format.instant import Action
from spark_jobs.core.metadata_table.writer import MetadataWriter, Publication
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.late_files import instants_of_blocks
from spark_jobs.core.transaction.transaction import Transaction, begin
from spark_jobs.options import RestoreOptions
from spark_jobs.options.choices import Repair
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.completed import work_for_completed
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.through import Through
from tests.unit.core.support import complete, contents
from tests.unit.services.archived import KEEP, active, archive, clean, compact_metadata
from tests.unit.services.dead_writes import BEFORE, FailedWrite, failed_write, write

pytestmark = pytest.mark.unit


def stalled(failed: FailedWrite) -> Transaction:
    """A writer that is inflight and silent for longer than others wait."""
    transaction = begin(failed.settings(), Action.DELTA_COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    file_at(failed.table.storage, heartbeat_path(failed.table.base_path, transaction.time)).date(1000)
    return transaction


def refused(transaction: Transaction, *stats: WriteStat) -> None:
    with pytest.raises(WriteConflictError):
        transaction.publish(CommitMetadata(write_stats=stats).payload(), written=written_paths(stats))
    transaction.abandon()


@pytest.mark.parametrize("with_markers", [True, False])
def test_a_refused_writer_deletes_what_it_made(root: Folder, with_markers: bool) -> None:
    failed = failed_write(root / "t")
    transaction = stalled(failed)
    roll_back_failed_writes(failed.settings())
    stat = write(failed.table, transaction.time, "w", ("w", 5, "woken"))
    if not with_markers:
        delete_markers(failed.table.storage, failed.table.base_path, transaction.time)
    assert stat.path in failed.data_files()
    refused(transaction, stat)
    assert stat.path not in failed.data_files()
    assert contents(failed.table) == BEFORE


def test_a_refused_writer_leaves_what_another_process_completed(root: Folder) -> None:
    failed = failed_write(root / "t")
    transaction = stalled(failed)
    stat = write(failed.table, transaction.time, "w", ("w", 5, "woken"))
    complete(failed.table, transaction.instant, [stat])
    refused(transaction, stat)
    assert stat.path in failed.data_files()
    assert ("w", 5, "woken") in contents(failed.table)


def test_nor_what_was_completed_and_archived(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    table = path.table()
    time = local.write(path, local.batch(0, 4, "first", 1), "first")
    (done,) = table.refreshed().timeline.find(time)
    metadata = table.refreshed().timeline.commit_metadata(done, table.clock)
    for number in range(4):
        local.write(path, local.batch(0, 4, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        archive(path)
    assert time not in active(path)
    settings = table.transaction_settings({})
    transaction = begin(settings, Action.COMMIT)
    assert transaction is not None
    transaction.abandon()
    transaction.instant = done
    transaction._written = written_paths(metadata.write_stats)
    there = [one for one in transaction._written if (path / one).exists()]
    transaction.abandon()
    assert [one for one in transaction._written if (path / one).exists()] == there


class Late(Through):
    """A writer puts its file down when the pending file of its instant is taken away."""

    def __init__(self, inner: Storage, wakes: Any) -> None:
        super().__init__(inner)
        self.wakes = wakes

    def delete(self, path: str) -> bool:
        gone = self.inner.delete(path)
        if path.endswith(".inflight") and ".rollback." not in path:
            self.wakes()
        return gone


def test_a_rollback_looks_for_files_once_more_when_the_pending_instant_is_gone(root: Folder) -> None:
    failed = failed_write(root / "t")
    roll_back_failed_writes(failed.settings())
    transaction = stalled(failed)
    made: list[WriteStat] = []
    settings = failed.settings()
    storage = Late(settings.storage, lambda: made.append(write(failed.table, transaction.time, "w", ("w", 5, "woken"))))
    roll_back_failed_writes(replace(settings, storage=storage))
    assert len(made) == 1
    assert made[0].path not in failed.data_files()
    assert failed.log.path in failed.data_files()  # its blocks are taken back, and the metadata table lists it
    assert contents(failed.table) == BEFORE


def zombie(path: Folder, table_type: str, content: bytes | None) -> Folder:
    """A table with a file of a rolled-back write in a file group of its own; ``content`` None: that of a real one."""
    local.create(path, table_type)
    local.write(path, local.batch(0, 20, "zero", 0), "0")
    table = path.table()
    action = Action.COMMIT if table_type == "COPY_ON_WRITE" else Action.DELTA_COMMIT
    transaction = begin(table.transaction_settings({}), action)
    assert transaction is not None
    transaction.to_inflight()
    transaction.abandon()
    assert len(roll_back_failed_writes(table.transaction_settings({}))) == 1
    real = next((path / "a").glob("*.parquet"))
    late = real.with_name(f"11111111-2222-3333-4444-555555555555-0_0-9-9_{transaction.time}.parquet")
    late.write_bytes(real.read_bytes() if content is None else content)
    return late


@pytest.mark.parametrize("content", [None, b""])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_archival_deletes_the_files_of_what_it_passes(root: Folder, table_type: str, content: bytes | None) -> None:
    path = root / "t"
    late = zombie(path, table_type, content)
    before = local.rows_of(path)
    assert [one.severity.value for one in validate(str(path), lake=path.lake) if late.name in one.path] == ["WARNING"]
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    assert late.exists()
    look = archive(path, {"hoodie.compact.inline.max.delta.commits": "1"}, dry_run=True)
    assert f"a/{late.name}" in (look.plan or {})["deletions"]
    done = archive(path, {"hoodie.compact.inline.max.delta.commits": "1"}, plan_hash=look.extra["plan_hash"])
    assert done.extra["archived"] > 0
    assert not late.exists()
    assert len(local.rows_of(path)) == len(before)
    assert validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("swept", [True, False])
def test_what_failed_before_a_restore_is_known_after_it(root: Folder, table_type: str, swept: bool) -> None:
    """A restore takes the rollbacks off the timeline that came after its goal."""
    path = root / "t"
    late = zombie(path, table_type, None)
    content = late.read_bytes()
    (goal,) = active(path)
    local.write(path, local.batch(0, 20, "undone", 1), "undone")
    run_restore(RestoreOptions(base_path=str(path), instant_time=goal), job_context(lake=root.lake))
    late.write_bytes(content)  # it outlived that too
    rows = local.rows_of(path)
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    if not swept:
        late.unlink()
    assert archive(path, {"hoodie.compact.inline.max.delta.commits": "1"}).extra["archived"] > 0
    assert not late.exists()
    if not swept:  # as after an archival of Hudi's
        late.write_bytes(content)
        assert [(one.path, one.repair) for one in validate(str(path), lake=path.lake) if one.invariant == 7] == [
            (f"a/{late.name}", Repair.LEFTOVERS)
        ]
    for lists_storage in (True, False):
        assert path.table(lists_storage=lists_storage).scan().to_arrow().num_rows == len(rows)


def test_archival_knows_what_archived_rollbacks_undid(root: Folder) -> None:
    path = root / "t"
    late = zombie(path, "COPY_ON_WRITE", None)
    table = path.table()
    for _ in range(3):
        transaction = begin(table.transaction_settings({}), Action.COMMIT)
        assert transaction is not None
        transaction.to_inflight()
        transaction.abandon()
        roll_back_failed_writes(table.transaction_settings({}))
    local.write(path, local.batch(0, 20, "one", 1), "one")
    compact_metadata(path)
    archive(path)
    rollbacks = path.table().timeline.completed(Action.ROLLBACK)
    assert len(rollbacks) < 4
    assert len(active(path)) == 2
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    assert late.exists()
    assert archive(path).extra["archived"] > 0
    assert not late.exists()


def passed_by_hudi(path: Folder, table_type: str = "COPY_ON_WRITE") -> Folder:
    """A zombie's file that an archival passed which did not look for it."""
    late = zombie(path, table_type, None)
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    hidden = late.rename(path / late.name)
    archive(path, {"hoodie.compact.inline.max.delta.commits": "1"})
    return hidden.rename(late)


@pytest.mark.parametrize("lists_storage", [True, False])
def test_what_hudi_s_archival_passed_is_not_read_and_is_found(root: Folder, lists_storage: bool) -> None:
    path = root / "t"
    late = passed_by_hudi(path)
    assert late.name.rsplit("_", 1)[1][:17] < active(path)[0]
    table = path.table(lists_storage=lists_storage)
    assert table.scan().to_arrow().num_rows == 20
    (found,) = validate(str(path), deep=True, lake=path.lake)
    assert (found.is_error, found.path, found.repair) == (True, f"a/{late.name}", Repair.LEFTOVERS)
    assert "rolled back" in found.what
    local.write(path, local.batch(0, 20, "more", 9), "more")
    assert len(local.rows_of(path)) == 20


@pytest.mark.parametrize("metadata", ["true", "false"])
def test_of_two_files_of_a_slice_the_one_counts_that_the_archive_names(
    root: Folder, metadata: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt that outlived its write put its file down when the write was completed by another."""
    monkeypatch.setitem(local.AT_ONCE, "hoodie.metadata.enable", metadata)
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(100, 4, "old", 1), "old")
    real = next((path / "a").glob("*.parquet"))
    file_id, _, end = real.name.split("_")
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
    options = {"hoodie.metadata.enable": metadata}
    assert archive(path, options).extra["archived"] > 0
    rows = local.rows_of(path)
    twin = real.with_name(f"{file_id}_5-7-7_{end}")
    twin.write_bytes(real.read_bytes())
    for lists_storage in (True, False):
        table = path.table(lists_storage=lists_storage)
        assert table.scan().to_arrow().num_rows == len(rows)
        assert f"a/{real.name}" in {name for one in table.file_slices() for name in one.paths}
    found = [one for one in validate(str(path), lake=path.lake) if one.invariant == 7]
    assert [(one.severity.value, one.path, one.repair) for one in found] == [
        ("WARNING", f"a/{twin.name}", Repair.LEFTOVERS)
    ]


def test_a_table_whose_archive_was_removed(root: Folder) -> None:
    """Its metadata table lists what was completed; of a file that it does not list, nobody knows."""
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(100, 4, "old", 1), "old")
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    archive(path)
    rows = local.rows_of(path)
    assert len(rows) == 24
    for file in (path / ".hoodie" / "archived").iterdir():
        file.unlink()
    assert path.table(lists_storage=True).scan().to_arrow().num_rows == 24
    local.write(path, local.batch(0, 20, "more", 9), "more")
    assert path.table().scan().to_arrow().num_rows == 24
    assert not [one for one in validate(str(path), deep=True, lake=path.lake) if one.is_error and one.invariant != 8]
    real = next((path / "a").glob("*.parquet"))
    stranger = real.with_name("11111111-2222-3333-4444-555555555555-0_0-9-9_20200101000000000.parquet")
    stranger.write_bytes(real.read_bytes())
    with pytest.raises(UnknownInstantError, match=f"a/{stranger.name} is of instant 20200101000000000"):
        path.table(lists_storage=True).scan().to_arrow()
    assert path.table().scan().to_arrow().num_rows == 24
    (found,) = [one for one in validate(str(path), lake=path.lake) if one.is_error and one.invariant == 7]
    assert (found.path, found.repair) == (f"a/{stranger.name}", None)
    properties = path / ".hoodie" / "hoodie.properties"
    properties.write_text(f"{properties.read_text()}pyhudi.archive.lost.before=20210101000000000\n")
    assert path.table(lists_storage=True).scan().to_arrow().num_rows > 24


def test_an_instant_with_blocks_in_a_log_of_others_is_not_passed(root: Folder) -> None:
    """Hudi appends to logs on HDFS: such a file can't go."""
    path = root / "t"
    late = zombie(path, "MERGE_ON_READ", None)
    rolled_back = late.name.rsplit("_", 1)[1][:17]
    late.unlink()
    local.write(path, local.batch(0, 20, "two", 3), "two")
    log = next((path / "a").glob(".*.log.*"))
    (instant,) = instants_of_blocks(log.storage, log.storage.list(str(log.parent))[0])[:1]
    log.write_bytes(log.read_bytes() + log.read_bytes().replace(instant.encode(), rolled_back.encode()))
    many = {"hoodie.compact.inline.max.delta.commits": "1", "hoodie.clean.automatic": "false"}
    for number in range(5):
        local.write(path, local.batch(50, 4, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
    found = archive(path, many)
    assert rolled_back in f"{found.reason} {found.extra.get('held_by')}"
    assert min(active(path)) < rolled_back
    command = log.with_name(log.name.replace(".log.1_", ".log.9_"))
    command.write_bytes(command_block("20990101000000000", rolled_back))
    archive(path, many)
    assert min(active(path)) > rolled_back


def test_archival_deletes_a_log_that_only_a_rolled_back_write_made(root: Folder) -> None:
    path = root / "t"
    late = zombie(path, "MERGE_ON_READ", None)
    rolled_back = late.name.rsplit("_", 1)[1][:17]
    late.unlink()
    local.write(path, local.batch(0, 20, "two", 3), "two")
    log = next((path / "a").glob(".*.log.*"))
    (instant,) = set(instants_of_blocks(log.storage, log.storage.list(str(log.parent))[0]))
    made = log.with_name(log.name.replace(".log.1_", ".log.7_"))
    made.write_bytes(log.read_bytes().replace(instant.encode(), rolled_back.encode()))
    for number in range(5):
        local.write(path, local.batch(50, 4, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
    rows = local.rows_of(path)
    archive(path, {"hoodie.compact.inline.max.delta.commits": "1"})
    assert min(active(path)) > rolled_back
    assert log.exists()
    assert not made.exists()
    assert local.rows_of(path) == rows


class Counting(Through):
    """Knows the number of archive files that were opened."""

    opened = 0

    def open_input(self, path: str, *, may_change: bool = False, etag: str = "") -> pa.NativeFile:
        self.opened += ".archive." in path
        return self.inner.open_input(path, may_change=may_change, etag=etag)


def test_the_archive_is_read_once_and_not_where_the_metadata_table_lists(root: Folder) -> None:
    path = root / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(100, 4, "old", 1), "old")
    for number in range(6):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
        archive(path)
    assert len(list((path / ".hoodie" / "archived").iterdir())) > 1
    storage = Counting(path.storage)
    table = replace(path.table(), storage=storage)
    assert table.scan().to_arrow().num_rows == 24
    assert storage.opened == 0
    listing = replace(path.table(lists_storage=True), storage=storage)
    assert len(listing.file_slices()) > 1
    first = storage.opened
    assert 0 < first < len(list((path / ".hoodie" / "archived").iterdir()))
    assert len(listing.refreshed().file_slices()) > 1
    assert storage.opened == first


class RemembersUndone:
    """Tells the metadata table nothing of what a rollback takes back, as Hudi 0.15 does of a write that the table was
    made over.
    """

    def __init__(self, writer: MetadataWriter) -> None:
        self.writer = writer

    def before_publish(self, publication: Publication) -> None:
        payload = publication.payload
        if publication.instant.action is Action.ROLLBACK:
            record = {**payload.record, "commitsRollback": [], "partitionMetadata": {}}
            payload = replace(payload, record=record)
        self.writer.before_publish(replace(publication, payload=payload))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_archival_takes_off_a_metadata_table_that_lists_files_of_what_it_passes(root: Folder, table_type: str) -> None:
    """Else they would count as committed from then on, and no query would find them."""
    path = root / "t"
    local.create(path, table_type)
    local.write(path, local.batch(0, 20, "zero", 0), "0")
    rolled_back = local.write(path, local.batch(100, 4, "undone", 1), "undone")
    local.write(path, local.batch(0, 20, "restored", 2), "restored")
    # makes it from a listing
    run_restore(RestoreOptions(base_path=str(path), instant_time=rolled_back), job_context(lake=root.lake))
    settings = path.table().transaction_settings(KEEP)
    settings = replace(settings, metadata_writer=RemembersUndone(settings.metadata_writer))
    timeline = settings.load_timeline()
    (target,) = timeline.find(rolled_back)
    blocks = partial(instants_of_blocks, settings.storage)
    work = work_for_completed(path.table(), target, blocks)
    roll_back(settings, timeline, target, requests=work.requests)
    for number in range(5):
        local.write(path, local.batch(0, 20, f"m{number}", 5), f"m{number}")
        compact_metadata(path)
        clean(path)
    rows = local.rows_of(path)
    look = archive(path, {"hoodie.compact.inline.max.delta.commits": "1"}, dry_run=True)
    assert rolled_back in (look.plan or {})["takes_metadata_table_off_for"]
    archive(path, {"hoodie.compact.inline.max.delta.commits": "1"}, plan_hash=look.extra["plan_hash"])
    assert min(active(path)) > rolled_back
    assert local.rows_of(path) == rows
    local.write(path, local.batch(100, 4, "new", 9), "new")
    assert path.table().config.metadata_partitions == ("files",)
    assert len(local.rows_of(path)) == 24
    assert validate(str(path), deep=True, lake=path.lake) == []
