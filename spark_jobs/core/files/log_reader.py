"""Reading log files: their blocks, and what those of a file slice say together.

Source: ``org.apache.hudi.common.table.log.AbstractHoodieLogRecordReader`` (scanInternalV1, scanInternalV2). One rule
differs on purpose: Hudi 0.15 stops at the first block that is newer than the query; such blocks are skipped one by one
here, because a rollback command carries an instant younger than the valid blocks behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnknownInstantError, UnsupportedTableError
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.log_block import BlockType, LogBlock, instant_of_torn, parse_blocks
from spark_jobs.core.files.log_contents import ROW_BLOCKS, read_rows
from spark_jobs.core.files.log_extents import LogExtents, SeenBlock, check_extents, damaged
from spark_jobs.core.format.order import is_up_to
from spark_jobs.core.schema.conform import Origins, conform
from spark_jobs.core.schema.evolution import SchemaEvolution

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
class PlacedBlock:
    """A block and the log file that it is in: its name for messages, and how to open it again."""

    name: str
    opener: Opener
    block: LogBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSurvey:
    """The valid blocks of a slice's log files in the order in which they count, their contents unread.

    The counts are what a compaction's write stat takes: ``blocks`` are all that were seen, ``corrupt_blocks`` and
    ``rollback_blocks`` among them; ``bytes`` is the size of the files.
    """

    valid: tuple[PlacedBlock, ...]
    files: int
    blocks: int
    corrupt_blocks: int
    rollback_blocks: int
    bytes: int

    def read(
        self, target_schema: pa.Schema, evolution: SchemaEvolution | None = None
    ) -> Iterator[LogData | LogDeletes]:
        """What the blocks say, oldest first, one block in memory at a time.

        :param target_schema: the columns to give; of a block without one, it is null.
        :param evolution: which columns those are in the blocks of each instant; without it they are found by name.
        :raises UnsupportedTableError: a kind of block, or a type in it, that this release does not read.
        :raises CorruptTableError: a block with unreadable content.
        """
        file: pa.NativeFile | None = None
        opened = ""
        try:
            for placed in self.valid:
                if file is None or placed.name != opened:
                    if file is not None:
                        file.close()
                    file, opened = placed.opener(), placed.name
                origins = evolution.origins(str(placed.block.instant)) if evolution else {}
                yield from _read(placed.name, replace(placed.block, file=file), target_schema, origins)
        finally:
            if file is not None:
                file.close()


def read_blocks(source: pa.NativeFile | bytes, ends: Collection[int] = ()) -> Iterator[LogBlock]:
    """The blocks of a log file in their order, contents unread; :func:`parse_blocks` tells the errors."""
    file: Any = pa.BufferReader(source) if isinstance(source, bytes) else source
    yield from parse_blocks(file, ends)


def survey_log_files(
    files: Sequence[tuple[str, Opener]],
    is_valid_instant: Callable[[str], bool],
    max_instant: str | None,
    *,
    optimized: bool = False,
    extents: LogExtents | None = None,
) -> LogSurvey:
    """Read the heads of all blocks in the log files of one slice, and tell which count.

    :param files: paths (for messages) and how to open them, in log-file order, CDC files left out; of one folder.
    :param is_valid_instant: whether the data of an instant counts: completed or before the timeline's start, and within
        the range of an incremental query.
    :param max_instant: the newest instant that counts, inclusive; None for no bound.
    :param optimized: all blocks of an instant at the place of its first (``hoodie.optimized.log.blocks.scan.enable``);
        always so where blocks of log compactions are among them, which in file order would undo what came between.
    :param extents: what completed writes put into the files, with which their blocks are compared; None compares none.
    :raises UnsupportedTableError: another log format version, an unknown kind of block.
    :raises CorruptTableError: a file that is no log file, or not as a completed write left it.
    """
    blocks = corrupt = rollbacks = 0
    sizes: dict[str, int] = {}
    seen: list[tuple[str, SeenBlock]] = []
    folder = files[0][0].rpartition("/")[0] if files else ""
    valid: dict[int, PlacedBlock] = {}
    of_instant: dict[str, list[int]] = {}
    for name, opener in files:
        plain_name = name.rpartition("/")[2]
        with opener() as file:
            sizes[plain_name] = file.size()
            ends, instant = (extents.ends(plain_name), extents.newest(plain_name)) if extents else ((), "")
            for block in _named(name, read_blocks(file, ends), instant):
                blocks += 1
                if extents is not None:
                    seen.append((plain_name, _seen(block)))
                if block.is_corrupt:
                    corrupt += 1
                elif block.is_rollback:
                    rollbacks += 1
                    for number in of_instant.pop(block.target_instant or "", ()):
                        del valid[number]
                elif block.type is BlockType.COMMAND_BLOCK:
                    raise UnsupportedTableError(f"{name} has a command block of an unknown kind")
                elif _is_within(name, block, max_instant):
                    valid[blocks] = PlacedBlock(name=name, opener=opener, block=block)
                    of_instant.setdefault(str(block.instant), []).append(blocks)
    # asked last: of a block that was taken back nothing else may be on record any more
    ordered = [placed for placed in valid.values() if _counts(placed, is_valid_instant)]
    if extents is not None:
        counted = {str(placed.block.instant) for placed in ordered}
        check_extents(extents, sizes, seen, counted.__contains__, folder)
    if optimized or any(placed.block.compacted_instants for placed in ordered):
        ordered = _by_instant(ordered)
    return LogSurvey(
        valid=tuple(ordered),
        files=len(files),
        blocks=blocks,
        corrupt_blocks=corrupt,
        rollback_blocks=rollbacks,
        bytes=sum(sizes.values()),
    )


def _seen(block: LogBlock) -> SeenBlock:
    instant = instant_of_torn(block) if block.is_corrupt else block.instant
    return SeenBlock(block.start, block.end, instant, block.is_corrupt, block.type is BlockType.COMMAND_BLOCK)


def _is_within(name: str, block: LogBlock, max_instant: str | None) -> bool:
    if block.instant is None:
        raise CorruptTableError(f"a {block.type.name} at byte {block.start} of {name} names no instant")
    return is_up_to(block.instant, max_instant)


def _counts(placed: PlacedBlock, is_valid_instant: Callable[[str], bool]) -> bool:
    instant = str(placed.block.instant)
    try:
        return is_valid_instant(instant)
    except UnknownInstantError as error:
        where = f"the block at byte {placed.block.start} of {placed.name}"
        raise UnknownInstantError.of(instant, where, file=placed.name) from error


def _by_instant(blocks: list[PlacedBlock]) -> list[PlacedBlock]:
    """The same blocks, those of an instant together at the place of its first.

    Those of log compactions come in the place of the newest instant that they stand for.
    """
    by_instant: dict[str, list[PlacedBlock]] = {}
    for placed in blocks:
        by_instant.setdefault(str(placed.block.instant), []).append(placed)
    stands_for: dict[str, str] = {}
    newest_first: list[list[PlacedBlock]] = []
    done: set[str] = set()
    for instant in reversed(by_instant):
        compacted = by_instant[instant][0].block.compacted_instants
        final = stands_for.get(instant, instant)
        if compacted:
            stands_for.update(dict.fromkeys(compacted, final))
        elif final not in done:
            newest_first.append(by_instant[final])
            done.add(final)
    return [placed for group in reversed(newest_first) for placed in group]


def _read(name: str, block: LogBlock, target_schema: pa.Schema, origins: Origins) -> list[LogData | LogDeletes]:
    instant = str(block.instant)
    where = f"a {block.type.name} at byte {block.start} of {name}"
    try:
        if block.type is BlockType.DELETE_BLOCK:
            return [
                LogDeletes(instant=instant, keys=part.keys, partitions=part.partitions, orderings=part.orderings)
                for part in decode_delete_records(block.read_content())
            ]
        if block.type in ROW_BLOCKS and block.type is not BlockType.CDC_DATA_BLOCK:
            rows = conform(read_rows(block), target_schema, origins) if origins else read_rows(block, target_schema)
            return [LogData(instant=instant, table=rows)]
    except (CorruptTableError, UnsupportedTableError) as error:
        raise type(error)(f"{where} is not readable: {error.what}", todo=error.todo, file=name) from error
    raise UnsupportedTableError(f"{where} is change data, which is no part of a slice's rows")


def _named(name: str, blocks: Iterator[LogBlock], instant: str) -> Iterator[LogBlock]:
    """:param instant: the last write of the file, where that is known."""
    try:
        yield from blocks
    except (CorruptTableError, UnsupportedTableError) as error:
        if instant and isinstance(error, CorruptTableError):
            raise damaged(name, instant, error.what) from error
        raise type(error)(f"{name} is not readable: {error.what}", todo=error.todo, file=name) from error
