"""A writer like Hudi 0.15's, under the lock of the table: its calls in its order, its checks and no others.

It knows no idempotency keys, makes its changes under the lock without asking whether it holds it still, and does not
look for rollbacks. Files are laid out by the project's code. Hudi: BaseHoodieWriteClient.startCommit, preWrite and
commitStats, SimpleConcurrentFileWritesConflictResolutionStrategy, HoodieHeartbeatClient (failed writes: LAZY).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import Random

import numpy as np
import pyarrow as pa

from spark_jobs.core.errors import (
    AlreadyExistsError,
    InstantStateError,
    LockNotAcquiredError,
    StorageError,
    WriteConflictError,
)
from spark_jobs.core.files.markers import delete_markers, reconcile_markers
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import TaskScope, WriteContext, stamp
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.lake import Lake
from spark_jobs.core.locks.file_lock import FileLockSettings
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.schema.meta_fields import FILE_NAME, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.refusal import Others
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.context import write_context
from spark_jobs.write.stored_schema import StoredSchema, settle_schema
from tests.faults import local_table as local
from tests.simulation.clock import SimulatedClock
from tests.simulation.model import Model, Write
from tests.simulation.scheduler import Process, Scheduler

HOLDS_MS = 45_000
"""A lock of Hudi's lasts a minute in these worlds, and is not renewed: its holder is silent for less than that."""
_LOCK_PAUSE_SECONDS = 0.5
_EXPIRED_MS = 60_000
_MARGIN_MS = 3_000
"""More than a call takes."""


class _Beats:
    """The heartbeat of one instant: an empty file, made anew at each beat (Hudi: HoodieHeartbeatClient).

    Whether others may take it for gone is asked once, before the lock. From then on no simulated suspension is as long
    as that: what real Hudi does then is not promised.
    """

    def __init__(self, storage: Storage, path: str, process: Process, scheduler: Scheduler, lapse_ms: float) -> None:
        self.is_needed = False
        self.holds_until_ms = float("inf")
        self._storage = storage
        self._path = path
        self._process = process
        self._scheduler = scheduler
        self._lapse_ms = lapse_ms
        self._last_ms = scheduler.now_ms
        self._is_lost = False

    def beat(self) -> bool:
        """Whether the next one is to come."""
        began = self._scheduler.now_ms
        self._is_lost = began - self._last_ms > self._lapse_ms
        if self._is_lost:
            return False
        self._storage.replace(self._path, b"", durable=False)
        self._last_ms = began
        self.note()
        return True

    def beat_on(self) -> bool:
        """:meth:`beat`, by a timer that an error ends."""
        with suppress(StorageError):
            return self.beat()
        return False

    def refuse_silence(self) -> None:
        """Hudi: HeartbeatUtils.abortIfHeartbeatExpired.

        :raises WriteConflictError: others may take this writer for gone.
        """
        if self._is_lost or self._scheduler.now_ms - self._last_ms > self._lapse_ms:
            raise WriteConflictError("its heartbeat expired", todo="run it again")
        self.is_needed = True
        self.note()

    def note(self) -> None:
        """Until when this process has to wake."""
        if self.is_needed:
            self._process.wakes_by = min(self._last_ms + self._lapse_ms - _MARGIN_MS, self.holds_until_ms)

    def remove(self) -> None:
        self._storage.delete(self._path)


