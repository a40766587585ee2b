"""What becomes of all rows of some keys: the share of one task in placing a batch that no process holds; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids
from spark_jobs.core.metadata_table.layout import java_hashes
from spark_jobs.core.metadata_table.record_locations import LOCATION_SCHEMA, RecordIndex
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.write.direct.dead_places import doubtful_groups, living_places
from spark_jobs.write.direct.globally import (
    GlobalRows,
    GlobalRules,
    IncomingKeys,
    by_shard,
    one_place_each,
    recorded_places,
)
from spark_jobs.write.direct.locate import Hits
from spark_jobs.write.direct.tagged import (
    NEW,
    Buckets,
    Offsets,
    PartitionKeys,
    PlacedRows,
    count_by_bucket,
    place,
    rows_by_name,
)

KIND, PATH, NUMBER = "_pyhudi_kind", "_pyhudi_path", "_pyhudi_number"
_MIXING = np.uint64(0x9E3779B97F4A7C15)

Codes = npt.NDArray[np.int32]


class Kind(IntEnum):
    """Of a block's rows: incoming ones, numbered as in their source; or stored keys, numbered by bucket, of which
    ``LIVING`` are those that have a row where others may have none.
    """

    INCOMING = 0
    STORED = 1
    LIVING = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRules:
    """One write's way to the places of its rows; pickles.

    ``paths`` are partition paths by the codes that stand in blocks, ``starts`` the first row of each share of the
    source. ``groups`` has partition and file id by bucket number; those of ``logged`` may have keys without a row,
    those of ``living`` send the keys that have one, too. With ``by_key`` rows of one key are one record. ``across`` is
    for keys that are one record in the whole table, ``index`` knows where these are.
    """

    paths: tuple[str, ...]
    starts: tuple[int, ...]
    groups: Mapping[int, tuple[str, str]]
    by_key: bool
    drops_known: bool
    logged: frozenset[int] = frozenset()
    living: frozenset[int] = frozenset()
    buckets: BucketSettings | None = None
    across: GlobalRules | None = None
    index: RecordIndex | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SharePlaces:
    """Rows of one share of a source as offsets in it, ascending, with their buckets.

    A row that is in none has -1 less its hash, or less its bucket by a bucket index; ``codes`` are the partition paths
    of these rows.
    """

    offsets: Offsets
    buckets: Buckets
    codes: Codes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPart:
    """The rows by share; records by bucket, and by the code of their partition path, by a bucket index also by bucket.

    ``rows`` counts the latter as they come. ``doubtful`` are groups that have to send their living keys before anything
    can be said; ``moving`` has rows by share with the buckets of their keys, of which a payload decides what becomes of
    those that leave their partition.
    """

    shares: Mapping[int, SharePlaces] = field(default_factory=dict)
    updates: Mapping[int, int] = field(default_factory=dict)
    inserts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    rows: Mapping[tuple[int, int], int] = field(default_factory=dict)
    dropped: int = 0
    doubtful: frozenset[int] = frozenset()
    moving: Mapping[int, SharePlaces] = field(default_factory=dict)


def key_hashes(keys: pa.Array) -> npt.NDArray[np.uint64]:
    """64 bits for each key, all of them mixed."""
    mixed = (java_hashes(keys.cast(pa.large_binary())).astype(np.uint64) + np.uint64(1)) * _MIXING
    mixed ^= mixed >> np.uint64(29)
    return mixed * _MIXING


def place_part(blocks: Sequence[pa.RecordBatch], rules: PartRules) -> PlacedPart:
    """
    :param blocks: all rows of some keys, in the order of the source, and all stored keys that are equal to them.
    """
    table = pa.Table.from_batches(blocks)
    kinds = table.column(KIND)
    rows = table.filter(pc.equal(kinds, int(Kind.INCOMING)))
    stored = table.filter(pc.equal(kinds, int(Kind.STORED)))
    living = table.filter(pc.equal(kinds, int(Kind.LIVING)))
    if rules.across is not None:
        return _placed_across(rows, stored, living, rules, rules.across)
    return _placed_by_partition(rows, stored, living, rules)


def _placed_by_partition(rows: pa.Table, stored: pa.Table, living: pa.Table, rules: PartRules) -> PlacedPart:
    found: dict[int, PlacedRows] = {}
    marks: dict[int, Buckets] = {}
    doubtful: set[int] = set()
    dropped = 0
    texts, numbers = rows.column(RECORD_KEY).combine_chunks(), _numbers(rows, NUMBER)
    for code, some in _by_code(rows):
        encoded = texts.take(pa.array(some)).dictionary_encode()
        own = PartitionKeys(rows=some, places=np.asarray(encoded.indices).astype(np.int64), keys=encoded.dictionary)
        hits = _hits(_of_code(stored, code), own.keys)
        unsure = set(doubtful_groups(hits, rules.logged))
        if unsure - rules.living:
            doubtful |= unsure
            continue
        if unsure:
            hits = living_places(hits, unsure, dict(_hits(_of_code(living, code), own.keys)))
        placed = place(own, hits)
        if rules.drops_known:
            is_new = placed.buckets == NEW
            dropped += int((~is_new).sum())
            placed = PlacedRows(rows=placed.rows[is_new], buckets=placed.buckets[is_new], places=placed.places[is_new])
        found[code], marks[code] = placed, marks_of(own.keys, rules.buckets)
    if doubtful:
        return PlacedPart(doubtful=frozenset(doubtful))
    return replace(_counted(found, marks, numbers, rules), dropped=dropped)


def _placed_across(
    rows: pa.Table, stored: pa.Table, living: pa.Table, rules: PartRules, across: GlobalRules
) -> PlacedPart:
    texts = rows.column(RECORD_KEY).combine_chunks().dictionary_encode()
    incoming = IncomingKeys(
        keys=texts.dictionary,
        paths=rules.paths,
        places=np.asarray(texts.indices).astype(np.int64),
        codes=_numbers(rows, PATH),
    )
    homes = {number: partition for number, (partition, _) in rules.groups.items()}
    if rules.index is not None:
        shards = rules.index.shards
        said = [shards[number].locations(keys) for number, keys in by_shard(rules.index, incoming.keys)]
        recorded = pa.concat_tables([LOCATION_SCHEMA.empty_table(), *said])
        at = recorded_places(recorded, incoming.keys, rules.groups)
    else:
        hits, alive = dict(_hits(stored, incoming.keys)), dict(_hits(living, incoming.keys))
        of_living = {number: alive.get(number) for number in rules.living}
        at = one_place_each(len(incoming.keys), hits, of_living, homes, moves=across.moves)
    here = GlobalRows(rules=across, incoming=incoming, column=rows.column)
    dropped = int((at[incoming.places] != NEW).sum()) if rules.drops_known else 0
    kept = here.kept(at)
    leaves = here.leaving(homes, at, kept)
    placed = here.placed(homes, at, kept & ~leaves)
    code_of = {path: code for code, path in enumerate(rules.paths)}
    by_code = {code_of[path]: some for path, some in placed.items()}
    numbers, marks = _numbers(rows, NUMBER), marks_of(incoming.keys, rules.buckets)
    counted = _counted(by_code, dict.fromkeys(by_code, marks), numbers, rules)
    order = np.flatnonzero(leaves)[np.argsort(numbers[leaves], kind="stable")]
    buckets = at[incoming.places[order]].astype(np.int32)
    moving = _cut(numbers[order], buckets, incoming.codes[order].astype(np.int32), rules.starts)
    return replace(counted, dropped=dropped, moving=moving)


def _counted(
    placed: Mapping[int, PlacedRows], marks: Mapping[int, Buckets], numbers: npt.NDArray[np.int64], rules: PartRules
) -> PlacedPart:
    """Rows with their buckets, or marks of those that have none.

    :param placed: by the code of the partition path where they are written; rows as places in ``numbers``.
    :param marks: by code a mark for each place of a key.
    """
    updates: dict[int, int] = {}
    inserts: dict[tuple[int, int], int] = {}
    counts: dict[tuple[int, int], int] = {}
    all_rows, all_buckets, all_codes = [], [], []
    for code, some in placed.items():
        own = marks[code]
        if rules.buckets is not None:
            cells = replace(some, buckets=-1 - own[some.places].astype(np.int64))
            inserts |= {(code, -1 - mark): n for mark, n in count_by_bucket(cells, by_key=rules.by_key).items()}
            counts |= {(code, -1 - mark): n for mark, n in count_by_bucket(cells, by_key=False).items()}
        else:
            for bucket, count in count_by_bucket(some, by_key=rules.by_key).items():
                if bucket == NEW:
                    inserts[code, 0] = count
                else:
                    updates[bucket] = count
        all_rows.append(numbers[some.rows])
        all_buckets.append(np.where(some.buckets == NEW, -1 - own[some.places], some.buckets).astype(np.int32))
        all_codes.append(np.full(len(some.rows), code, np.int32))
    if not all_rows:
        return PlacedPart()
    rows, buckets, codes = np.concatenate(all_rows), np.concatenate(all_buckets), np.concatenate(all_codes)
    order = np.argsort(rows, kind="stable")
    shares = _cut(rows[order], buckets[order], codes[order], rules.starts)
    return PlacedPart(shares=shares, updates=updates, inserts=inserts, rows=counts)


def marks_of(keys: pa.Array, buckets: BucketSettings | None) -> Buckets:
    """Of each key its bucket by a bucket index, else 31 bits of its hash, other ones than choose its task."""
    if buckets is not None:
        return bucket_ids(keys, buckets.fields, buckets.buckets).astype(np.int32)
    return (key_hashes(keys) >> np.uint64(33)).astype(np.int32)


def _cut(
    rows: npt.NDArray[np.int64], buckets: Buckets, codes: Codes, starts: Sequence[int]
) -> Mapping[int, SharePlaces]:
    bounds = [*np.searchsorted(rows, starts).tolist(), len(rows)]
    found = {}
    for share, (begin, end) in enumerate(pairwise(bounds)):
        if begin < end:
            own = buckets[begin:end]
            found[share] = SharePlaces(
                offsets=(rows[begin:end] - starts[share]).astype(np.uint32),
                buckets=own,
                codes=codes[begin:end][own < 0],
            )
    return found


def _hits(stored: pa.Table, keys: pa.Array) -> Hits:
    """By bucket the places in ``keys`` of those that it has."""
    if not stored.num_rows or not len(keys):
        return []
    at = pc.index_in(stored.column(RECORD_KEY), value_set=keys).combine_chunks()
    known = np.asarray(at.is_valid())
    places = np.asarray(at.drop_null()).astype(np.int64)
    pairs = np.unique(_numbers(stored, NUMBER)[known] * len(keys) + places)
    buckets, places = np.divmod(pairs, len(keys))
    numbers, begins = np.unique(buckets, return_index=True)
    return list(zip(numbers.tolist(), np.split(places, begins[1:]), strict=True)) if len(numbers) else []


def _by_code(rows: pa.Table) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """The codes of partition paths that rows have, with the places of the rows, ascending."""
    codes = _numbers(rows, PATH)
    present, dense = np.unique(codes, return_inverse=True)
    named = rows_by_name(dense.astype(np.int32), [str(code) for code in present.tolist()])
    return [(int(code), some) for code, some in named]


def _of_code(stored: pa.Table, code: int) -> pa.Table:
    return stored.filter(pc.equal(stored.column(PATH), code)) if stored.num_rows else stored


def _numbers(rows: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(rows.column(name).combine_chunks()).astype(np.int64)
