"""Two writers that insert one key at the same time: each found no place for it, and neither saw the other's files.

The files of a write are compared with those that others completed since it looked its keys up: by ranges of keys and
bloom filters, then key by key. Hudi compares file groups alone (SimpleConcurrentFileWritesConflictResolutionStrategy)
and would keep both records.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.base_file import footer_index, open_base_file
from spark_jobs.core.files.key_range import java_min_max
from spark_jobs.core.format.instant import COMMITS, Instant
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.index.ranges import are_apart
from spark_jobs.core.index.stored_keys import found_in_base, possible
from spark_jobs.core.keygen.keys import record_keys
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from spark_jobs.core.storage import resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import SERVICE_OPERATIONS, CommitMetadata
from spark_jobs.core.timeline.write_stat import NO_PREVIOUS_COMMIT, WriteStat
from spark_jobs.core.transaction.conflict import completed_since
from spark_jobs.core.view.file_slice import BaseFile, FileSlice, LogFile

KEYS_AT_ONCE = 1 << 18
"""Of this write's keys so many are in memory, beside a batch of another file's."""

Keys: TypeAlias = "pa.Array[Any]"
Bounds = tuple[str, str]


Check = Callable[[ActiveTimeline], None]
"""What is asked under the table lock; raises where the write may not be published."""


class _OthersInserted(Exception):
    """Files of other writers have to be compared, which is better done without the table lock."""


@dataclass(kw_only=True)
class InsertedKeys:
    """The keys that a write inserts, in the files that it just wrote, and what others have inserted meanwhile.

    ``placed_by`` is the timeline by which the write looked its keys up, ``reader_of`` tells how slices are read of the
    table as it stands then. With ``is_global`` a key is one record in the whole table, else in its partition.
    """

    table: HudiTable
    instant: str
    stats: Collection[WriteStat]
    placed_by: ActiveTimeline
    reader_of: Callable[[HudiTable], SliceReader]
    is_global: bool

    def publish(self, complete: Callable[[Check], Instant]) -> Instant:
        """Complete the write where no other writer inserted a key that it inserts.

        What others completed meanwhile is compared without the table lock, which is taken again then, and under it only
        what they completed since. Where they completed nothing, nothing is read.

        :param complete: takes the lock, asks what it is given, and completes the instant.
        :raises WriteConflictError: another writer inserted such a key.
        """
        met: list[ActiveTimeline] = []

        def refuse_uncompared(timeline: ActiveTimeline) -> None:
            if self._inserted_by_others(timeline):
                met.append(timeline)
                raise _OthersInserted

        try:
            return complete(refuse_uncompared)
        except _OthersInserted:
            self.compare(met[0])
        return complete(self.compare)

    def compare(self, timeline: ActiveTimeline) -> None:
        """Compare with what others completed since the write looked its keys up, or since the last call.

        :raises WriteConflictError: another writer inserted a key that this write inserts, too.
        """
        others = self._inserted_by_others(timeline)
        if others:
            table = self.table.refreshed()
            reader = self.reader_of(table)
            pending = {one.timestamp for one in self.placed_by.pending(COMMITS)} - {self.instant}
            instants = pending | _completed(table.timeline) - _completed(self.placed_by)
            for scope, theirs in _by_scope(_still_there(table, others, instants), self._scope).items():
                self._refuse_common(table, reader, self._own.get(scope, []), theirs, instants)
        self.placed_by = timeline

    def _scope(self, one: FileSlice) -> str:
        return "" if self.is_global else one.partition

    @cached_property
    def _own(self) -> dict[str, list[FileSlice]]:
        """The files that this write may have put new keys into, by scope."""
        return _by_scope(filter(None, map(self._with_inserts, self.stats)), self._scope)

    def _with_inserts(self, stat: WriteStat) -> FileSlice | None:
        return _with_inserts(stat, self.table.config.format)

    def _inserted_by_others(self, timeline: ActiveTimeline) -> list[FileSlice]:
        """The files with keys that others inserted where this write did; of a file group the newest base file."""
        found: dict[tuple[str, ...], FileSlice] = {}
        for metadata in self._new_commits(timeline):
            if self._own and metadata.operation_type not in SERVICE_OPERATIONS:  # those move records
                for one in filter(None, map(self._with_inserts, metadata.write_stats)):
                    if self._scope(one) in self._own:
                        found[(one.partition, one.file_id, *(log.relative_path for log in one.log_files))] = one
        return list(found.values())

    def _new_commits(self, timeline: ActiveTimeline) -> Iterator[CommitMetadata]:
        """Oldest first; before them those that were completed and archived since."""
        return (timeline.commit_metadata(one, self.table.clock) for one in completed_since(timeline, self.placed_by))

    def _refuse_common(
        self,
        table: HudiTable,
        reader: SliceReader,
        own: Collection[FileSlice],
        theirs: Collection[FileSlice],
        instants: Collection[str],
    ) -> None:
        seen = reader.visibility
        own_reader = replace(reader, visibility=replace(seen, completed=seen.completed | {self.instant}))
        read = chain.from_iterable(_keys_written(own_reader, one, {self.instant}) for one in own)
        for keys in _gathered(read):
            bounds = java_min_max(keys)
            for one in theirs:
                common = _common(reader, one, keys, bounds, instants)
                if len(common):
                    common = self._without_updated(table, reader, own, common)
                if len(common):
                    raise self._clash(one, common)

    def _without_updated(self, table: HudiTable, reader: SliceReader, own: Collection[FileSlice], keys: Keys) -> Keys:
        """Those of the keys that the file groups which this write changed did not have before."""
        changed = {(one.partition, one.file_id) for one in own}
        for before in table.view(sorted({one.partition for one in own})).latest_slices():
            if (before.partition, before.file_id) in changed and before.base_file is not None:
                keys = keys.filter(pc.invert(pc.is_in(keys, value_set=found_in_base(reader, before, keys))))
        return keys

    def _clash(self, other: FileSlice, keys: Keys) -> WriteConflictError:
        return WriteConflictError(
            f"instant {self.instant} and another writer, in {other.paths[0]}, both inserted {len(keys)} key(s), "
            f"such as {keys[0].as_py()[:100]!r}",
            todo="run it again",
            instant=self.instant,
            other=other.base_instant,
        )


def _completed(timeline: ActiveTimeline) -> set[str]:
    return {one.timestamp for one in timeline.completed_commits()}


def _by_scope(slices: Iterable[FileSlice], scope_of: Callable[[FileSlice], str]) -> dict[str, list[FileSlice]]:
    found: dict[str, list[FileSlice]] = {}
    for one in slices:
        found.setdefault(scope_of(one), []).append(one)
    return found


def _with_inserts(stat: WriteStat, format: TableFormat) -> FileSlice | None:
    """The file of a write statistic where it may hold keys that the table did not have; a slice of its own.

    A log on the slice of a pending compaction may: it brings a key back that an older log deleted, and that the base
    file of the compaction won't have.
    """
    base, log = format.parse_base_file(stat.file_name), format.parse_log_file(stat.file_name)
    size = stat.file_size_in_bytes
    if base is not None and (stat.num_inserts > 0 or stat.prev_commit == NO_PREVIOUS_COMMIT):
        file = BaseFile(stat.partition_path, base, size)
        return FileSlice(
            partition=stat.partition_path,
            file_id=stat.file_id,
            base_instant=base.instant,
            base_file=file,
            log_files=(),
        )
    if log is not None and (stat.num_inserts > 0 or not stat.base_file):
        return FileSlice(
            partition=stat.partition_path,
            file_id=stat.file_id,
            base_instant=log.instant,
            base_file=None,
            log_files=(LogFile(stat.partition_path, log, size),),
        )
    return None


def _still_there(table: HudiTable, slices: Iterable[FileSlice], instants: Collection[str]) -> Iterator[FileSlice]:
    """The same; in the place of those that were cleaned meanwhile, what was made of their partitions' rows."""
    gone = set()
    for one in slices:
        if any(table.storage.stat(resolve(table.base_path, path)) is None for path in one.paths):
            gone.add(one.partition)
        else:
            yield one
    for one in table.view(sorted(gone)).latest_slices() if gone else ():
        if one.base_file is not None and one.base_instant in instants:
            yield replace(one, log_files=())


