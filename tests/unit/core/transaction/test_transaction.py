"""From begin to publish on a real table: who may publish, who may not, and what is left."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.markers import create_marker, marker_folder
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import TimelineZone, format_instant, next_instant_time
from spark_jobs.core.format.v6.instant_names import file_name_of
from spark_jobs.core.locks.choose import LockChoice
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, begin, resume, schedule
from spark_jobs.services.clustering.plan import ClusteringGroup, ClusteringPlan
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan
from tests.support.folder import Folder, file_at
from tests.support.locks import is_locked, let_go, overtake
from tests.support.through import Through
from tests.unit.core.support import HandClock, file_slice, new_table

pytestmark = pytest.mark.unit

GROUP = ("a", "g-0")
ANEW = "g-0_0-1-1_1.parquet"
"""A file of the second execution of a plan."""


@pytest.fixture
def clock() -> HandClock:
    return HandClock(moment=datetime.now(UTC))


@pytest.fixture
def settings(root: Folder, clock: HandClock) -> TransactionSettings:
    return new_table(root / "t", clock=clock).transaction_settings({"hoodie.write.lock.wait_time_ms": "100"})


def started(settings: TransactionSettings, **options: object) -> Transaction:
    transaction = begin(settings, Action.DELTA_COMMIT, **options)  # type: ignore[arg-type]
    assert transaction is not None
    transaction.to_inflight()
    return transaction


def commit(file_id: str = "g-0", operation: OperationType = OperationType.UPSERT) -> bytes:
    stat = WriteStat(file_id=file_id, path=f"a/{file_id}", partition_path="a")
    return CommitMetadata(write_stats=(stat,), operation_type=operation).payload()


def test_a_write_from_begin_to_publish(settings: TransactionSettings) -> None:
    one = started(settings, idempotency_key="k")
    assert file_at(settings.storage, heartbeat_path(settings.base_path, one.time)).exists()
    create_marker(settings.storage, settings.base_path, one.time, "a", "f.parquet", MarkerType.CREATE)
    done = one.publish(commit(), frozenset({GROUP}), written=frozenset())
    assert file_name_of(done) == f"{one.time}.deltacommit"
    assert settings.load_timeline().instants == (done,)
    assert not file_at(settings.storage, heartbeat_path(settings.base_path, one.time)).exists()
    assert not file_at(settings.storage, marker_folder(settings.base_path, one.time)).exists()
    assert not is_locked(settings.storage, settings.lock)


def test_instants_increase_though_the_clock_stands_still(settings: TransactionSettings) -> None:
    times = []
    for _ in range(3):
        one = started(settings)
        one.publish(commit(one.time), written=frozenset())
        times.append(one.time)
    assert times == sorted(set(times))


def test_begin_asks_under_the_lock_and_writes_nothing_when_told_no(settings: TransactionSettings) -> None:
    seen = []
    found = begin(
        settings,
        Action.COMMIT,
        allowed=lambda line: seen.append(is_locked(settings.storage, settings.lock)) is not None,
    )
    assert (found, seen) == (None, [True])
    assert settings.load_timeline().instants == ()


def test_what_ends_while_begin_waits_for_the_lock_is_seen(settings: TransactionSettings, clock: HandClock) -> None:
    """The timeline is of the time when the lock was had: an instant and a commit from before it are older."""
    other, later = started(settings), clock.moment + timedelta(minutes=5)
    with ExitStack() as stack:
        locked = stack.enter_context(settings.new_lock())
        time = format_instant(later, TimelineZone.UTC)

        def end_the_other() -> None:
            clock.on_sleep = lambda: None
            line = locked.load_timeline()
            transition(line, other.instant, State.COMPLETED, commit())
            plan = request(line, time, Action.COMPACTION, planned_compaction(settings))
            transition(line, plan, State.INFLIGHT, b"")
            stack.close()

        clock.on_sleep = end_the_other
        one = started(settings)
    assert one.time > time
    one.publish(commit(), frozenset({GROUP}), written=frozenset())  # what ended before it began is no conflict
    other.abandon()


def test_a_plan_is_made_while_the_lock_is_held_or_not_at_all(settings: TransactionSettings) -> None:
    with settings.new_lock() as locked:
        line = locked.load_timeline()
        overtake(settings.storage, settings.lock)
        with pytest.raises(WriteConflictError, match="was lost"):
            schedule(locked, Action.COMPACTION, line, planned_compaction(settings))
    assert settings.load_timeline().instants == ()
    assert is_locked(settings.storage, settings.lock)


def test_a_write_begins_while_the_lock_is_held_or_not_at_all(settings: TransactionSettings) -> None:
    def lose_it(_: object) -> bool:
        let_go(settings.storage, settings.lock)
        return True

    with pytest.raises(WriteConflictError, match="was lost: its file was removed"):
        begin(settings, Action.COMMIT, allowed=lose_it)
    assert settings.load_timeline().instants == ()
    assert not file_at(settings.storage, heartbeat_path(settings.base_path, "").rstrip("/")).exists()


def test_of_two_writers_of_a_file_group_the_second_is_told(settings: TransactionSettings) -> None:
    first, second = started(settings), started(settings)
    first.publish(commit(), frozenset({GROUP}), written=frozenset())
    with pytest.raises(
        WriteConflictError, match=rf"instant {second.time} and {first.time} deltacommit .*g-0"
    ) as caught:
        second.publish(commit(), frozenset({GROUP}), written=frozenset())
    assert caught.value.details["other"] == first.time
    second.publish(commit("h-0"), frozenset({("a", "h-0")}), written=frozenset())  # another group is no conflict


def test_who_was_rolled_back_may_not_publish(settings: TransactionSettings) -> None:
    one = started(settings)
    line = settings.load_timeline()
    settings.storage.delete(line.path(one.instant))
    with pytest.raises(WriteConflictError, match="another writer rolled it back"):
        one.publish(commit(), written=frozenset())
    assert [instant.state for instant in settings.load_timeline().instants] == [State.REQUESTED]
    one.abandon()


def test_whose_heartbeat_lapsed_may_not_publish(settings: TransactionSettings, clock: HandClock) -> None:
    one = started(settings)
    clock.passed += settings.heartbeat.lapse_ms / 1000 + 10
    with pytest.raises(WriteConflictError, match="its heartbeat lapsed"):
        one.publish(commit(), written=frozenset())
    one.abandon()


def test_whose_lock_is_lost_while_it_publishes_does_not(settings: TransactionSettings) -> None:
    class Robber:
        """Stands for another writer that takes the lock over in the middle of the publish."""

        def before_publish(self, publication: object) -> None:
            overtake(settings.storage, settings.lock)

    robbed = replace(settings, metadata_writer=Robber())
    one = started(robbed)
    with pytest.raises(WriteConflictError, match="was lost: another process took it over"):
        one.publish(commit(), written=frozenset())
    assert settings.load_timeline().instants == (one.instant,)
    one.abandon()


class Overtaken(Through):
    """Suspended right after its commit; its lock is taken over, its plan rolled back and executed again."""

    def __init__(self, inner: Storage, lock: LockChoice) -> None:
        super().__init__(inner)
        self.lock = lock

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.inner.create(path, data, durable=durable)
        if path.endswith(".deltacommit") and "/metadata/" not in path:
            base, _, name = path.partition("/.hoodie/")
            overtake(self.inner, self.lock)
            create_marker(self.inner, base, name.partition(".")[0], "a", ANEW, MarkerType.CREATE)
            file_at(self.inner, base, "a").mkdir(exist_ok=True)
            file_at(self.inner, base, "a", ANEW).touch()


def test_who_lost_the_lock_after_its_commit_deletes_nothing_any_more(settings: TransactionSettings) -> None:
    one = started(replace(settings, storage=Overtaken(settings.storage, settings.lock)))
    done = one.publish(commit(), written=frozenset())
    assert settings.load_timeline().instants == (done,)
    assert file_at(settings.storage, settings.base_path, "a", ANEW).exists()


def test_an_instant_is_published_once(settings: TransactionSettings) -> None:
    one = started(settings)
    one.publish(commit(), written=frozenset())
    with pytest.raises(WriteConflictError, match="may not be published"):
        one.publish(commit(), written=frozenset())


def test_only_a_requested_instant_becomes_inflight(settings: TransactionSettings) -> None:
    one = begin(settings, Action.COMMIT)
    assert one is not None
    settings.storage.delete(settings.load_timeline().path(one.instant))
    with pytest.raises(WriteConflictError, match="another writer rolled it back"):
        one.to_inflight()
    one.abandon()


def planned_compaction(settings: TransactionSettings) -> bytes:
    plan = CompactionPlan((file_slice("g-0", "1", 10, 5),))
    return plan.requested(CompactionLimits(target_io=1, log_size=0, max_file_size=1)).payload()


def test_a_compaction_planned_meanwhile_conflicts_and_one_planned_before_does_not(
    settings: TransactionSettings,
) -> None:
    before = schedule(settings, Action.COMPACTION, settings.load_timeline(), planned_compaction(settings))
    writer = started(settings)
    work = resume(settings, before, settings)
    work.to_inflight()
    assert (
        file_name_of(work.publish(commit(operation=OperationType.COMPACT), written=frozenset()))
        == f"{before.timestamp}.commit"
    )
    writer.publish(commit(), frozenset({GROUP}), written=frozenset())

    writer = started(settings)
    after = schedule(settings, Action.COMPACTION, settings.load_timeline(), planned_compaction(settings))
    with pytest.raises(WriteConflictError, match=f"{after.timestamp} compaction"):
        writer.publish(commit(), frozenset({GROUP}), written=frozenset())
    writer.abandon()


def planned_clustering(settings: TransactionSettings) -> Instant:
    plan = ClusteringPlan((ClusteringGroup((file_slice("g-0", "1", 10),), 1),), ())
    data = plan.requested().payload(settings.base_path)
    return schedule(settings, Action.REPLACE_COMMIT, settings.load_timeline(), data)


def test_what_a_pending_clustering_rewrites_may_not_be_changed_whenever_it_was_planned(
    settings: TransactionSettings,
) -> None:
    plan = planned_clustering(settings)
    writer = started(settings)
    with pytest.raises(WriteConflictError, match=rf"{plan.timestamp} replacecommit.*when .* is completed"):
        writer.publish(commit(), frozenset({GROUP}), written=frozenset())
    writer.publish(commit("h-0"), frozenset({("a", "h-0")}), written=frozenset())


def test_a_clustering_does_not_overwrite_what_was_written_after_its_plan(settings: TransactionSettings) -> None:
    plan = planned_clustering(settings)
    line = settings.load_timeline()
    other = request(line, next_instant_time(settings.clock.now(), TimelineZone.LOCAL, line.last_time), Action.COMMIT)
    transition(line, transition(line, other, State.INFLIGHT, b""), State.COMPLETED, commit())
    work = resume(settings, plan, settings)
    work.to_inflight()
    with pytest.raises(WriteConflictError, match=r"both changed 1 file group.*out of date"):
        work.publish(commit(operation=OperationType.CLUSTER), frozenset({GROUP}), written=frozenset())
    work.abandon()


def test_a_listed_metadata_table_is_taken_off_by_a_job_that_keeps_none(root: Folder, clock: HandClock) -> None:
    listed = {"hoodie.table.metadata.partitions": "files", "hoodie.table.metadata.partitions.inflight": ""}
    table = new_table(root / "t", clock=clock, properties=listed)
    folder = root / "t" / ".hoodie" / "metadata" / "files"
    folder.mkdir(parents=True)
    one = started(table.transaction_settings({"hoodie.metadata.enable": "false"}))
    one.publish(commit(), written=frozenset())
    assert not folder.parent.exists()
    assert table.refreshed().config.metadata_partitions == ()


def test_nothing_begins_while_a_restore_is_pending(settings: TransactionSettings) -> None:
    folder = file_at(settings.storage, settings.load_timeline().folder)
    (folder / "20200101000000000.restore.requested").touch()
    with pytest.raises(WriteConflictError, match=r"restore 20200101000000000 is pending.*let it end"):
        begin(settings, Action.DELTA_COMMIT)
    with pytest.raises(WriteConflictError, match="restore"):
        schedule(settings, Action.COMPACTION, settings.load_timeline(), b"")


def test_publish_deletes_files_of_other_attempts_and_completes_the_partitions(settings: TransactionSettings) -> None:
    one = started(settings)
    folder = file_at(settings.storage, settings.base_path, "a")
    folder.mkdir()
    for name in ("kept_0-0-1_1.parquet", "stray_0-0-2_1.parquet"):
        create_marker(settings.storage, settings.base_path, one.time, "a", name, MarkerType.CREATE)
        (folder / name).touch()
    one.publish(commit(), written=frozenset({"a/kept_0-0-1_1.parquet"}))
    assert {path.name for path in folder.iterdir()} == {"kept_0-0-1_1.parquet", ".hoodie_partition_metadata"}


def test_a_check_of_the_writer_refuses_under_the_lock(settings: TransactionSettings) -> None:
    one = started(settings)

    def refuse(timeline: object) -> None:
        raise WriteConflictError("something else changed")

    with pytest.raises(WriteConflictError, match="something else"):
        one.publish(commit(), written=frozenset(), check=refuse)
    assert not settings.load_timeline().completed_commits()
    one.abandon()
