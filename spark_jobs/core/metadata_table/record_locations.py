"""Where records are, by their keys: look-ups in the partition ``record_index`` of the metadata table.

Hudi: HoodieBackedTableMetadata.readRecordIndex, SparkMetadataTableRecordIndex. One :class:`RecordIndexShard` for each
file group of the partition: they pickle as values, so that each may be read by a task of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.hfile.cells import NO_CELLS, Cells
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.source import Source, source_of
from spark_jobs.core.files.log_block import BlockType, LogBlock
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.layout import group_numbers
from spark_jobs.core.metadata_table.partition_changes import split_by_group
from spark_jobs.core.metadata_table.record_cells import RECORD_LOCATIONS, RecordLocation
from spark_jobs.core.metadata_table.scan import schema_of, valid_blocks
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice

LOCATION_SCHEMA = pa.schema(
    [("key", pa.string()), ("partition", pa.string()), ("file_id", pa.string()), ("instant", pa.string())]
)
"""Of the answers: ``instant`` put the record into the file group, later updates of it are not recorded."""

_KIND = pa.large_binary()
_GONE = -1
_I32 = npt.NDArray[np.int32]
_Words = tuple["pa.Array[Any]", _I32]
_Layer = Callable[["pa.Array[Any] | None"], _Words]
"""What one block or base file says of some keys (None: of all): places in the list of locations, -1 for deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSection:
    """A data or delete block of a log file: where its content stands in ``path``, in bytes."""

    path: str
    is_delete: bool
    start: int
    length: int
    schema_json: str


class Located(NamedTuple):
    """Keys, each once and in no order, and for each the place in ``locations``."""

    keys: pa.Array[Any]
    codes: _I32
    locations: list[RecordLocation]

    def to_table(self) -> pa.Table:
        codes = pa.array(self.codes)
        columns = (
            [one.partition for one in self.locations],
            [one.file_id for one in self.locations],
            [one.instant for one in self.locations],
        )
        taken = [pa.array(column, pa.string()).take(codes) for column in columns]
        return pa.Table.from_arrays([self.keys.cast(pa.string()), *taken], schema=LOCATION_SCHEMA)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexShard:
    """One file group of the index: its base HFile, and the log blocks that hold, oldest first. Pickles as a value."""

    storage: Storage
    base_path: str | None
    logs: tuple[LogSection, ...]

    def locations(self, keys: pa.Array[Any]) -> pa.Table:
        """Where the records with these keys are, in the columns of :data:`LOCATION_SCHEMA`; others have no row.

        :param keys: keys of this shard (:meth:`RecordIndex.shard_numbers` tells), in any order.
        :raises CorruptTableError: the index is damaged.
        """
        return self.lookup(keys).to_table()

    def lookup(self, keys: pa.Array[Any]) -> Located:
        """The same as places in a list of locations."""
        wanted = keys.cast(_KIND).unique()
        return self._newest_words(wanted)

    def read_all(self) -> Located:
        """All records of the shard."""
        return self._newest_words(None)

    def _newest_words(self, wanted: pa.Array[Any] | None) -> Located:
        """What the newest layer that has a key says of it; the layers are asked from the newest to the oldest."""
        known = _Known()
        found_keys: list[pa.Array[Any]] = []
        found_codes: list[_I32] = []
        left = wanted
        with ExitStack() as open_files:
            for words in self._layers(known, open_files):
                keys, codes = words(left)
                found_keys.append(keys)
                found_codes.append(codes)
                if left is not None:
                    left = left.filter(pc.invert(pc.is_in(left, value_set=keys)))
                    if not len(left):
                        break
        if not found_keys:
            return Located(pa.array([], _KIND), np.zeros(0, np.int32), known.locations)
        keys, codes = pa.concat_arrays(found_keys), np.concatenate(found_codes)
        if wanted is None and len(found_keys) > 1:
            keys, codes = first_of_each(keys, codes)
        live = codes != _GONE
        return Located(keys if live.all() else keys.filter(pa.array(live)), codes[live], known.locations)

    def _layers(self, known: _Known, open_files: ExitStack) -> Iterator[_Layer]:
        opened: dict[str, pa.NativeFile] = {}
        for section in reversed(self.logs):
            if section.path not in opened:
                opened[section.path] = open_files.enter_context(self.storage.open_input(section.path))
            content = source_of(opened[section.path], section.path).section(section.start, section.length)
            if section.is_delete:
                yield partial(_deletes, content)
            else:
                yield partial(_puts, HFileReader(content, section.path), section.schema_json, section.path, known)
        if self.base_path is not None:
            reader = HFileReader(open_files.enter_context(self.storage.open_input(self.base_path)), self.base_path)
            yield partial(_puts, reader, schema_of(reader, self.base_path), self.base_path, known)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndex:
    """The record index of a table as of its timeline. Pickles as a value, and each of its shards does."""

    shards: tuple[RecordIndexShard, ...]

    @staticmethod
    def open(
        storage: Storage, base_path: str, config: TableConfig, timeline: ActiveTimeline, clock: Clock
    ) -> RecordIndex | None:
        """
        :param timeline: of the data table.
        :returns: None for a table whose ``hoodie.table.metadata.partitions`` does not name the index.
        :raises CorruptTableError: it is named there, but is not there or damaged.
        """
        if not config.lists(MetadataPartition.RECORD_INDEX):
            return None
        return RecordIndex.of(MetadataTable.open(storage, base_path, timeline, clock))

    @staticmethod
    def of(table: MetadataTable) -> RecordIndex:
        """
        :raises CorruptTableError: the metadata table has no such partition, or a damaged one.
        """
        return RecordIndex(shards=tuple(shard_of(table, one) for one in table.slices(MetadataPartition.RECORD_INDEX)))

    def shard_numbers(self, keys: pa.Array[Any]) -> npt.NDArray[np.int64]:
        """The place in ``shards`` of the one that has each key (no nulls)."""
        return group_numbers(keys, len(self.shards))

    def locations(self, keys: pa.Array[Any]) -> pa.Table:
        """Where the records with these keys are: see :meth:`RecordIndexShard.locations`."""
        asked = split_by_group(keys.cast(_KIND), len(self.shards))
        found = [self.shards[number].locations(keys.take(places)) for number, places in asked.items()]
        return pa.concat_tables(found) if found else LOCATION_SCHEMA.empty_table()

    def read_all(self) -> pa.Table:
        """All records, shard by shard."""
        return pa.concat_tables([shard.read_all().to_table() for shard in self.shards])