@dataclass(slots=True, kw_only=True)
class HudiWriter:
    """One write, by the running process."""

    url: str
    lake: Lake
    clock: SimulatedClock
    scheduler: Scheduler
    model: Model
    conf: Mapping[str, str]
    beat_ms: int
    random: Random

    def write(self, write: Write) -> None:
        """Update those of the keys that are there, and insert those that nobody else writes.

        :raises WriteConflictError: another writer was faster, or this one was silent for too long; its instant stays
            pending.
        """
        table = HudiTable.open(self.url, lake=self.lake)
        refuse_pending_restore(table.timeline)
        process = self.scheduler.process
        assert process is not None
        process.is_foreign = True
        time = next_instant_time(self.clock.now(), table.config.timezone, max(self.model.foreign, default=""))
        if any(one.action is Action.COMPACTION and not one.precedes(time) for one in table.timeline.instants):
            raise WriteConflictError(f"a compaction is pending that is later than {time}", todo="run it again")
        self.model.foreign[time] = write
        action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
        with self._beating(table, process, time) as beats:
            instant = request(table.timeline, time, action)
            table = table.refreshed()
            rows = self._placed(table, write)
            self.model.foreign[time] = Write(key=write.key, kind=write.kind, ids=tuple(sorted(_ids(rows))))
            self._refuse_pending_clustering(table, rows)
            profile = CommitMetadata(write_stats=_profile(rows), operation_type=OperationType.UPSERT)
            try:
                inflight = transition(table.timeline, instant, State.INFLIGHT, profile.payload())
            except InstantStateError as error:
                raise WriteConflictError(f"{instant} was rolled back", todo="run it again") from error
            stored, stats = self._files(table, write, time, rows)
            beats.refuse_silence()
            self._commit(table, inflight, stored, stats, beats)

    @contextmanager
    def _beating(self, table: HudiTable, process: Process, time: str) -> Iterator[_Beats]:
        path = heartbeat_path(table.base_path, time)
        beats = _Beats(table.storage, path, process, self.scheduler, 2 * self.beat_ms)
        beats.beat()
        timer = self.clock.every(self.beat_ms / 1000, beats.beat_on, f"heartbeat-{time}")
        timer.start()
        try:
            yield beats
        finally:
            timer.stop()
            process.wakes_by = float("inf")

    def _placed(self, table: HudiTable, write: Write) -> dict[FileGroupKey, pa.Table]:
        """Rows by file group, whose id is empty for new ones."""
        columns = [RECORD_KEY, PARTITION_PATH, FILE_NAME]
        found = {
            int(row[RECORD_KEY]): (row[PARTITION_PATH], row[FILE_NAME].split("_")[0])
            for row in table.scan(columns=columns).to_arrow().to_pylist()
        }
        by_group: dict[FileGroupKey, list[dict[str, object]]] = {}
        begins_groups = self.conf["hoodie.index.type"] != "BUCKET"
        for one in write.ids:
            partition = local.PARTITIONS[one % len(local.PARTITIONS)]
            group = found.get(one, (partition, "") if one in write.fresh and begins_groups else None)
            if group is not None:
                row = {RECORD_KEY: str(one), PARTITION_PATH: partition, "id": one, "p": partition}
                by_group.setdefault(group, []).append({**row, "v": write.key, "ts": 1})
        schema = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string()), *local.SCHEMA])
        return {group: pa.Table.from_pylist(some, schema=schema) for group, some in sorted(by_group.items())}

    def _refuse_pending_clustering(self, table: HudiTable, groups: Mapping[FileGroupKey, pa.Table]) -> None:
        """Hudi: SparkRejectUpdateStrategy."""
        if table.pending.clustering.keys() & groups.keys():
            raise WriteConflictError("a file group is part of a pending clustering", todo="run it again")

    def _files(
        self, table: HudiTable, write: Write, time: str, rows: Mapping[FileGroupKey, pa.Table]
    ) -> tuple[StoredSchema, list[WriteStat]]:
        options = IngestOptions(base_path=table.url, hoodie_conf=tuple(self.conf.items()))
        config = resolve(options, table, table.lake)
        stored = settle_schema(lambda: local.SCHEMA, config, table)
        context = write_context(config, table, stored, time)
        scope = TaskScope(0, f"0-{self.random.randrange(40)}-{self.random.randrange(1 << 20)}")
        view = table.view()
        slices = {(one.partition, one.file_id): one for one in view.latest_slices()}
        stats: list[WriteStat] = []
        for (partition, file_id), some in rows.items():
            one = slices.get((partition, file_id))
            changes = Changes(some, np.zeros(some.num_rows, bool))
            if one is None:
                stats += self._new_group(context, scope, partition, some)
            elif table.config.is_merge_on_read:
                target = append_target(view, one, table.pending.compaction.get((partition, file_id)))
                changes = Changes(stamp(some, context, scope, partition, file_id), changes.deleted)
                stats += append_changes(context, scope, target, changes, hard_deletes=False)
            else:
                assert one.base_file is not None
                stats.append(merge_base_file(context, scope, one.base_file, changes))
        return stored, stats

    def _new_group(self, context: WriteContext, scope: TaskScope, partition: str, rows: pa.Table) -> list[WriteStat]:
        handle = CreateHandle(context, scope, partition, self.clock.new_uuid())
        handle.write(rows)
        return handle.close()

    def _commit(
        self, table: HudiTable, instant: Instant, stored: StoredSchema, stats: list[WriteStat], beats: _Beats
    ) -> None:
        settings = table.transaction_settings(self.conf)
        extra, _ = stored.schema_metadata(instant.timestamp)
        metadata = CommitMetadata(write_stats=tuple(stats), operation_type=OperationType.UPSERT, extra_metadata=extra)
        with self._lock(settings, beats):
            timeline = settings.load_timeline()
            self._refuse_conflicts(timeline, table, instant, metadata.touched_file_groups())
            reconcile_markers(settings.storage, settings.base_path, instant.timestamp, written_paths(stats))
            settings.update_metadata_table(timeline, instant, metadata.payload())
            try:
                transition(timeline, instant, State.COMPLETED, metadata.payload())
            except InstantStateError as error:
                raise WriteConflictError(f"{instant} was rolled back", todo="run it again") from error
            delete_markers(settings.storage, settings.base_path, instant.timestamp)
            beats.remove()

    def _refuse_conflicts(
        self, timeline: ActiveTimeline, seen: HudiTable, own: Instant, touched: frozenset[FileGroupKey]
    ) -> None:
        """With all that Hudi looks at, and with what is later than its own instant: Hudi would not see that if it was
        there when it began, since it draws its instant without the lock, and lose its own rows.
        """
        last = seen.timeline.last_completed()
        pending = {one.timestamp for one in seen.timeline.pending_writes()}
        others = Others(timeline=timeline, base_path=seen.base_path, clock=self.clock)

        def concerns(other: Instant) -> bool:
            if other.timestamp == own.timestamp:
                return False
            if other.is_completed:
                is_new = last is None or other.follows(last.timestamp) or other.timestamp in pending
                return other.action in COMMITS and (is_new or other.follows(own.timestamp))
            return other.action in (Action.REPLACE_COMMIT, Action.COMPACTION) and other.follows(own.timestamp)

        for other in timeline.filter(concerns):
            if touched & others.groups(other):
                raise WriteConflictError(f"{other} changed the same file groups", todo="run it again")

    @contextmanager
    def _lock(self, settings: TransactionSettings, beats: _Beats) -> Iterator[None]:
        """Hudi: FileSystemBasedLockProvider, whose file is empty, and StorageBasedLockProvider."""
        if not isinstance(settings.lock.settings, FileLockSettings):
            with settings.lock.new(settings.storage, self.clock):
                yield
            return
        path, storage = settings.lock.path, settings.storage
        deadline = self.clock.monotonic() + settings.lock.settings.wait_ms / 1000
        while not self._has_locked(settings, path):
            if self.clock.monotonic() > deadline:
                raise LockNotAcquiredError(f"{path} is held by another", todo="run it again", path=path)
            self.clock.sleep(_LOCK_PAUSE_SECONDS)
        beats.holds_until_ms = self.scheduler.now_ms + HOLDS_MS
        beats.note()
        try:
            yield
        finally:
            storage.delete(path)

    def _has_locked(self, settings: TransactionSettings, path: str) -> bool:
        storage = settings.storage
        status = storage.stat(path)
        if status is not None:
            now_ms = storage.clock_ms(path.rpartition("/")[0])
            assert now_ms is not None
            if now_ms - status.modified_ms <= _EXPIRED_MS:
                return False
            storage.delete(path)
        try:
            storage.create(path, b"")
        except AlreadyExistsError:
            return False
        return True


def _ids(rows: Mapping[FileGroupKey, pa.Table]) -> Iterator[int]:
    for some in rows.values():
        yield from some.column("id").to_pylist()


def _profile(rows: Mapping[FileGroupKey, pa.Table]) -> tuple[WriteStat, ...]:
    """What an inflight file says (Hudi: WorkloadProfile)."""
    return tuple(
        WriteStat(file_id=file_id, path=None, partition_path=partition, num_update_writes=some.num_rows)
        for (partition, file_id), some in rows.items()
        if file_id
    )
