"""Invariant 2 over all rows (``--deep``): each key in one file group of its scope, and where the record index says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.config.keys.bootstrap import BOOTSTRAP_BASE_PATH
from spark_jobs.core.errors import CorruptTableError, HudiError
from spark_jobs.core.format.folders import METADATA_FOLDER
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.keygen.virtual import virtual_keys_of, with_keys
from spark_jobs.core.metadata_table.record_locations import Located, RecordIndex
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error, warning
from spark_jobs.services.validation.metadata_checks import open_metadata_table
from spark_jobs.services.validation.row_hash import hash_text
from spark_jobs.services.validation.scans import Scans

_KEYS = np.dtype([("hash", "<u8"), ("slice", "<u4")])
"""12 bytes for each row of a scope: all that is kept of it."""
_Rows = npt.NDArray[np.void]
Scope = Sequence[FileSlice]
_EXAMPLES = 5
_MOST_BYTES = 1 << 30
"""Of slices whose hashes Spark brings back together: as rows are hardly shorter than 15 bytes, less than its limit of
``spark.driver.maxResultSize``, 1 GiB.
"""
_MOST_PAIRS = 20
"""Pairs of file groups with keys in common whose rows are compared: each is read again for it."""
_TWICE = "delete the key and write it again; insert and bulk_insert write a key twice where they are given it twice"
_REBUILD_INDEX = "drop the index with Hudi (`hudi-cli metadata delete-record-index`), the next write builds it anew"


def check_keys(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """A partition is the scope, or the whole table where a record index says so."""
    if evidence.view is None:
        return
    slices, scopes = evidence.view.latest_slices(), scopes_of(evidence)
    has_index = _has_index(evidence)
    keys = key_reader(evidence)
    ordered = [one for scope in scopes for one in scope]
    with scans.progress.phase("keys", len(slices)) as phase:
        sizes = [one.size for one in ordered]
        hashes = scans.each(ordered, keys, sizes, phase.advance, most=_MOST_BYTES)
        for scope in scopes:
            parts = []
            for number, one in enumerate(scope):
                found, fault = next(hashes)
                parts.append(_numbered(found, number))
                if fault and not evidence.lost_meanwhile([one]):
                    what = f"the rows of its slice can't be merged ({fault})"
                    yield error(1, one.paths[0], what, "restore its files from a copy of the table")
            rows: _Rows = np.concatenate(parts) if parts else np.empty(0, _KEYS)
            rows.sort(order=["hash", "slice"])
            yield from _doubled(keys, scope, rows)
            if has_index:
                yield from _index(evidence, keys, scope, rows)


def scopes_of(evidence: Evidence) -> list[Scope]:
    """The latest slices, those together in which a key may be once: of a partition, or all where a record index is."""
    slices = evidence.view.latest_slices() if evidence.view is not None else ()
    return [slices] if _has_index(evidence) else [*_by_partition(slices)]


def _index_folder(evidence: Evidence) -> str:
    return f"{METADATA_FOLDER}/{evidence.format.metadata.path(MetadataPartition.RECORD_INDEX)}"


def _has_index(evidence: Evidence) -> bool:
    return evidence.table.config.lists(MetadataPartition.RECORD_INDEX)


def doubled_in(keys: KeyReader, scope: Scope, advance: Callable[[int], Any]) -> npt.NDArray[np.uint64]:
    """Hashes that several slices of a scope have, sorted; those of one key, but for chance.

    :raises CorruptTableError: a slice whose keys can't be read.
    """
    parts = []
    for number, one in enumerate(scope):
        found, fault = keys(one)
        if fault:
            raise CorruptTableError(
                f"the keys of {one.paths[0]} can't be read ({fault})", todo="mend it first: see validate.py"
            )
        parts.append(_numbered(np.unique(found), number))
        advance(1)
    rows: _Rows = np.concatenate(parts) if parts else np.empty(0, _KEYS)
    rows.sort(order=["hash", "slice"])
    return np.unique(rows["hash"][1:][rows["hash"][1:] == rows["hash"][:-1]])


def _by_partition(slices: Sequence[FileSlice]) -> list[list[FileSlice]]:
    found: dict[str, list[FileSlice]] = {}
    for one in slices:
        found.setdefault(one.partition, []).append(one)
    return list(found.values())


def _numbered(hashes: npt.NDArray[np.uint64], number: int) -> _Rows:
    rows: _Rows = np.empty(len(hashes), _KEYS)
    rows["hash"], rows["slice"] = hashes, number
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyReader:
    """Record keys of file slices as a snapshot query sees them; pickles. ``columns`` are read for them, None: all."""

    reader: SliceReader | None
    virtual: KeySpec | None
    columns: tuple[str, ...] | None

    def batches(self, one: FileSlice) -> Iterator[pa.Array[Any]]:
        if self.reader is None:
            return
        for batch in self.reader.read(one, None if self.columns is None else list(self.columns)):
            yield with_keys(batch, self.virtual).column(RECORD_KEY)

    def __call__(self, one: FileSlice) -> tuple[npt.NDArray[np.uint64], str]:
        """A hash of each key; none, and the reason, where they can't be read."""
        try:
            parts = [hash_text(keys) for keys in self.batches(one)]
        except HudiError as failure:
            return np.empty(0, np.uint64), failure.what
        return np.concatenate(parts) if parts else np.empty(0, np.uint64), ""

    @staticmethod
    def hashes_in(hashes: npt.NDArray[np.uint64]) -> Callable[[pa.Array[Any]], pa.Array[Any]]:
        """Which keys of an array have one of the hashes."""
        return lambda keys: pa.array(np.isin(hash_text(keys), hashes))

    def keys_with(self, one: FileSlice, hashes: npt.NDArray[np.uint64]) -> list[str]:
        """The keys of a slice, among all its rows, that have one of a few hashes."""
        found: list[str] = []
        is_wanted = self.hashes_in(hashes)
        for keys in self.batches(one):
            found += keys.filter(is_wanted(keys)).to_pylist()
        return found


