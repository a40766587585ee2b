"""Reading the records of the metadata table: base HFile, then the valid log blocks, merged by key.

Hudi: HoodieBackedTableMetadata, HoodieMetadataLogRecordReader.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TypeVar

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.source import source_of
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_reader import PlacedBlock, survey_log_files
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.layout import group_indexes, partition_of
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FILES, FileEntries
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import resolve
from spark_jobs.core.storage.relative_path import RelativePath, refuse_paths
from spark_jobs.core.view.file_slice import FileSlice

R = TypeVar("R")
E = TypeVar("E")

_LISTING = "the list of files in the metadata table"


def read_file_records(table: MetadataTable, keys: Collection[str] | None = None) -> dict[str, FileEntries]:
    """The records of ``files`` by key: some, or all of them.

    :raises CorruptTableError: the metadata table is damaged or incomplete.
    :raises OutsideTableError: it lists what is no file or partition below the base path.
    """
    return read_listing(table, FILES, keys)


def read_listing(
    table: MetadataTable, codec: Codec[Mapping[str, E]], keys: Collection[str] | None = None
) -> dict[str, Mapping[str, E]]:
    """The records of ``files`` in the form of a codec: by key, what is known of each file or partition by its name.

    :raises CorruptTableError: the metadata table is damaged or incomplete.
    :raises OutsideTableError: it lists what is no file or partition below the base path.
    """
    records = read_records(table, MetadataPartition.FILES, codec, keys)
    for key, entries in records.items():
        if key == ALL_PARTITIONS:
            for name in entries:
                RelativePath(partition_of(name), _LISTING)
        else:
            RelativePath(partition_of(key), _LISTING)
            if "/" in "".join(entries):
                refuse_paths(entries, _LISTING)
    return records


def read_records(
    table: MetadataTable, partition: MetadataPartition, codec: Codec[R], keys: Collection[str] | None = None
) -> dict[str, R]:
    """The merged records of a partition by key.

    :param keys: the wanted ones, looked up in their file groups alone; None for all.
    """
    slices = table.slices(partition)
    if keys is None:
        return {key: record for one in slices for key, record in read_slice(table, one, codec).items()}
    ordered = sorted(set(keys))
    groups = group_indexes(ordered, len(slices))
    found: dict[str, R] = {}
    for number, one in enumerate(slices):
        wanted = [key for key, group in zip(ordered, groups, strict=True) if group == number]
        if wanted:
            found.update(_read(table, one, codec, _at_keys(wanted)))
    return found


def read_prefixes(
    table: MetadataTable, partition: MetadataPartition, codec: Codec[R], prefixes: Collection[str]
) -> dict[str, R]:
    """The merged records whose keys begin with one of the prefixes, from all file groups."""
    lookup = _at_prefixes(prefixes)
    return {key: one for part in table.slices(partition) for key, one in _read(table, part, codec, lookup).items()}


def read_slice(table: MetadataTable, one: FileSlice, codec: Codec[R]) -> dict[str, R]:
    """All merged records of one file slice."""
    return _read(table, one, codec, HFileReader.arrays)


Lookup = Callable[[HFileReader], Iterator[Cells]]


def _read(table: MetadataTable, one: FileSlice, codec: Codec[R], lookup: Lookup) -> dict[str, R]:
    found: dict[str, R] = {}
    if one.base_file is not None:
        path = resolve(table.folder, one.base_file.relative_path)
        with table.open_file(path) as file:
            reader = HFileReader(file, path)
            schema = schema_of(reader, path)
            found = {key: codec.decode(value, schema, path) for key, value in _cells(reader, lookup)}
    with ExitStack() as open_files:
        opened: dict[str, pa.NativeFile] = {}
        for placed in valid_blocks(table, one):
            where, block = placed.name, placed.block
            if where not in opened:
                opened[where] = open_files.enter_context(placed.opener())
            content = source_of(opened[where], where).section(block.content_start, block.content_length)
            if block.type is BlockType.DELETE_BLOCK:
                for part in decode_delete_records(bytes(content.read(0, content.size))):
                    for key in part.keys.to_pylist():
                        found.pop(key, None)
                continue
            for key, value in _cells(HFileReader(content, where), lookup):
                record = codec.decode(value, block.schema_json, where)
                found[key] = codec.merge(found[key], record) if key in found else record
    return found


def valid_blocks(table: MetadataTable, one: FileSlice) -> tuple[PlacedBlock, ...]:
    """The data and delete blocks of a slice that hold, oldest first, their contents unread.

    :raises UnsupportedTableError: a kind of block that no metadata table of version 6 has.
    """
    paths = [resolve(table.folder, log.relative_path) for log in one.log_files]
    files = [(path, partial(table.open_file, path)) for path in paths]
    valid = survey_log_files(files, table.counts, max_instant=None, extents=one.extents).valid
    for placed in valid:
        if placed.block.type not in (BlockType.HFILE_DATA_BLOCK, BlockType.DELETE_BLOCK):
            raise UnsupportedTableError(f"{placed.name} has a {placed.block.type.name}, which no metadata table has")
    return valid


def schema_of(reader: HFileReader, where: str) -> str:
    schema = reader.info.get(b"schema")
    if schema is None:
        raise CorruptTableError(f"{where} carries no Avro schema", where=where)
    return schema.decode("utf-8", "replace")


def _cells(reader: HFileReader, lookup: Lookup) -> Iterator[tuple[str, bytes]]:
    """Cells in their order, those of equal keys too."""
    for cells in lookup(reader):
        for key, value in cells.pairs():
            yield key.decode("utf-8", "replace"), value


def _at_keys(keys: Collection[str]) -> Lookup:
    wanted = [key.encode("utf-8", "surrogatepass") for key in keys]
    return lambda reader: reader.lookup(wanted)


def _at_prefixes(prefixes: Collection[str]) -> Lookup:
    wanted = [prefix.encode("utf-8", "surrogatepass") for prefix in prefixes]
    return lambda reader: reader.lookup_prefixes(wanted)
