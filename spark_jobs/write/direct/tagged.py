"""Which bucket each row of a source goes to, as arrays in the driver: pure, the rows themselves stay in their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY

Numbers = npt.NDArray[np.int64]
Offsets = npt.NDArray[np.uint32]
Buckets = npt.NDArray[np.int32]
NEW = -1
"""The bucket of a row whose key the table does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKeys:
    """The rows of one partition: their numbers in the source, ascending, and for each the place of its record key in
    ``keys``, which differ.
    """

    rows: Numbers
    places: Numbers
    keys: pa.Array


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRows:
    """Row numbers with their buckets; a row whose key stands in several file groups is there once for each."""

    rows: Numbers
    buckets: Numbers
    places: Numbers


def by_partition(keys: pa.Table) -> dict[str, PartitionKeys]:
    """The keys of a source, as ``KeyedSource.keys`` gives them, by partition path."""
    if not keys.num_rows:
        return {}
    encoded = keys.column(PARTITION_PATH).combine_chunks()
    texts = keys.column(RECORD_KEY).combine_chunks()
    found = {}
    for name, rows in rows_by_name(np.asarray(encoded.indices), encoded.dictionary.to_pylist()):
        distinct = texts.take(pa.array(rows)).dictionary_encode()
        found[name] = PartitionKeys(
            rows=rows, places=np.asarray(distinct.indices).astype(np.int64), keys=distinct.dictionary
        )
    return found


def rows_by_name(codes: npt.NDArray[np.int32], names: Sequence[str]) -> Iterator[tuple[str, Numbers]]:
    """
    :param codes: of each row the place of its name.
    :returns: each name with the numbers of its rows, ascending.
    """
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
    return ((name, order[begin:end]) for name, (begin, end) in zip(names, pairwise(bounds.tolist()), strict=True))


def place(keys: PartitionKeys, found: Iterable[tuple[int, Numbers]]) -> PlacedRows:
    """
    :param found: buckets with the places of the keys that they have.
    """
    pairs = list(found)
    places = np.concatenate([np.zeros(0, np.int64), *(some for _, some in pairs)])
    buckets = np.concatenate([np.zeros(0, np.int64), *(np.full(len(some), bucket) for bucket, some in pairs)])
    buckets = buckets[np.argsort(places, kind="stable")]
    counts = np.bincount(places, minlength=len(keys.keys))
    first = np.cumsum(counts) - counts
    times = np.maximum(counts[keys.places], 1)
    rows, row_places = np.repeat(keys.rows, times), np.repeat(keys.places, times)
    nth = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    known = counts[row_places] > 0
    chosen = np.full(len(rows), NEW, np.int64)
    chosen[known] = buckets[(first[row_places] + nth)[known]]
    return PlacedRows(rows=rows, buckets=chosen, places=row_places)


def spread_inserts(placed: PlacedRows, shares: Sequence[tuple[int, int]], *, by_key: bool) -> PlacedRows:
    """The same with a bucket for every new row; rows of one key stay together.

    :param shares: (bucket, records) of the partition; the last one takes what is beyond their sum.
    :param by_key: the rows of one key are one record.
    """
    new = np.flatnonzero(placed.buckets == NEW)
    if not len(new):
        return placed
    in_order = new[np.argsort(placed.places[new], kind="stable")]
    _, first, key = np.unique(placed.places[in_order], return_index=True, return_inverse=True)
    bounds = np.cumsum([records for _, records in shares])
    before = key if by_key else first[key]
    share = np.minimum(np.searchsorted(bounds, before, side="right"), len(shares) - 1)
    buckets = placed.buckets.copy()
    buckets[in_order] = np.asarray([bucket for bucket, _ in shares])[share]
    return PlacedRows(rows=placed.rows, buckets=buckets, places=placed.places)


def count_by_bucket(placed: PlacedRows, *, by_key: bool) -> Mapping[int, int]:
    """Rows by bucket, those that are new under :data:`NEW`; with ``by_key`` those of one key in one bucket once."""
    buckets = placed.buckets
    if by_key:
        order = np.lexsort((placed.places, buckets))
        pairs = np.stack([buckets[order], placed.places[order]])
        is_first = np.ones(len(buckets), bool)
        is_first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
        buckets = pairs[0][is_first]
    buckets, counts = np.unique(buckets, return_counts=True)
    return dict(zip(buckets.tolist(), counts.tolist(), strict=True))


def rows_of_tasks(placed: Iterable[PlacedRows], tasks: int) -> list[tuple[Numbers, Numbers]]:
    """For each task its row numbers and their buckets, sorted by bucket, then by row; those without a bucket go."""
    rows, buckets = _with_buckets(placed)
    order = np.lexsort((rows, buckets))
    rows, buckets = rows[order], buckets[order]
    task = buckets % tasks
    return [(rows[task == number], buckets[task == number]) for number in range(tasks)]


def rows_of_shares(placed: Iterable[PlacedRows], bounds: Sequence[int]) -> list[tuple[Offsets, Buckets]]:
    """For each range of rows from one of ``bounds`` to the next: its rows as offsets from there, ascending, and their
    buckets; those without a bucket go.
    """
    rows, buckets = _with_buckets(placed)
    order = np.argsort(rows, kind="stable")
    rows, narrow = rows[order], buckets[order].astype(np.int32)
    cuts = np.searchsorted(rows, bounds)
    return [
        ((rows[begin:end] - start).astype(np.uint32), narrow[begin:end])
        for start, (begin, end) in zip(bounds, pairwise(cuts.tolist()), strict=False)
    ]


def _with_buckets(placed: Iterable[PlacedRows]) -> tuple[Numbers, Numbers]:
    some = list(placed)
    rows = np.concatenate([np.zeros(0, np.int64), *(one.rows for one in some)])
    buckets = np.concatenate([np.zeros(0, np.int64), *(one.buckets for one in some)])
    has_one = buckets != NEW
    return rows[has_one], buckets[has_one]