def _keys_written(reader: SliceReader, one: FileSlice, instants: Collection[str]) -> Iterator[Keys]:
    """The keys of rows in a slice that some instants wrote; of all rows where keys are virtual, and times are, too."""
    spec = reader.virtual_keys
    if spec is not None:
        columns = list(dict.fromkeys(name.split(".")[0] for name in spec.record_key_fields))
        yield from (record_keys(batch, spec) for batch in reader.read(one, columns))
        return
    wanted = pa.array(sorted(instants), pa.string())
    for batch in reader.read(one, [RECORD_KEY, COMMIT_TIME]):
        yield batch.column(0).filter(pc.is_in(batch.column(1), value_set=wanted))


def _gathered(parts: Iterable[Keys]) -> Iterator[Keys]:
    """The same keys, about :data:`KEYS_AT_ONCE` at a time."""
    held: list[Keys] = []
    count = 0
    for keys in parts:
        held.append(keys.cast(pa.string()))
        count += len(keys)
        if count >= KEYS_AT_ONCE:
            yield pa.concat_arrays(held)
            held, count = [], 0
    if count:
        yield pa.concat_arrays(held)


def _common(reader: SliceReader, one: FileSlice, keys: Keys, bounds: Bounds, instants: Collection[str]) -> Keys:
    """Those of the keys that some instants put into a slice.

    :param bounds: smallest and greatest of ``keys``.
    """
    if one.base_file is not None and reader.virtual_keys is None:
        footer = footer_index(open_base_file(reader.storage, resolve(reader.base_path, one.base_file.relative_path)))
        if footer.key_range is not None and are_apart(bounds, footer.key_range):
            return keys.slice(0, 0)
        keys = possible(footer.bloom, keys)
    if not len(keys):
        return keys
    found = [some.filter(pc.is_in(some, value_set=keys)) for some in _keys_written(reader, one, instants)]
    return pa.concat_arrays([part.cast(pa.string()) for part in found]).unique() if found else keys.slice(0, 0)
