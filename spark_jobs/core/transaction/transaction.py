"""From the first file of an instant to its last: begin, inflight, publish; and what is checked in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.features import refuse_old_version
from spark_jobs.core.config.table_config import BACKUP, PROPERTIES, TableConfig
from spark_jobs.core.errors import (
    CorruptTableError,
    HudiError,
    InstantStateError,
    LockNotAcquiredError,
    StorageError,
    TableNotFoundError,
    WriteConflictError,
)
from spark_jobs.core.files.markers import delete_markers, delete_unnamed, reconcile_markers
from spark_jobs.core.files.partition_metafile import (
    ensure_partition_metafile,
    refuse_partitions_around,
    without_metafile,
)
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.lake import Lake
from spark_jobs.core.locks.choose import LockChoice
from spark_jobs.core.metadata_table.writer import MetadataWriter, Publication
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.times import refuse_clock_ahead
from spark_jobs.core.timeline.active import ActiveTimeline, load_timeline
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.plans.rollback import RequestedRollback
from spark_jobs.core.timeline.steps import Content, complete, request, transition
from spark_jobs.core.transaction.conflict import Baseline, FileGroupKey, PlaceOf, as_it_is
from spark_jobs.core.transaction.contradictions import refuse_rolled_back_commits
from spark_jobs.core.transaction.heartbeat import Heartbeat, HeartbeatSettings, Pulse, read_pulse
from spark_jobs.core.transaction.late_files import delete_orphans
from spark_jobs.core.transaction.log_bases import refuse_logs_of_no_slice
from spark_jobs.core.transaction.refusal import NONE, Others, refuse_conflicts, refuse_earlier
from spark_jobs.core.transaction.rules import ConflictRules


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """How a table is guarded; everything that a transaction needs beside its own facts."""

    lake: Lake
    url: str
    storage: Storage
    base_path: str
    config: TableConfig
    lock: LockChoice
    heartbeat: HeartbeatSettings
    metadata_writer: MetadataWriter
    rules: ConflictRules = field(default_factory=ConflictRules)

    @property
    def clock(self) -> Clock:
        return self.lake.clock

    def load_timeline(self) -> ActiveTimeline:
        return load_timeline(self.storage, self.base_path, self.config)

    def pulse(self, time: str) -> Pulse:
        """What the heartbeat of an instant says."""
        return read_pulse(self.storage, self.base_path, time, self.heartbeat, self.clock)

    def next_instant(self, timeline: ActiveTimeline) -> str:
        """A time for a new instant, later than all of the timeline; the caller holds the table lock.

        :raises ClockSkewError: the clock of this host is far ahead of the storage's.
        """
        refuse_clock_ahead(self.storage, f"{self.base_path}/{META_FOLDER}", self.clock)
        return next_instant_time(self.clock.now(), self.config.timezone, timeline.last_moment)

    def update_metadata_table(self, timeline: ActiveTimeline, instant: Instant, payload: Payload) -> None:
        """Let the metadata table follow an action that is about to complete; the caller holds the table lock.

        :param payload: of the completed file.
        """
        self.metadata_writer.before_publish(
            Publication(
                storage=self.storage,
                base_path=self.base_path,
                clock=self.clock,
                timeline=timeline,
                instant=instant,
                payload=payload,
            )
        )

    def new_lock(self) -> AbstractContextManager[TransactionSettings]:
        """The table lock, to be entered: what is done under it goes through the settings that it gives, whose storage
        changes nothing once the lock is lost or released.

        :raises UnsupportedTableError: a table of an old version, which nothing here may change.
        """
        refuse_old_version(self.config)
        return self._locked()

    @contextmanager
    def _locked(self) -> Iterator[TransactionSettings]:
        with self.lock.new(self.storage, self.clock) as lock:
            yield replace(self, storage=lock.storage)


class Transaction:
    """One instant on its way. Make it with :func:`begin` or :func:`resume`."""

    def __init__(
        self, settings: TransactionSettings, instant: Instant, baseline: Baseline, heartbeat: Heartbeat
    ) -> None:
        self.settings = settings
        self.instant = instant
        self._baseline = baseline
        self._heartbeat = heartbeat
        self._written: frozenset[str] = frozenset()

    @property
    def time(self) -> str:
        return self.instant.timestamp

    def to_inflight(self, content: Content = b"") -> None:
        """Move on to inflight, with the workload profile where there is one.

        :raises WriteConflictError: another writer took this one for gone.
        """
        timeline = self.settings.load_timeline()
        try:
            self.instant = transition(timeline, self.instant.at(State.REQUESTED), State.INFLIGHT, content)
        except InstantStateError as error:
            if timeline.find(self.time):
                raise
            raise self._lost("it is no longer pending on the timeline: another writer rolled it back") from error

    def publish(
        self,
        payload: Payload,
        touched: frozenset[FileGroupKey] = frozenset(),
        *,
        written: frozenset[str],
        check: Callable[[ActiveTimeline], None] = lambda timeline: None,
        place_of: PlaceOf = as_it_is,
        shared: frozenset[FileGroupKey] = NONE,
    ) -> Instant:
        """Complete the instant under the lock.

        :param payload: of the completed file.
        :param touched: (partition, file id) written or replaced; empty skips the conflict check.
        :param written: relative paths of the data files in ``payload``; files of other attempts of its tasks are
            deleted, and every partition of them gets its metafile, even if a cleaner took it away meanwhile.
        :param check: raises where something else changed that the writer built on; asked under the lock.
        :param place_of: what of a file group no two writers may have; the bucket where that is the index.
        :param shared: touched file groups that others may append to at the same time.
        :raises WriteConflictError: another writer has a touched file group, or took this one for gone, or a plan that
            made the slice of a log was taken back.
        """
        base_path = self.settings.base_path
        self._written = written
        with self.settings.new_lock() as locked:
            storage, timeline = locked.storage, locked.load_timeline()
            self._check_rights(timeline)
            if touched:
                others, rules = self._others(timeline), self.settings.rules
                refuse_conflicts(others, self.instant, self._baseline, touched, rules, place_of, shared)
            refuse_logs_of_no_slice(timeline, self.time, written)
            check(timeline)
            reconcile_markers(storage, base_path, self.time, written)
            partitions = sorted({path.rpartition("/")[0] for path in written})
            refuse_partitions_around(storage, base_path, partitions)
            for partition in without_metafile(storage, base_path, partitions):
                ensure_partition_metafile(storage, base_path, partition, self.time)
            locked.update_metadata_table(timeline, self.instant, payload)
            if self._heartbeat.lapsed():
                raise self._lost("its heartbeat lapsed")
            done = self._complete(timeline, timeline.payloads.encode(payload))
            # it is done; whoever writes next sweeps what could not be removed, and does it alone where the lock is lost
            with suppress(StorageError, WriteConflictError, LockNotAcquiredError):
                # once more: a task that outlived its attempt may have made its file since
                delete_unnamed(storage, base_path, self.time, written)
                delete_markers(storage, base_path, self.time)
        self.instant = done
        self._heartbeat.stop()
        return done

    def _complete(self, timeline: ActiveTimeline, data: bytes) -> Instant:
        try:
            return complete(timeline, self.instant, data, self.settings.clock)
        except StorageError as error:
            done = timeline.completion(self.instant).found(self.settings.storage)
            if done is None:
                raise
            if timeline.read(done) == data:
                return done  # the file was made, only the answer was lost
            raise self._lost("another process completed it") from error

    def refuse_conflict(self, touched: frozenset[FileGroupKey]) -> None:
        """Refuses what :meth:`publish` would refuse, before the work is done.

        :raises WriteConflictError: another writer has a touched file group.
        """
        if touched:
            others = self._others(self.settings.load_timeline())
            refuse_conflicts(others, self.instant, self._baseline, touched, self.settings.rules)

    def refuse_earlier(self, touched: frozenset[FileGroupKey], place_of: PlaceOf) -> None:
        """Refuses at once what an earlier writer is at, who will be completed before this one.

        :raises WriteConflictError: a write that is under way has a touched file group.
        """
        settings = self.settings

        def is_alive(other: Instant) -> bool:
            return settings.pulse(other.timestamp).alive

        refuse_earlier(self._others(settings.load_timeline()), self.instant, touched, is_alive, place_of)

    def _others(self, timeline: ActiveTimeline) -> Others:
        return Others(timeline=timeline, base_path=self.settings.base_path, clock=self.settings.clock)

    def abandon(self) -> None:
        """Stop beating; the pending files stay for the next writer to roll back. Where it was rolled back already, the
        files that it made since are orphans, and deleted here.
        """
        self._heartbeat.stop()
        settings = self.settings
        with suppress(HudiError):  # no reader counts them; archival sweeps what could not be removed
            timeline = settings.load_timeline()
            delete_orphans(settings.storage, settings.base_path, timeline, settings.clock, self.time, self._written)

    def _check_rights(self, timeline: ActiveTimeline) -> None:
        if self.instant not in timeline.instants:
            raise self._lost("it is no longer pending on the timeline: another writer rolled it back")
        taken_back_by = next(
            (one for one in self._new_rollbacks(timeline) if self._is_rolled_back_by(timeline, one)), None
        )
        if taken_back_by is not None:
            raise self._lost(f"rollback {taken_back_by.timestamp} undoes it")
        if self._heartbeat.lapsed():
            raise self._lost("its heartbeat lapsed")

    def _new_rollbacks(self, timeline: ActiveTimeline) -> tuple[Instant, ...]:
        """Rollbacks that were not completed when this transaction began: an older one undid a former execution of the
        same plan.
        """
        known = self._baseline.rollbacks
        return timeline.filter(lambda one: one.action is Action.ROLLBACK and one.timestamp not in known)

    def _is_rolled_back_by(self, timeline: ActiveTimeline, rollback: Instant) -> bool:
        """By its plan or its result; one that is not readable may undo anything."""
        try:
            if rollback.is_completed:
                return self.time in timeline.rollback_result(rollback, self.settings.clock).rolled_back
            target = RequestedRollback.read(timeline, rollback, self.settings.clock).target
        except CorruptTableError:
            return True
        return target is None or target.time == self.time

    def _lost(self, why: str) -> WriteConflictError:
        return WriteConflictError(
            f"instant {self.time} may not be published, {why}",
            todo="run it again; nothing of it is visible",
            instant=self.time,
        )


def begin(
    settings: TransactionSettings,
    action: Action,
    *,
    idempotency_key: str | None = None,
    plan: Content = b"",
    allowed: Callable[[ActiveTimeline], bool] = lambda timeline: True,
) -> Transaction | None:
    """Take the next instant under the lock, start its heartbeat, and request it.

    :param plan: content of the requested file.
    :param allowed: asked under the lock, with the timeline as it stands then.
    :returns: None where ``allowed`` said no; nothing was written then.
    :raises TableNotFoundError: the table went away since it was opened.
    """
    with settings.new_lock() as locked:
        _require_properties(settings)
        timeline = locked.load_timeline()
        refuse_pending_restore(timeline)
        refuse_rolled_back_commits(timeline, settings.clock)
        if not allowed(timeline):
            return None
        time = locked.next_instant(timeline)
        heartbeat = _start_heartbeat(settings, time, locked.storage, idempotency_key)
        try:
            instant = request(timeline, time, action, plan)
        except BaseException:
            heartbeat.stop()
            raise
    return Transaction(settings, instant, Baseline.of(timeline), heartbeat)


def _require_properties(settings: TransactionSettings) -> None:
    """An instant of a table without its properties would be one of nothing."""
    folder = f"{settings.base_path}/{META_FOLDER}"
    if all(settings.storage.stat(f"{folder}/{name}") is None for name in (PROPERTIES, BACKUP)):
        raise TableNotFoundError(
            f"table {settings.config.name} at {settings.base_path} was removed meanwhile, perhaps by the writer that "
            "made it and failed",
            todo="run it again",
            path=settings.base_path,
        )


def resume(settings: TransactionSettings, instant: Instant, under: TransactionSettings) -> Transaction:
    """Go on with a plan that stands requested on the timeline.

    :param under: what :meth:`TransactionSettings.new_lock` gave to the caller, who saw no live heartbeat of the plan.
    """
    timeline = settings.load_timeline()
    refuse_pending_restore(timeline)
    baseline = Baseline.of(timeline)
    if instant.action is Action.REPLACE_COMMIT:
        baseline = baseline.since(instant, timeline)
    return Transaction(settings, instant, baseline, _start_heartbeat(settings, instant.timestamp, under.storage))


def schedule(settings: TransactionSettings, action: Action, timeline: ActiveTimeline, plan: Content) -> Instant:
    """Put a plan on the timeline for later. The caller holds the table lock and made the plan from ``timeline``."""
    refuse_pending_restore(timeline)
    refuse_rolled_back_commits(timeline, settings.clock)
    time = settings.next_instant(timeline)
    return request(timeline, time, action, plan)


def refuse_pending_restore(timeline: ActiveTimeline) -> None:
    """
    :raises WriteConflictError: a restore is under way or broke off; the table is half undone.
    """
    pending = timeline.pending({Action.RESTORE})
    if pending:
        raise WriteConflictError(
            f"restore {pending[0].timestamp} is pending, the table is half undone",
            todo="let it end, or run restore.py again, which finishes it",
            instant=pending[0].timestamp,
        )


def _start_heartbeat(
    settings: TransactionSettings, time: str, under_lock: Storage, idempotency_key: str | None = None
) -> Heartbeat:
    heartbeat = Heartbeat(
        settings.storage, settings.base_path, time, settings.heartbeat, settings.clock, idempotency_key
    )
    heartbeat.start(under_lock)
    return heartbeat
