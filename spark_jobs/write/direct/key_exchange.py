"""Incoming rows and stored keys on their way to the tasks where those of one key meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.bloom import PRUNE_BY_RANGES
from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.config.keys.write import DRIVER_ROWS
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.index.logged_inserts import slices_with_logged_inserts
from spark_jobs.core.index.ranges import are_apart
from spark_jobs.core.index.stored_keys import base_and_slice_keys, footer_range, slice_keys
from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.direct.globally import GlobalRules
from spark_jobs.write.direct.keyed import KeyedSource, rows_by_path
from spark_jobs.write.direct.live_keys import live_keys_alone
from spark_jobs.write.direct.part import KIND, NUMBER, PATH, Kind, PartRules, PlacedPart, key_hashes, place_part
from spark_jobs.write.direct.source import RowRange
from spark_jobs.write.workload import OpenWrite

ROWS_PER_PART = 250_000
BYTES_PER_PART = 64 << 20
"""Of base and log files whose keys one task gets."""
MOST_FILTERED = 16_000_000
"""Rows of which the driver collects a bit each: more would be as many as most tables have."""
_BITS_PER_ROW = 8

Bounds = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFilter:
    """Tells of most keys that no incoming row has them; ``bits`` by the first bits of hashes. Pickles."""

    bits: npt.NDArray[np.uint8]
    shift: int

    @staticmethod
    def shift_for(rows: int) -> int:
        """How many bits of a hash are left out, for about :data:`_BITS_PER_ROW` bits a row."""
        return 64 - max(10, (rows * _BITS_PER_ROW - 1).bit_length())

    @staticmethod
    def of(shift: int, places: Sequence[npt.NDArray[np.uint32]]) -> KeyFilter:
        """
        :param places: hashes of incoming keys without their last ``shift`` bits.
        """
        bits = np.zeros(1 << (64 - shift - 3), np.uint8)
        for some in places:
            np.bitwise_or.at(bits, some >> np.uint32(3), np.uint8(1) << (some & np.uint32(7)).astype(np.uint8))
        return KeyFilter(bits=bits, shift=shift)

    def passes(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
        places = (hashes >> np.uint64(self.shift)).astype(np.uint32)
        one = np.uint8(1) << (places & np.uint32(7)).astype(np.uint8)
        found: npt.NDArray[np.bool_] = (self.bits[places >> np.uint32(3)] & one) != 0
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedKeys:
    """What is known of the keys of all rows; pickles.

    ``ranges`` are the lowest and highest by partition path, or of all under None; without them the options don't ask
    for a look at the ranges of files.
    """

    filter: KeyFilter | None = None
    ranges: Mapping[str | None, Bounds] | None = None

    def may_be_in(self, storage: Storage, base_path: str, one: FileSlice) -> bool:
        """Whether a slice can have any, by the range of keys in the footer of a base file without logs."""
        if self.ranges is None or one.log_files or one.base_file is None:
            return True
        wanted = self.ranges.get(None, self.ranges.get(one.partition))
        stored = footer_range(storage, resolve(base_path, one.base_file.relative_path))
        return wanted is None or stored is None or not are_apart(wanted, stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingShare:
    """A share of the source."""

    share: RowRange


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKeys:
    """Keys of a slice, all that it has or had (``kind`` STORED), or those with a row."""

    number: int
    kind: Kind
    one: FileSlice
    live_alone: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sender:
    """Gives keys to the tasks that are to have them; pickles.

    ``index`` has shards: keys of one go to as few tasks as possible. Of stored keys those go that may be ``asked`` for.
    """

    source: KeyedSource
    reader: SliceReader
    rules: PartRules
    more: pa.Schema
    tasks: int
    index: RecordIndex | None
    asked: AskedKeys

    def split(self, item: IncomingShare | StoredKeys) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The blocks of an item, each with the number of its task."""
        if isinstance(item, StoredKeys):
            if not self.asked.may_be_in(self.reader.storage, self.reader.base_path, item.one):
                return
            keys_of = slice_keys if item.live_alone or item.kind is Kind.LIVING else base_and_slice_keys
            partition = item.one.partition
            code = self.rules.paths.index(partition) if partition in self.rules.paths else -1
            for some in keys_of(self.reader, item.one):
                keys = some.cast(pa.string())
                hashes = key_hashes(keys)
                if self.asked.filter is not None:
                    passes = self.asked.filter.passes(hashes)
                    keys, hashes = keys.filter(pa.array(passes)), hashes[passes]
                codes = pa.repeat(pa.scalar(code, pa.int32()), len(keys))
                numbers = pa.repeat(pa.scalar(item.number, pa.int64()), len(keys))
                yield from self._sent(item.kind, keys, hashes, codes, numbers, [])
            return
        paths, first = pa.array(self.rules.paths, pa.string()), item.share.start
        for batch in self.source.keyed_batches(item.share, self.more.names):
            codes = pc.index_in(batch.column(PARTITION_PATH), value_set=paths)
            numbers = pa.array(np.arange(first, first + batch.num_rows))
            more = [batch.column(name) for name in self.more.names]
            keys = batch.column(RECORD_KEY)
            yield from self._sent(Kind.INCOMING, keys, key_hashes(keys), codes, numbers, more)
            first += batch.num_rows

    def _sent(
        self,
        kind: Kind,
        keys: pa.Array,
        hashes: npt.NDArray[np.uint64],
        codes: pa.Array,
        numbers: pa.Array,
        more: Sequence[pa.Array],
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        count = len(keys)
        beside = more or [pa.nulls(count, field.type) for field in self.more]
        kinds = pa.repeat(pa.scalar(int(kind), pa.int8()), count)
        names = [KIND, RECORD_KEY, PATH, NUMBER, *self.more.names]
        block = pa.RecordBatch.from_arrays([kinds, keys, codes, numbers, *beside], names=names)
        task = self._tasks_of(keys, hashes)
        order = np.argsort(task, kind="stable")
        sorted_block = block.take(pa.array(order))
        present, begins = np.unique(task[order], return_index=True)
        for number, (begin, end) in zip(present.tolist(), pairwise([*begins.tolist(), count]), strict=True):
            yield number, sorted_block.slice(begin, end - begin)

    def _tasks_of(self, keys: pa.Array, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        if self.index is None:
            return (hashes % np.uint64(self.tasks)).astype(np.int64)
        count = len(self.index.shards)
        each = max(1, self.tasks // count)
        of_shard = (hashes % np.uint64(each)).astype(np.int64)
        return (np.asarray(self.index.shard_numbers(keys)).astype(np.int64) * each + of_shard) % self.tasks


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Of a share of the source: rows by partition path, hashes without their last bits, ranges of keys."""

    rows: Mapping[str, int]
    hashes: npt.NDArray[np.uint32] | None = None
    ranges: Mapping[str, Bounds] | None = None


def count_rows(
    write: OpenWrite, source: KeyedSource, shares: Sequence[RowRange], kind: IndexType, *, searches: bool
) -> tuple[dict[str, int], AskedKeys]:
    """Rows by partition path; where stored keys are searched for theirs, also what tells most of these apart."""
    rows, config = source.source.rows, write.config
    shift = KeyFilter.shift_for(rows) if searches and rows <= MOST_FILTERED else None
    by_bloom = kind.by_bloom and config.populate_meta_fields
    ranged = searches and by_bloom and PRUNE_BY_RANGES.of(config.properties)

    def work(share: RowRange, scope: TaskScope) -> Counted:
        if shift is None and not ranged:
            return Counted(rows=rows_by_path(source.partition_paths(share)))
        keys = source.keys(share)
        counted = Counted(rows=rows_by_path(keys.column(PARTITION_PATH)), ranges=_ranges_of(keys) if ranged else None)
        if shift is None:
            return counted
        hashes = [(key_hashes(chunk) >> np.uint64(shift)).astype(np.uint32) for chunk in keys.column(RECORD_KEY).chunks]
        return replace(counted, hashes=np.unique(np.concatenate(hashes)))

    found: Counter[str] = Counter()
    ranges: dict[str | None, Bounds] = {}
    hashes = []
    for counted in write.engine.run_each(shares, work):
        found.update(counted.rows)
        hashes += [] if counted.hashes is None else [counted.hashes]
        for path, (low, high) in (counted.ranges or {}).items():
            place = None if kind.is_global else path
            known = ranges.get(place, (low, high))
            ranges[place] = min(known[0], low), max(known[1], high)
    asked = AskedKeys(filter=None if shift is None else KeyFilter.of(shift, hashes), ranges=ranges if ranged else None)
    return dict(found), asked


def _ranges_of(keys: pa.Table) -> dict[str, Bounds]:
    texts = keys.set_column(1, PARTITION_PATH, keys.column(PARTITION_PATH).cast(pa.string()))
    found = texts.group_by(PARTITION_PATH).aggregate([(RECORD_KEY, "min"), (RECORD_KEY, "max")])
    columns = (found.column(name).to_pylist() for name in (PARTITION_PATH, f"{RECORD_KEY}_min", f"{RECORD_KEY}_max"))
    return {path: (low, high) for path, low, high in zip(*columns, strict=True)}


def stored_keys(
    write: OpenWrite, slices: Mapping[int, FileSlice], across: GlobalRules | None
) -> tuple[list[StoredKeys], frozenset[int], dict[int, StoredKeys]]:
    """What of the table is sent, which file groups may have keys without a row, and of which those with one are sent
    at once.
    """
    live_alone = live_keys_alone(write.config, write.table)
    logged = {number: one for number, one in slices.items() if one.log_files}
    read = logged if live_alone else slices_with_logged_inserts(slices, write.table.timeline, write.table.clock)
    stored = [
        StoredKeys(
            number=number,
            kind=Kind.STORED,
            one=one if number in read else replace(one, log_files=()),
            live_alone=live_alone,
        )
        for number, one in slices.items()
        if one.base_file is not None or number in read
    ]
    if live_alone:
        return stored, frozenset(), {}
    at_once = logged if across is not None else {}
    return stored, frozenset(logged), {number: living_keys(number, one) for number, one in at_once.items()}


def living_keys(number: int, one: FileSlice) -> StoredKeys:
    return StoredKeys(number=number, kind=Kind.LIVING, one=one, live_alone=True)


def place_parts(
    write: OpenWrite,
    source: KeyedSource,
    shares: Sequence[RowRange],
    stored: Sequence[StoredKeys],
    rules: PartRules,
    asked: AskedKeys,
) -> list[PlacedPart]:
    """What the tasks say in which the rows meet the stored keys that are equal to theirs."""
    rows = min(ROWS_PER_PART, DRIVER_ROWS.of(write.config.properties))
    tasks = max(1, source.source.rows // rows, sum(one.one.size for one in stored) // BYTES_PER_PART)
    across, schema = rules.across, source.source.schema
    more = []
    if across is not None:
        more += [across.ordering] if across.ordering and across.combines else []
        more += [IS_DELETED] if across.has_deletes and across.moves and IS_DELETED not in more else []
    sender = _Sender(
        source=source,
        reader=slice_reader(write.table, write.context, write.config.properties),
        rules=rules,
        more=pa.schema([schema.field(name) for name in more]),
        tasks=tasks,
        index=rules.index,
        asked=asked,
    )

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> PlacedPart:
        return place_part(blocks, rules)

    items: list[IncomingShare | StoredKeys] = [*(IncomingShare(share=share) for share in shares), *stored]
    split: Callable[[IncomingShare | StoredKeys], Iterator[tuple[int, pa.RecordBatch]]] = sender.split
    return write.engine.exchange(items, split, tasks, work)