def key_reader(evidence: Evidence) -> KeyReader:
    has_slices = evidence.view is not None and evidence.view.latest_slices()
    virtual = virtual_keys_of(evidence.table.config)
    columns: tuple[str, ...] | None = (RECORD_KEY,)
    if BOOTSTRAP_BASE_PATH.of(evidence.table.config.properties):
        columns = None  # all, so that the files are read that its rows are in
    elif virtual is not None:
        columns = (RECORD_KEY, *dict.fromkeys(one.split(".")[0] for one in virtual.record_key_fields))
    reader = evidence.reader(evidence.view) if evidence.view is not None and has_slices else None
    return KeyReader(reader=reader, virtual=virtual, columns=columns)


def _doubled(keys: KeyReader, scope: Sequence[FileSlice], rows: _Rows) -> Iterator[Finding]:
    """Of hashes that come more than once the keys are compared, so that equal hashes alone are no finding."""
    again = np.flatnonzero(rows["hash"][1:] == rows["hash"][:-1])
    if not len(again):
        return
    pairs = rows["slice"][again].astype(np.int64) * len(scope) + rows["slice"][again + 1]
    order = np.argsort(pairs, kind="stable")
    numbers, starts, counts = np.unique(pairs[order], return_index=True, return_counts=True)
    worst = np.argsort(-counts, kind="stable")
    if len(worst) > _MOST_PAIRS:
        keys_left = int(counts[worst[_MOST_PAIRS:]].sum())
        what = f"up to {keys_left} more key(s) are in two places, in {len(worst) - _MOST_PAIRS} pairs of file groups"
        yield error(2, scope[0].partition or ".", what, _TWICE, Repair.DOUBLED_KEYS)
    for place in sorted(worst[:_MOST_PAIRS].tolist()):
        number, start, count = int(numbers[place]), int(starts[place]), int(counts[place])
        first, second = divmod(number, len(scope))
        some = rows["hash"][again[order[start : start + min(count, _EXAMPLES)]]]
        mine = keys.keys_with(scope[first], some)
        if first == second:
            twice = sorted({key for key in mine if mine.count(key) > 1})
            if twice:
                what = f"key {twice[0]!r} is in two of its rows ({count} such key(s))"
                yield warning(2, scope[first].paths[0], what, _TWICE)
            continue
        both = sorted(set(mine).intersection(keys.keys_with(scope[second], some)))
        if both:
            what = f"key {both[0]!r} is in it and in {scope[first].paths[0]} ({count} such key(s))"
            yield error(2, scope[second].paths[0], what, _TWICE, Repair.DOUBLED_KEYS)


def _index(evidence: Evidence, keys: KeyReader, scope: Sequence[FileSlice], rows: _Rows) -> Iterator[Finding]:
    """The record index, shard by shard, against the rows: both sorted by hash."""
    places = {(one.partition, one.file_id): number for number, one in enumerate(scope)}
    reported: list[_Rows] = []
    try:
        for shard in RecordIndex.of(open_metadata_table(evidence)).shards:
            reported.append(_as_rows(shard.read_all(), places, len(scope)))
    except HudiError as failure:
        yield error(
            9,
            _index_folder(evidence),
            f"it is listed and unreadable ({failure.what})",
            _REBUILD_INDEX,
            Repair.METADATA_TABLE,
        )
        return
    indexed: _Rows = np.concatenate(reported) if reported else np.empty(0, _KEYS)
    indexed.sort(order=["hash", "slice"])
    unknown = _only_in(rows, indexed)
    for number in np.unique(unknown["slice"]).tolist():
        hashes = unknown["hash"][unknown["slice"] == number]
        names = keys.keys_with(scope[number], hashes[:1])
        what = (
            f"the record index does not tell that key {names[0]!r} is in its file group ({len(hashes)} such key(s)), "
            "so that an upsert writes it a second time"
        )
        yield error(9, scope[number].paths[0], what, _REBUILD_INDEX, Repair.METADATA_TABLE)
    stale = _only_in(indexed, rows)
    if len(stale):
        gone = int((stale["slice"] == len(scope)).sum())
        what = f"it has {len(stale)} key(s) that are not where it says, {gone} of them in file groups that are gone"
        yield warning(9, _index_folder(evidence), what, _REBUILD_INDEX, Repair.METADATA_TABLE)


def _as_rows(located: Located, places: dict[tuple[str, str], int], nowhere: int) -> _Rows:
    numbers = np.array([places.get((one.partition, one.file_id), nowhere) for one in located.locations], np.uint32)
    rows: _Rows = np.empty(len(located.keys), _KEYS)
    rows["hash"] = hash_text(located.keys)
    rows["slice"] = numbers[located.codes] if len(located.codes) else 0
    return rows


def _only_in(rows: _Rows, others: _Rows) -> _Rows:
    """Pairs of hash and slice that the others lack; both are sorted."""
    if not len(rows) or not len(others):
        return rows
    at = np.searchsorted(others["hash"], rows["hash"])
    # equal hashes are rare: the first few neighbours tell
    found = np.zeros(len(rows), np.bool_)
    for step in range(_EXAMPLES):
        near = np.minimum(at + step, len(others) - 1)
        found |= (others["hash"][near] == rows["hash"]) & (others["slice"][near] == rows["slice"])
    return rows[~found]
