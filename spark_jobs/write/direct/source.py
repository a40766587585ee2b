"""Parquet files as a source that any process reads by row numbers, with pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import StorageError
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.failure import one_line

ROWS_PER_BATCH = 64 * 1024
BYTES_PER_BATCH = 32 << 20
"""Of values in memory; batches of wide rows have fewer rows."""
_PROBED_ROWS = 256
_PROBED_FILES = 8
_WIDER = 1.5
"""Rows of a row group that are so many times as wide as those probed, as they are encoded, are probed again."""


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows ``[start, stop)`` of a source."""

    start: int
    stop: int


class RowSource(Protocol):
    """Rows that any process reads by their numbers, from 0, with pyarrow; pickles."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def rows(self) -> int: ...

    @property
    def content_size(self) -> int:
        """Bytes of the values, as far as anybody knows."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each file; of the values in memory where there is none."""
        ...

    def shares(self, count: int) -> list[RowRange]:
        """The rows cut into ``count`` ranges of equal length, but for one row; fewer where there are fewer rows."""
        ...

    def aligned_shares(self, count: int) -> list[RowRange]:
        """Ranges of all rows, ``count`` or a few fewer, that begin where reading is cheap."""
        ...

    def read(self, share: RowRange, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a range in batches; of the named columns in their order, else of all."""
        ...

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """The rows of these numbers, which ascend and differ."""
        ...


def even_shares(rows: int, count: int) -> list[RowRange]:
    """``rows`` cut into ``count`` ranges of equal length, but for one row; fewer where there are fewer rows."""
    count = max(1, min(count, rows))
    return [RowRange(*bounds) for bounds in pairwise(number * rows // count for number in range(count + 1))]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """One Parquet file as it was when the write began; ``groups`` has the number of rows of each row group."""

    storage: Storage
    path: str
    size: int
    etag: str
    groups: tuple[int, ...]
    content_size: int
    """Bytes of the values as they are encoded, not compressed."""

    @property
    def rows(self) -> int:
        return sum(self.groups)

    @contextmanager
    def opened(self) -> Iterator[pq.ParquetFile]:
        """
        :raises StorageError: the file is not the one any more that the write began with, before or after it was read,
            or can't be read.
        """
        self._require_unchanged()
        with one_line(self.path, "read"), self.storage.open_input(self.path, may_change=True) as stream:
            yield pq.ParquetFile(stream, pre_buffer=False)
        self._require_unchanged()

    def _require_unchanged(self) -> None:
        status = self.storage.stat(self.path)
        if status is None or status.etag != self.etag:
            raise StorageError(
                f"source {self.path} was changed while it was read", todo="write new files instead", source=self.path
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetSource:
    """The rows of ``files`` one after the other, numbered from 0, in ``schema``: types as Spark has them."""

    files: tuple[SourceFile, ...]
    schema: pa.Schema

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def memory_size(self) -> int:
        """Bytes of the values in memory, by the first rows of the largest files: a file has a text once that stands in
        all of its rows.
        """
        probed = sorted(self.files, key=lambda file: -file.content_size)[:_PROBED_FILES]
        return max(self.content_size, int(self.rows * max(map(self._row_size, probed), default=0.0)))

    def _row_size(self, file: SourceFile) -> float:
        if not file.rows:
            return 0.0
        group = next(number for number, rows in enumerate(file.groups) if rows)
        with file.opened() as parquet:
            batches = parquet.iter_batches(
                _PROBED_ROWS, row_groups=[group], columns=self.schema.names, use_threads=False
            )
            first = conform(next(batches), self.schema)
        return float(first.nbytes / first.num_rows)

    @property
    def counts(self) -> tuple[int, int]:
        """Number and bytes of the files."""
        return len(self.files), sum(file.size for file in self.files)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of the files."""
        return tuple(file.size for file in self.files)

    @property
    def content_size(self) -> int:
        """Bytes of the values as the files encode them, not compressed."""
        return sum(file.content_size for file in self.files)

    def shares(self, count: int) -> list[RowRange]:
        """The rows cut into ``count`` ranges of equal length, but for one row; fewer where there are fewer rows."""
        return even_shares(self.rows, count)

    def aligned_shares(self, count: int) -> list[RowRange]:
        """Ranges of all rows, ``count`` or a few fewer, that begin with a row group where one is near: of a row group
        a reader decodes all that stands before its rows.
        """
        starts = np.array(list(accumulate((rows for file in self.files for rows in file.groups), initial=0)))
        bounds = {0, self.rows}
        for share in self.shares(count):
            near = int(starts[np.abs(starts - share.start).argmin()])
            bounds.add(near if 2 * abs(near - share.start) <= share.stop - share.start else share.start)
        return [RowRange(*pair) for pair in pairwise(sorted(bounds))]

    def read(self, share: RowRange, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a range in batches; of the named columns in their order, else of all."""
        for file, groups in self._groups(lambda start, stop: start < share.stop and stop > share.start):
            with file.opened() as parquet:
                for first, batch in self._batches(parquet, groups, columns):
                    if first >= share.stop:
                        break
                    left, right = max(share.start - first, 0), min(share.stop - first, batch.num_rows)
                    if left < right:
                        yield batch.slice(left, right - left)

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """The rows of these numbers, which ascend and differ. Row groups without any of them are not read."""
        found = []
        for file, groups in self._groups(lambda start, stop: bool(np.diff(np.searchsorted(rows, (start, stop)))[0])):
            with file.opened() as parquet:
                for first, batch in self._batches(parquet, groups, None):
                    left, right = np.searchsorted(rows, (first, first + batch.num_rows))
                    if left < right:
                        found.append(batch.take(pa.array(rows[left:right] - first)))
        return pa.Table.from_batches(found, schema=self.schema)

    def _groups(self, wanted: Callable[[int, int], bool]) -> Iterator[tuple[SourceFile, list[tuple[int, int]]]]:
        """Files with their row groups, as (number in the file, first row), that ``wanted`` says to look at, asked with
        the row range of each.
        """
        first = 0
        for file in self.files:
            starts = list(accumulate(file.groups, initial=first))
            chosen = [
                (number, start)
                for number, (start, stop) in enumerate(pairwise(starts))
                if start < stop and wanted(start, stop)
            ]
            if chosen:
                yield file, chosen
            first = starts[-1]

    def _batches(
        self, parquet: pq.ParquetFile, groups: Sequence[tuple[int, int]], columns: Sequence[str] | None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The batches of row groups, each with the number of its first row.

        In one thread: after an error in one column Arrow would go on with others in a file that is closed by then.
        """
        schema = self.schema if columns is None else pa.schema([self.schema.field(name) for name in columns])
        rows, probed = 0, 0.0
        for group, number in groups:
            encoded = _encoded_row_size(parquet, group)
            if not rows or encoded > _WIDER * probed:
                rows, probed = _rows_per_batch(parquet, group, schema.names), encoded
            for batch in parquet.iter_batches(rows, row_groups=[group], columns=schema.names, use_threads=False):
                yield number, conform(batch, schema)
                number += batch.num_rows


def _encoded_row_size(parquet: pq.ParquetFile, group: int) -> float:
    found = parquet.metadata.row_group(group)
    return float(found.total_byte_size / max(found.num_rows, 1))


def _rows_per_batch(parquet: pq.ParquetFile, group: int, columns: Sequence[str]) -> int:
    """By the first rows of a row group: what the footer says of bytes does not count a text as often as it stands
    there.
    """
    first = next(parquet.iter_batches(_PROBED_ROWS, row_groups=[group], columns=list(columns), use_threads=False))
    rows: int = BYTES_PER_BATCH * first.num_rows // max(first.nbytes, 1)
    return max(_PROBED_ROWS, min(ROWS_PER_BATCH, rows))
