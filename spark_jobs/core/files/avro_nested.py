"""Avro records, arrays and maps to Arrow, column after column over many records at once.

A nullable record is read of those records that have it. Arrays and maps are read in rounds: the first item of every
array, then the second of those that have one, and so on; at the end their items are put in the order of the records.
A chunk in which a few arrays are much longer than the others is cheaper record by record, and says so by
:class:`UnevenArraysError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.avro_decode import I64, Bytes, FlatReader, Mask
from spark_jobs.core.files.fixed_room import FixedRoom
from spark_jobs.core.schema.avro import arrow_type_of
from spark_jobs.core.schema.avro_names import AvroType, split_nullable

_FREE_ROUNDS = 256
_FEWEST_ITEMS_PER_ROUND = 48
"""About so many items cost a round in columns and fastavro the same."""

_FLAT = ("boolean", "int", "long", "float", "double", "string", "bytes", "enum", "fixed")


def reads_by_columns(avro: AvroType) -> bool:
    """Whether a resolved type can be read and written by columns: all but decimals beyond 16 bytes or 38 digits,
    records without fields, and items of arrays that have no bytes.
    """
    kind, _ = split_nullable(avro)
    if isinstance(kind, str):
        return kind in _FLAT or kind == "null"
    name = kind["type"]
    if kind.get("logicalType") == "decimal":
        return bool(kind.get("size", 0) <= 16 and kind["precision"] <= 38)
    if name == "record":
        return bool(kind["fields"]) and all(reads_by_columns(field["type"]) for field in kind["fields"])
    if name == "array":
        return _has_bytes(kind["items"]) and reads_by_columns(kind["items"])
    if name == "map":
        return reads_by_columns(kind["values"])
    return name in _FLAT or name == "null"


def items_have_bytes(avro: AvroType) -> bool:
    """Whether all items of all arrays in a resolved type take at least one byte: only then does the length of a record
    bound the number of its items.
    """
    if isinstance(avro, list):
        return all(items_have_bytes(branch) for branch in avro)
    if isinstance(avro, str):
        return True
    if avro["type"] == "array":
        return _has_bytes(avro["items"]) and items_have_bytes(avro["items"])
    if avro["type"] == "map":
        return items_have_bytes(avro["values"])
    return all(items_have_bytes(field["type"]) for field in avro.get("fields", []))


def _has_bytes(avro: AvroType) -> bool:
    if isinstance(avro, list):
        return True
    if isinstance(avro, str) or avro["type"] not in ("record", "fixed"):
        return avro not in ("null", {"type": "null"})
    if avro["type"] == "fixed":
        return bool(avro["size"] > 0)
    return any(_has_bytes(field["type"]) for field in avro["fields"])


class UnevenArraysError(Exception):
    """A few arrays of the chunk are so long that reading them by columns is slower than one by one."""


class ChunkReader(FlatReader):
    """The records of one chunk and, for each, the place of its next field; reads every type.

    Parts of a chunk (the records that have a certain value) share its bytes, its count of rounds and its ``room``.
    """

    def __init__(self, data: Bytes, starts: I64, ends: I64, room: FixedRoom, rounds: list[int] | None = None) -> None:
        super().__init__(data, starts, ends)
        self._room = room
        self._rounds = [0, 0] if rounds is None else rounds

    def _value(self, avro: Mapping[str, Any], present: Mask, wanted: bool) -> pa.Array[Any] | None:
        name = avro["type"]
        if not self._count:
            return pa.array([], arrow_type_of(avro)) if wanted else None
        if name == "null":
            return pa.nulls(self._count) if wanted else None
        if wanted and present is not None and name in ("record", "fixed"):
            self._room.take(self._count - int(np.count_nonzero(present)), [arrow_type_of(avro)])
        if name == "record":
            return self._record(avro, present, wanted)
        if name == "array":
            counts, found = self._items([avro["items"]], present, wanted)
        elif name == "map":
            counts, found = self._items(["string", avro["values"]], present, wanted)
        else:
            return super()._value(avro, present, wanted)
        return _lists(arrow_type_of(avro), counts, found, present) if wanted else None

    def _part(self, rows: I64) -> ChunkReader:
        return ChunkReader(self._data, self._at[rows], self._ends[rows], self._room, self._rounds)

    def _record(self, avro: Mapping[str, Any], present: Mask, wanted: bool) -> pa.Array[Any] | None:
        rows = None if present is None else np.flatnonzero(present)
        part = self if rows is None else self._part(rows)
        children: list[Any] = [part.read(field["type"], wanted) for field in avro["fields"]]
        if rows is not None:
            self._at[rows] = part._at
        if not wanted:
            return None
        result: Any = pa.StructArray.from_arrays(children, fields=list(arrow_type_of(avro)))
        if present is None:
            return result
        places: Any = pa.array(np.cumsum(present) - 1, mask=~present)
        return result.take(places)

    def _items(self, types: list[AvroType], present: Mask, wanted: bool) -> tuple[I64, list[pa.Array[Any]]]:
        """How many items each record has, and the items of all records, an array for each of ``types``."""
        rows = np.arange(self._count) if present is None else np.flatnonzero(present)
        part = self._part(rows)
        left = part._block_counts()
        owners: list[I64] = []
        found: list[list[Any]] = [[] for _ in types]
        while True:
            more = left > 0
            if not more.all():
                self._at[rows] = part._at
                rows, left = rows[more], left[more]
                part = self._part(rows)
            if not len(rows):
                break
            self._count_round(len(rows))
            for kind, arrays in zip(types, found, strict=True):
                arrays.append(part.read(kind, wanted))
            owners.append(rows)
            left = left - 1
            spent = np.flatnonzero(left == 0)
            if len(spent):
                next_block = part._part(spent)
                left[spent] = next_block._block_counts()
                part._at[spent] = next_block._at
        owner = np.concatenate([np.zeros(0, np.int64), *owners])
        counts: I64 = np.bincount(owner, minlength=self._count).astype(np.int64)
        if not wanted:
            return counts, []
        order: Any = pa.array(np.argsort(owner, kind="stable"))
        kinds = [arrow_type_of(split_nullable(kind)[0]) for kind in types]
        return counts, [
            pa.concat_arrays([pa.array([], kind), *arrays]).take(order)
            for kind, arrays in zip(kinds, found, strict=True)
        ]

    def _block_counts(self) -> I64:
        """How many items stand next for each record; a negative count is followed by the size of the items."""
        counts = self._numbers(None)
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            part = self._part(sized)
            part._numbers(None)
            self._at[sized] = part._at
            counts = np.abs(counts)
        if (counts < 0).any() or (counts > self._ends - self._at).any():
            raise CorruptTableError("an Avro array has more items than its record has bytes")
        return counts

    def _count_round(self, items: int) -> None:
        self._rounds[0] += 1
        self._rounds[1] += items
        if self._rounds[0] > _FREE_ROUNDS and self._rounds[1] < self._rounds[0] * _FEWEST_ITEMS_PER_ROUND:
            raise UnevenArraysError


def _lists(kind: Any, counts: I64, found: list[Any], present: Mask) -> pa.Array[Any]:
    offsets = np.concatenate([[0], np.cumsum(counts)])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise CorruptTableError(f"the Avro arrays of a chunk have {offsets[-1]} items")
    buffers: list[Any] = [
        None if present is None else pa.py_buffer(np.packbits(present, bitorder="little")),
        pa.py_buffer(offsets.astype(np.int32)),
    ]
    if pa.types.is_map(kind):
        entries = pa.struct([kind.key_field, kind.item_field])
        items: Any = pa.StructArray.from_arrays(found, fields=list(entries))
    else:
        items = found[0]
    result: pa.Array[Any] = pa.Array.from_buffers(kind, len(counts), buffers, children=[items])
    return result
