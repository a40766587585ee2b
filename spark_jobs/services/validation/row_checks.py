"""What only the rows tell (``--deep``): every page and block is read, meta columns and key indexes are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.table import BASE_FILE_FORMAT, BaseFileFormat
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.base_file import footer_index, open_base_file, read_batches
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.files.delete_records import decode_delete_records
from spark_jobs.core.files.key_range import java_min_max, java_order
from spark_jobs.core.files.log_block import BlockType, LogBlock
from spark_jobs.core.files.log_contents import ROW_BLOCKS, read_rows
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.file_names import BaseFileName
from spark_jobs.core.format.order import follows
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, FILE_NAME, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error, warning
from spark_jobs.services.validation.log_counts import BlockCount, LogCount, compare_counts, log_counts
from spark_jobs.services.validation.scans import Scans

_FILES_AT_ONCE = 4
"""A few: each holds a batch of rows, and a log its largest block."""
_WHOLE = "restore it from a copy of the table, or roll back the write that made it"
_NO_COUNTS: Mapping[str, LogCount] = {}
_REWRITE = "rewrite its file group by clustering, and find the writer that did this"


@dataclass(frozen=True, slots=True)
class _KeyIndex:
    """What a footer says of the keys in its file."""

    key_range: tuple[str, str] | None
    bloom: BloomFilter | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file, and whether a completed write on the active timeline names it; of a log what its writes counted, by their
    instants.
    """

    path: str
    is_committed: bool
    counts: Mapping[str, LogCount]


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowLook:
    """The check of one file by what is known of its table; pickles. ``done`` and ``rolled_back`` are times of
    writes.
    """

    storage: Storage
    base_path: str
    is_parquet: bool
    has_meta_fields: bool
    format: TableFormat
    done: frozenset[str]
    rolled_back: frozenset[str]

    def __call__(self, one: _File) -> list[Finding]:
        whole = resolve(self.base_path, RelativePath(one.path))
        name = self.format.parse_base_file(one.path.rsplit("/", 1)[-1])
        try:
            if name is None:
                return list(_check_log(self, one, whole))
            if not self.is_parquet:
                return []
            return list(_check_base(self, one.path, whole, name))
        except HudiError as failure:
            if self.storage.stat(whole) is None:
                return []
            return [error(5, one.path, f"its rows are unreadable ({failure.what})", _WHOLE)]