def shard_of(table: MetadataTable, one: FileSlice) -> RecordIndexShard:
    """A file slice of the index, the heads of its log blocks read."""
    base = None if one.base_file is None else resolve(table.folder, one.base_file.relative_path)
    logs = tuple(_section(placed.name, placed.block) for placed in valid_blocks(table, one))
    return RecordIndexShard(storage=table.storage, base_path=base, logs=logs)


def _section(path: str, block: LogBlock) -> LogSection:
    return LogSection(
        path=path,
        is_delete=block.type is BlockType.DELETE_BLOCK,
        start=block.content_start,
        length=block.content_length,
        schema_json=block.schema_json,
    )


@dataclass(slots=True)
class _Known:
    """The distinct values that were met, decoded once each."""

    locations: list[RecordLocation] = field(default_factory=list)
    places: dict[RecordLocation, int] = field(default_factory=dict)

    def codes(self, values: pa.Array[Any], schema_json: str, where: str) -> _I32:
        encoded = values.dictionary_encode()
        decoded = [RECORD_LOCATIONS.decode(value, schema_json, where) for value in encoded.dictionary.to_pylist()]
        places: _I32 = np.array([self._place(one) for one in decoded], np.int32)
        numbers: npt.NDArray[np.int64] = np.asarray(encoded.indices, np.int64)
        return places[numbers]

    def _place(self, one: RecordLocation) -> int:
        place = self.places.setdefault(one, len(self.locations))
        if place == len(self.locations):
            self.locations.append(one)
        return place


def _cells_of(reader: HFileReader, wanted: pa.Array[Any] | None) -> Cells:
    """All cells, or those of some keys, in the order of keys."""
    if wanted is None:
        return reader.read_all()
    parts = [NO_CELLS, *reader.lookup(wanted.to_pylist())]
    return Cells(pa.concat_arrays([one.keys for one in parts]), pa.concat_arrays([one.values for one in parts]))


def _puts(reader: HFileReader, schema_json: str, where: str, known: _Known, wanted: pa.Array[Any] | None) -> _Words:
    cells = _cells_of(reader, wanted)
    return cells.keys, known.codes(cells.values, schema_json, where)


def _deletes(content: Source, wanted: pa.Array[Any] | None) -> _Words:
    parts = [part.keys.cast(_KIND) for part in decode_delete_records(bytes(content.read(0, content.size)))]
    keys = pa.concat_arrays([*parts, pa.array([], _KIND)])
    if wanted is not None:
        keys = keys.filter(pc.is_in(keys, value_set=wanted))
    return keys, np.full(len(keys), _GONE, np.int32)


def first_of_each(keys: pa.Array[Any], codes: _I32) -> _Words:
    """Each key once, with what was said of it first."""
    encoded = keys.dictionary_encode()
    numbers = np.asarray(encoded.indices)
    first = np.empty(len(encoded.dictionary), np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return encoded.dictionary, codes[first]
