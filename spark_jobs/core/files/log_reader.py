"""Reading log files: their blocks, and what those of a file slice say together.

Source: ``org.apache.hudi.common.table.log.AbstractHoodieLogRecordReader``. One rule differs on purpose: Hudi stops at
the first block that is newer than the query; such blocks are skipped one by one here, because a rollback command
carries an instant younger than the valid blocks behind it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.avro_columns import decode_records, resolve_columns
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.log_block import CONTENT_VERSION, BlockType, LogBlock, parse_blocks

_CONTENT_HEAD = struct.Struct(">ii")

Opener = Callable[[], pa.NativeFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogData:
    """The rows of one data block, with the columns of the scan's target schema; ``instant`` wrote them."""

    instant: str
    table: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDeletes:
    """Deletes of one block. All ordering values are of one class of Java's, which the type of ``orderings`` tells:
    int32 Integer, int64 Long (timestamps too), null type where there is none.
    """

    instant: str
    keys: pa.Array[Any]
    partitions: pa.Array[Any]
    orderings: pa.Array[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogScan:
    """What valid blocks say, oldest first, and the counts that a compaction's write stat takes.

    ``blocks`` are all blocks seen, ``corrupt_blocks`` and ``rollback_blocks`` among them; ``records`` are rows of valid
    data blocks; ``bytes`` is the size of the files.
    """

    entries: tuple[LogData | LogDeletes, ...]
    files: int
    blocks: int
    corrupt_blocks: int
    rollback_blocks: int
    records: int
    bytes: int

    @property
    def data(self) -> list[LogData]:
        return [entry for entry in self.entries if isinstance(entry, LogData)]

    @property
    def deletes(self) -> list[LogDeletes]:
        return [entry for entry in self.entries if isinstance(entry, LogDeletes)]


def read_blocks(source: pa.NativeFile | bytes) -> Iterator[LogBlock]:
    """The blocks of a log file in their order, contents unread; :func:`parse_blocks` tells the errors."""
    file: Any = pa.BufferReader(source) if isinstance(source, bytes) else source
    yield from parse_blocks(file)


def scan_log_files(
    files: Sequence[tuple[str, Opener]],
    is_valid_instant: Callable[[str], bool],
    max_instant: str | None,
    target_schema: pa.Schema,
) -> LogScan:
    """Read the log files of one file slice.

    :param files: names (for messages) and how to open them, in log-file order, CDC files left out.
    :param is_valid_instant: whether the data of an instant counts: completed or before the timeline's start, and within
        the range of an incremental query.
    :param max_instant: the newest instant that counts, inclusive; None for no bound.
    :param target_schema: the columns to give; of a block without one, it is null.
    :raises UnsupportedTableError: a kind of block, or a type in it, that this release does not read.
    :raises CorruptTableError: a file that is no log file, or a valid block with unreadable content.
    """
    blocks = corrupt = rollbacks = size = 0
    valid: list[tuple[str, LogBlock]] = []
    with ExitStack() as open_files:
        for name, opener in files:
            file = open_files.enter_context(opener())
            size += file.size()
            for block in _named(name, read_blocks(file)):
                blocks += 1
                if block.is_corrupt:
                    corrupt += 1
                elif block.is_rollback:
                    rollbacks += 1
                    valid = [entry for entry in valid if entry[1].instant != block.target_instant]
                elif block.type is BlockType.COMMAND_BLOCK:
                    raise UnsupportedTableError(f"{name} has a command block of an unknown kind")
                elif _counts(name, block, is_valid_instant, max_instant):
                    valid.append((name, block))
        entries: list[LogData | LogDeletes] = []
        for name, block in _by_log_compaction(valid):
            entries += _read(name, block, target_schema)
    return LogScan(
        entries=tuple(entries),
        files=len(files),
        blocks=blocks,
        corrupt_blocks=corrupt,
        rollback_blocks=rollbacks,
        records=sum(entry.table.num_rows for entry in entries if isinstance(entry, LogData)),
        bytes=size,
    )


def read_data_block(block: LogBlock, target_schema: pa.Schema) -> pa.Table:
    """The rows of an Avro or Parquet data block as columns of ``target_schema``."""
    content = block.read_content()
    if block.type is BlockType.PARQUET_DATA_BLOCK:
        try:
            with pq.ParquetFile(pa.BufferReader(content)) as file:
                wanted = [name for name in file.schema_arrow.names if name in set(target_schema.names)]
                stored = file.read(columns=wanted) if wanted else None
                count = file.metadata.num_rows
        except pa.ArrowInvalid as error:
            raise CorruptTableError(f"its Parquet content is not readable ({error})") from error
        columns: dict[str, Any] = {} if stored is None else {name: stored.column(name) for name in wanted}
        return resolve_columns(columns, count, target_schema)
    if len(content) < _CONTENT_HEAD.size:
        raise CorruptTableError(f"its content has {len(content)} bytes")
    version, count = _CONTENT_HEAD.unpack_from(content)
    if not 1 <= version <= CONTENT_VERSION:
        raise UnsupportedTableError(
            f"its content version is {version}, this release reads 1 to {CONTENT_VERSION}",
            todo="compact the table with its own Hudi first",
        )
    try:
        writer_schema = json.loads(block.schema_json)
    except ValueError as error:
        raise CorruptTableError(f"its header has no Avro schema ({error})") from error
    return decode_records(memoryview(content)[_CONTENT_HEAD.size :], count, writer_schema, target_schema)


def _counts(name: str, block: LogBlock, is_valid_instant: Callable[[str], bool], max_instant: str | None) -> bool:
    if block.instant is None:
        raise CorruptTableError(f"a {block.type.name} at byte {block.start} of {name} names no instant")
    return (max_instant is None or block.instant <= max_instant) and is_valid_instant(block.instant)


def _by_log_compaction(blocks: list[tuple[str, LogBlock]]) -> list[tuple[str, LogBlock]]:
    """The same blocks with those of log compactions in the place of the newest block that they stand for."""
    if not any(block.compacted_instants for _, block in blocks):
        return blocks
    by_instant: dict[str, list[tuple[str, LogBlock]]] = {}
    for name, block in blocks:
        by_instant.setdefault(str(block.instant), []).append((name, block))
    stands_for: dict[str, str] = {}
    newest_first: list[list[tuple[str, LogBlock]]] = []
    placed: set[str] = set()
    for instant in reversed(by_instant):
        compacted = by_instant[instant][0][1].compacted_instants
        final = stands_for.get(instant, instant)
        if compacted:
            stands_for.update(dict.fromkeys(compacted, final))
        elif final not in placed:
            newest_first.append(by_instant[final])
            placed.add(final)
    return [entry for group in reversed(newest_first) for entry in group]


def _read(name: str, block: LogBlock, target_schema: pa.Schema) -> list[LogData | LogDeletes]:
    instant = str(block.instant)
    where = f"a {block.type.name} at byte {block.start} of {name}"
    try:
        if block.type in (BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK):
            return [LogData(instant=instant, table=read_data_block(block, target_schema))]
        if block.type is BlockType.DELETE_BLOCK:
            return [
                LogDeletes(instant=instant, keys=part.keys, partitions=part.partitions, orderings=part.orderings)
                for part in decode_delete_records(block.read_content())
            ]
    except (CorruptTableError, UnsupportedTableError) as error:
        raise type(error)(f"{where} is not readable: {error.what}", todo=error.todo, file=name) from error
    raise UnsupportedTableError(
        f"{where} is of a type that this release does not read", todo="compact the table with its own Hudi first"
    )


def _named(name: str, blocks: Iterator[LogBlock]) -> Iterator[LogBlock]:
    try:
        yield from blocks
    except (CorruptTableError, UnsupportedTableError) as error:
        raise type(error)(f"{name} is not readable: {error.what}", todo=error.todo, file=name) from error