def check_rows(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """Every base and log file of every slice that a reader may see."""
    if evidence.view is None:
        return
    table = evidence.table
    sizes = dict(sorted(pair for group in evidence.view.all_groups() for one in group.slices for pair in one.sizes))
    counts = log_counts(evidence)
    files = [
        _File(path=path, is_committed=path in evidence.written, counts=counts.get(path, _NO_COUNTS)) for path in sizes
    ]
    scan = _RowLook(
        storage=table.storage,
        base_path=table.base_path,
        is_parquet=BASE_FILE_FORMAT.of(table.config.properties) is BaseFileFormat.PARQUET,
        has_meta_fields=table.config.populate_meta_fields,
        format=table.config.format,
        done=evidence.done,
        rolled_back=evidence.rolled_back,
    )
    with scans.progress.phase("rows", len(files)) as phase:
        for found in scans.each(files, scan, list(sizes.values()), phase.advance, at_once=_FILES_AT_ONCE):
            yield from found


def _check_base(table: _RowLook, path: str, whole: str, name: BaseFileName) -> Iterator[Finding]:
    with open_base_file(table.storage, whole) as file:
        try:
            footer = footer_index(file)
            index = _KeyIndex(footer.key_range, footer.bloom)
        except HudiError:
            index = _KeyIndex(None, None)  # reported by the check of footers
        faults: dict[str, Finding] = {}  # the first of each kind is enough
        rows = 0
        for batch in read_batches(file, name=path):
            rows += batch.num_rows
            for what, finding in _faults(table, path, name, batch, index):
                faults.setdefault(what, finding)
        if rows != file.metadata.num_rows:
            what = f"it has {rows} rows, and its footer tells of {file.metadata.num_rows}"
            faults["count"] = error(5, path, what, _WHOLE)
    yield from faults.values()


def _faults(
    table: _RowLook, path: str, name: BaseFileName, batch: pa.RecordBatch, index: _KeyIndex
) -> Iterator[tuple[str, Finding]]:
    partition = path.rpartition("/")[0]
    names = batch.schema.names
    if not table.has_meta_fields or RECORD_KEY not in names or not batch.num_rows:
        return
    keys = batch.column(RECORD_KEY)
    empty = keys.null_count or pc.any(pc.equal(pc.binary_length(keys), 0)).as_py()
    if empty:
        yield "empty", error(2, path, f"a row has no {RECORD_KEY}", _REWRITE)
        return
    other = _other(batch, PARTITION_PATH, partition) if PARTITION_PATH in names else None
    if other is not None:
        yield "partition", error(2, path, f"a row has {PARTITION_PATH} {other!r}", _REWRITE)
    for other in _file_names(table.format, batch, name) if FILE_NAME in names else ():
        yield "file", error(2, path, f"a row has {FILE_NAME} {other!r}", _REWRITE)
    if COMMIT_TIME in names:
        yield from _commit_times(table, path, name.instant, batch.column(COMMIT_TIME))
    yield from _key_index(path, keys, index)


def _other(batch: pa.RecordBatch | pa.Table, column: str, wanted: str) -> str | None:
    """A value of a column that is not the wanted one; None where all are."""
    differs = pc.fill_null(pc.not_equal(batch.column(column), wanted), True)
    if not pc.any(differs).as_py():
        return None
    return str(batch.column(column).filter(differs)[0].as_py())


def _file_names(format: TableFormat, batch: pa.RecordBatch, name: BaseFileName) -> Iterator[str]:
    """File names of rows that the file can't have: Hudi before 0.10 left the rows that it copied the name of the older
    file of the same group.
    """
    for found in batch.column(FILE_NAME).unique().to_pylist():
        other = format.parse_base_file(found or "")
        if other is None or other.file_id != name.file_id or follows(other.instant, name.instant):
            yield str(found)


def _commit_times(table: _RowLook, path: str, instant: str, times: pa.Array[Any]) -> Iterator[tuple[str, Finding]]:
    for time in times.unique().to_pylist():
        if time is None or follows(time, instant):
            yield "late", error(2, path, f"a row has {COMMIT_TIME} {time}, which is not up to {instant}", _REWRITE)
        elif time in table.rolled_back and time not in table.done:
            yield "undone", error(2, path, f"a row has {COMMIT_TIME} {time}, which was rolled back", _REWRITE)
        elif time not in table.done:
            what = f"a row has {COMMIT_TIME} {time}, which is on neither timeline"
            yield "unknown", error(8, path, what, "restore the archive from a copy of the table")


def _key_index(path: str, keys: pa.Array[Any], index: _KeyIndex) -> Iterator[tuple[str, Finding]]:
    hides = "look-ups of this key miss it, and an upsert writes it a second time"
    if index.bloom is not None:
        found = index.bloom.contains(keys)
        if not found.all():
            missed = keys.filter(pa.array(~found))[0].as_py()
            yield "bloom", error(5, path, f"its bloom filter does not know its key {missed!r}: {hides}", _REWRITE)
    if index.key_range is not None:
        low, high = (java_order(key) for key in index.key_range)
        for key in java_min_max(keys):
            if not low <= java_order(key) <= high:
                what = f"its key {key!r} is out of the range of its footer: {hides}"
                yield "range", error(5, path, what, _REWRITE)


def _check_log(table: _RowLook, one: _File, whole: str) -> Iterator[Finding]:
    path, partition = one.path, one.path.rpartition("/")[0]
    counted = BlockCount()
    with table.storage.open_input(whole) as file:
        for block in read_blocks(file):
            if block.is_corrupt:
                counted.is_whole = False
                what = f"bytes {block.start} to {block.end} are no log block: readers pass over them"
                kind, todo = (error, _WHOLE) if one.is_committed else (warning, "compaction takes it away")
                yield kind(5, path, what, todo)
            else:
                yield from _check_block(table, path, partition, block, counted)
    yield from compare_counts(path, one.counts, counted)


def _check_block(table: _RowLook, path: str, partition: str, block: LogBlock, counted: BlockCount) -> Iterator[Finding]:
    try:
        if block.type is BlockType.DELETE_BLOCK:
            for part in decode_delete_records(block.read_content()):
                counted.deletes[block.instant or ""] += len(part.keys)
                if part.keys.null_count:
                    yield error(2, path, f"the delete block at byte {block.start} has a record without key", _WHOLE)
        elif block.type in ROW_BLOCKS:
            rows = read_rows(block)
            counted.add_rows(block.type, block.instant or "", rows.num_rows)
            if block.type is not BlockType.CDC_DATA_BLOCK and table.has_meta_fields:
                yield from _check_log_rows(path, partition, block, rows)
    except HudiError as failure:
        counted.is_whole = False
        yield error(5, path, f"the block at byte {block.start} is unreadable ({failure.what})", _WHOLE, Repair.LOGS)


def _check_log_rows(path: str, partition: str, block: LogBlock, rows: pa.Table) -> Iterator[Finding]:
    if RECORD_KEY in rows.schema.names and rows.column(RECORD_KEY).null_count:
        yield error(2, path, f"a row of the block at byte {block.start} has no {RECORD_KEY}", _WHOLE)
    other = _other(rows, PARTITION_PATH, partition) if PARTITION_PATH in rows.schema.names else None
    if other is not None:
        yield error(2, path, f"a row of the block at byte {block.start} has {PARTITION_PATH} {other!r}", _WHOLE)
