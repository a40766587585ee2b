"""The bucket of a record key, and the names of bucket file groups (Hudi: BucketIdentifier, KeyGenUtils)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.keygen.spec import EMPTY_PLACEHOLDER, NULL_PLACEHOLDER

Keys: TypeAlias = "pa.Array[Any] | pa.ChunkedArray[Any]"

_MULTIPLIER = np.uint32(31)
_LARGEST_INT = np.uint32(0x7FFFFFFF)
_PREFIX = 8
_BUCKET_ID = re.compile(r"\d{8}(?=-)")


def bucket_ids(keys: Keys, fields: Sequence[str], buckets: int) -> npt.NDArray[np.int32]:
    """The bucket of each record key.

    A key with a colon is taken for one of several fields, ``a:1,b:2``, of which those in ``fields`` count, in the order
    of the key; a part without a colon counts too, as in Hudi, so that a value with a comma is cut. Any other key counts
    as a whole.

    :param buckets: the number of buckets of a partition.
    """
    texts = _strings(keys)
    hashes = np.empty(len(texts), dtype=np.uint32)
    composite = np.asarray(pc.match_substring(texts, ":"), dtype=np.bool_)
    whole = np.flatnonzero(~composite)
    hashes[whole] = _MULTIPLIER + java_hashes(texts.take(pa.array(whole)))
    places = np.flatnonzero(composite)
    if len(places):
        hashes[places] = _hashes_of_fields(texts.take(pa.array(places)), fields)
    found: npt.NDArray[np.int32] = ((hashes & _LARGEST_INT) % np.uint32(buckets)).astype(np.int32)
    return found


def java_hashes(texts: Keys) -> npt.NDArray[np.uint32]:
    """Java's ``String.hashCode`` of each text, which has to be no null; as unsigned numbers."""
    units, starts, lengths = _utf16(_strings(texts))
    order = np.argsort(-lengths, kind="stable")
    starts, sorted_lengths = starts[order], lengths[order]
    hashes = np.zeros(len(lengths), dtype=np.uint32)
    longest = int(sorted_lengths[0]) if len(lengths) else 0
    for place in range(longest):
        count = int(np.searchsorted(-sorted_lengths, -place, side="left"))  # those that are longer than place
        hashes[:count] = hashes[:count] * _MULTIPLIER + units[starts[:count] + place]
    found = np.empty_like(hashes)
    found[order] = hashes
    return found


def file_id_of(bucket: int, uuid: str) -> str:
    """The id of a new file group of a bucket: its number in the place of the first eight characters of a UUID."""
    return f"{bucket:08d}{uuid[_PREFIX:]}-0"


def bucket_of(file_id: str) -> int | None:
    """The bucket that a file id names; None for an id that can't be of a bucket."""
    match = _BUCKET_ID.match(file_id)
    return int(match[0]) if match else None


def place_of_bucket(group: tuple[str, str]) -> tuple[str, str]:
    """(Partition, number of the bucket) of a (partition, file id): one for the groups that two writers begin for the
    same bucket. A group of no bucket is a place of its own.
    """
    partition, file_id = group
    return (partition, file_id[:_PREFIX]) if bucket_of(file_id) is not None else group


def _hashes_of_fields(keys: pa.Array[Any], fields: Sequence[str]) -> npt.NDArray[np.uint32]:
    """``List.hashCode`` of the values that count, for keys with at least one colon."""
    split: Any = pc.split_pattern(keys, ",")
    parts: Any = split.values
    owners = np.asarray(pc.list_parent_indices(split))
    filled = np.asarray(pc.not_equal(parts, ""), dtype=np.bool_)
    last_filled = np.full(len(keys), -1, dtype=np.int64)
    numbers = np.arange(len(parts))
    np.maximum.at(last_filled, owners[filled], numbers[filled])
    kept = numbers <= last_filled[owners]  # Java's split drops empty parts at the end
    colon = np.asarray(pc.find_substring(parts, ":"))
    names_values: Any = pc.split_pattern(parts, ":", max_splits=1)
    names: Any = pc.list_element(names_values, 0)
    values: Any = _last_elements(names_values)
    kept &= (colon < 0) | np.asarray(pc.is_in(names, value_set=pa.array(list(fields), pa.string())), dtype=np.bool_)
    is_null = np.asarray(pc.equal(values, NULL_PLACEHOLDER), dtype=np.bool_) & (colon >= 0)
    is_empty = np.asarray(pc.equal(values, EMPTY_PLACEHOLDER), dtype=np.bool_) & (colon >= 0)
    value_hashes = java_hashes(values)
    value_hashes[is_null | is_empty] = 0
    owners, value_hashes = owners[kept], value_hashes[kept]
    hashes = np.ones(len(keys), dtype=np.uint32)
    rank = np.arange(len(owners)) - np.searchsorted(owners, owners, side="left")
    for place in range(int(rank.max()) + 1 if len(rank) else 0):
        here = rank == place
        hashes[owners[here]] = hashes[owners[here]] * _MULTIPLIER + value_hashes[here]
    return hashes


def _last_elements(lists: Any) -> Any:
    offsets = np.asarray(lists.offsets)
    return lists.values.take(pa.array(offsets[1:] - 1))


def _strings(texts: Keys) -> Any:
    array: Any = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    return array.cast(pa.large_string())


def _utf16(texts: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The UTF-16 units of all texts, and for each where it begins and how many it has."""
    if not len(texts):
        return np.zeros(0, np.uint16), np.zeros(0, np.int64), np.zeros(0, np.int64)
    buffers = texts.buffers()
    offsets = np.frombuffer(buffers[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(buffers[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if not len(raw) or int(raw.max()) < 0x80:
        return raw, offsets[:-1], np.diff(offsets)
    # each byte that begins a character counts for one unit, or for two where four bytes make it
    units_of_byte = ((raw & 0xC0) != 0x80).astype(np.int64) + (raw >= 0xF0)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(units_of_byte)])
    starts = before[offsets]
    units = np.frombuffer(raw.tobytes().decode("utf-8").encode("utf-16-le"), dtype="<u2")
    return units, starts[:-1], np.diff(starts)
