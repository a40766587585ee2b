"""A batch of more rows than one process holds keys of: rows and stored keys meet in tasks by the hashes of their keys.

What comes back are the numbers of the rows with their buckets, some eight bytes for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np

from spark_jobs.core.index.bucket_check import numbers_by_bucket, refuse_other_buckets
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import file_id_of
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import Operation
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.direct.globally import GlobalRules, index_of
from spark_jobs.write.direct.key_exchange import count_rows, living_keys, place_parts, stored_keys
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.moved_rows import SettledRows, settle_moves
from spark_jobs.write.direct.part import PartRules, PlacedPart, SharePlaces
from spark_jobs.write.direct.records import Records, record_schema
from spark_jobs.write.direct.source import ParquetSource, RowRange, RowSource
from spark_jobs.write.direct.tagged import Buckets, Offsets
from spark_jobs.write.direct.write import Homes, exchange_placed_rows
from spark_jobs.write.pack import NewGroup
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routes import CreateRoute, RoutingPlan, number_slices
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import OpenWrite, Spread, Workload

ROWS_PER_SHARE = 500_000
"""That one task reads for others at most, but for what it takes to begin with a row group."""


def tasks_for_all(engine: Engine, source: RowSource) -> int:
    """How many tasks read all rows of a source, each a share of them."""
    return max(2 * engine.slots, source.rows // ROWS_PER_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangedRows:
    """Rows of ``source`` with their buckets, by share; ``paths`` and ``numbers_of`` say what marks of rows without one
    come to. ``moves`` is as in :class:`PlacedSource`.
    """

    open_write: OpenWrite
    source: KeyedSource
    shares: Sequence[RowRange]
    places: Sequence[Sequence[SharePlaces]]
    paths: tuple[str, ...]
    slices: Mapping[int, FileSlice]
    numbers_of: Mapping[int, Buckets] | None = None
    moves: bool | None = None

    def write(self, plan: RoutingPlan, spread: Spread, rules: RecordRules) -> list[WriteStat]:
        """Write the rows by the plan, new ones spread by the hashes of their keys."""
        pieces = []
        for share, places in zip(self.shares, self.places, strict=True):
            offsets, buckets = self._settled(places, spread)
            pieces.append((share, offsets, buckets))
        engine, context = self.open_write.engine, self.open_write.context
        homes = self._homes(plan)
        return exchange_placed_rows(engine, self.source, pieces, plan.tasks, context, plan.routes, rules, homes)

    def _settled(self, places: Sequence[SharePlaces], spread: Spread) -> tuple[Offsets, Buckets]:
        """Without those that stay without a bucket: keys to delete that the table does not have."""
        all_offsets, all_buckets = [np.zeros(0, np.uint32)], [np.zeros(0, np.int32)]
        for one in places:
            buckets = one.buckets.copy()
            unplaced = np.flatnonzero(buckets < 0)
            buckets[unplaced] = self._chosen(-1 - buckets[unplaced], one.codes, spread)
            stays = buckets >= 0
            all_offsets.append(one.offsets[stays])
            all_buckets.append(buckets[stays])
        offsets, buckets = np.concatenate(all_offsets), np.concatenate(all_buckets)
        order = np.argsort(offsets, kind="stable")
        return offsets[order], buckets[order]

    def _chosen(self, marks: Buckets, codes: Buckets, spread: Spread) -> Buckets:
        chosen = np.full(len(marks), -1, np.int32)
        for code in np.unique(codes).tolist():
            own = codes == code
            if self.numbers_of is not None:
                chosen[own] = self.numbers_of[code][marks[own]]
            elif self.paths[code] in spread:
                chosen[own] = bucket_by_hash(marks[own], spread[self.paths[code]])
        return chosen

    def _homes(self, plan: RoutingPlan) -> Homes | None:
        if self.moves is None:
            return None
        found = {}
        for number, route in plan.routes.items():
            found[number] = route.partition if isinstance(route, CreateRoute) else self.slices[number].partition
        return Homes(partition_of=found, moves=self.moves)


def bucket_by_hash(hashes: Buckets, shares: Sequence[tuple[int, int]]) -> Buckets:
    """For each hash of 31 bits one of the buckets, each of about as many as it is to have.

    :param shares: (bucket, records).
    """
    bounds = np.cumsum([records for _, records in shares])
    position = (hashes.astype(np.uint64) * np.uint64(bounds[-1])) >> np.uint64(31)
    share = np.searchsorted(bounds, position.astype(np.int64), side="right")
    return np.asarray([bucket for bucket, _ in shares], np.int32)[share]


def place_exchanged(write: OpenWrite, source: KeyedSource) -> Workload:
    """The rows of a source with their places."""
    config, table = write.config, write.table
    kind, index = index_of(config, table)
    if kind is not config.index_type:
        write.progress.note(f"the table has no record index: looking keys up by {kind.value}")
    across = None
    if kind.is_global and (config.looks_up or config.combine):
        across = GlobalRules.of(config, kind, write.context.payload, source.source.schema)
    shares = source.source.aligned_shares(tasks_for_all(write.engine, source.source))
    searches = config.searches and index is None
    counts, asked = count_rows(write, source, shares, kind, searches=searches)
    view, replaced = write.target(counts, None if across is not None and config.looks_up else sorted(counts))
    slices = number_slices(table.slices_to_read(view))
    settings = numbers = None
    if kind.places_by_key:
        settings = BucketSettings.of(config.properties, config.key_spec.record_key_fields)
        numbers = numbers_by_bucket(slices, settings.buckets)
        refuse_other_buckets(slice_reader(table, write.context, config.properties), slices.values(), settings)
    stored, logged, living = stored_keys(write, slices, across) if searches else ([], frozenset(), {})
    rules = PartRules(
        paths=tuple(dict.fromkeys((*counts, *(one.partition for one in slices.values())))),
        starts=tuple(share.start for share in shares),
        groups={number: (one.partition, one.file_id) for number, one in slices.items()},
        by_key=config.combine,
        drops_known=config.drops_known,
        logged=logged,
        living=frozenset(living),
        buckets=settings,
        across=across,
        index=index,
    )
    parts = place_parts(write, source, shares, [*stored, *living.values()], rules, asked)
    doubtful = frozenset().union(*(part.doubtful for part in parts))
    if doubtful:
        more = [living_keys(number, slices[number]) for number in sorted(doubtful)]
        again = replace(rules, living=rules.living | doubtful)
        parts = place_parts(write, source, shares, [*stored, *more], again, asked)
    dropped = sum(part.dropped for part in parts)
    write.refuse_duplicates(dropped)
    content_size = source.source.content_size
    if any(part.moving for part in parts):
        moving = [[part.moving[n] for part in parts if n in part.moving] for n in range(len(shares))]
        settled = settle_moves(write, source, shares, moving, slices, rules.paths)
        parts = [*parts, _of_settled(settled, len(shares))]
        made = tuple(one.file for one in settled if one.file is not None)
        schema = record_schema(write.context)
        records = Records(first=source, made=ParquetSource(files=made, schema=schema), context=write.context)
        bounds = accumulate((file.rows for file in made), initial=source.source.rows)
        shares = [*shares, *(RowRange(*pair) for pair in pairwise(bounds))]
        source = KeyedSource(source=records, spec=None)
    begun, numbers_of = None, None
    if settings is not None and numbers is not None:
        begun, numbers_of = _buckets(write, rules, parts, numbers, settings.buckets, len(slices))
    return Workload(
        view=view,
        slices=slices,
        records=ExchangedRows(
            open_write=write,
            source=source,
            shares=shares,
            places=[[part.shares[n] for part in parts if n in part.shares] for n in range(len(shares))],
            paths=rules.paths,
            slices=slices,
            numbers_of=numbers_of,
            moves=None if across is None else across.moves,
        ),
        profile=_profile(rules, parts, numbers_of).beginning(begun or {}),
        content_size=content_size,
        begun=begun,
        replaced=replaced,
        dropped=dropped,
    )


def _of_settled(settled: Sequence[SettledRows], first: int) -> PlacedPart:
    """The rows that payloads made, each task's a share of its own.

    :param first: the number of the first of these shares.
    """
    shares: dict[int, SharePlaces] = {}
    updates: Counter[int] = Counter()
    inserts: Counter[tuple[int, int]] = Counter()
    for one in settled:
        if one.file is not None:
            shares[first + len(shares)] = one.places
        numbers, counts = np.unique(one.places.buckets[one.places.buckets >= 0], return_counts=True)
        updates.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))
        codes, counts = np.unique(one.places.codes, return_counts=True)
        inserts.update({(code, 0): count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)})
    return PlacedPart(shares=shares, updates=updates, inserts=inserts)


def _buckets(
    write: OpenWrite,
    rules: PartRules,
    parts: Sequence[PlacedPart],
    numbers: Mapping[tuple[str, int], int],
    buckets: int,
    next_number: int,
) -> tuple[dict[int, NewGroup], dict[int, Buckets]]:
    """The file groups that a bucket index begins, and by the code of a partition path the number of each bucket."""
    rows: Counter[tuple[int, int]] = Counter()
    for part in parts:
        rows.update(part.rows)
    begun: dict[int, NewGroup] = {}
    found: dict[int, Buckets] = {}
    for (code, bucket), count in sorted(rows.items()):
        number = numbers.get((rules.paths[code], bucket))
        if number is None and write.config.operation is not Operation.DELETE:  # which brings keys that are nowhere
            number, next_number = next_number, next_number + 1
            begun[number] = NewGroup(rules.paths[code], file_id_of(bucket, write.table.clock.new_uuid()), count)
        numbers_here = found.setdefault(code, np.full(buckets, -1, np.int32))
        numbers_here[bucket] = -1 if number is None else number
    return begun, found


def _profile(
    rules: PartRules, parts: Sequence[PlacedPart], numbers_of: Mapping[int, Buckets] | None
) -> WorkloadProfile:
    updates: Counter[int] = Counter()
    inserts: Counter[str] = Counter()
    partition_of = {}
    for part in parts:
        updates.update(part.updates)
        for (code, bucket), count in part.inserts.items():
            if numbers_of is None:
                inserts[rules.paths[code]] += count
            elif numbers_of[code][bucket] >= 0:
                number = int(numbers_of[code][bucket])
                updates[number] += count
                partition_of[number] = rules.paths[code]
    for number in updates:
        partition_of.setdefault(number, rules.groups[number][0] if number in rules.groups else "")
    return WorkloadProfile(dict(updates), dict(inserts), partition_of)
