"""Rows of a source and rows that were made of some of them, as one source in the columns of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.handles.context import WriteContext
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.source import RowRange, RowSource, even_shares
from spark_jobs.write.tasks import as_records


def record_schema(context: WriteContext) -> pa.Schema:
    """Key, partition path and the table's own columns."""
    return as_records(context.file_format.schema.empty_table(), context).schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Keyed rows of ``first``, and then those of ``made``, which has the columns of the table already; pickles."""

    first: KeyedSource
    made: RowSource
    context: WriteContext

    @property
    def schema(self) -> pa.Schema:
        return record_schema(self.context)

    @property
    def rows(self) -> int:
        return self.first.source.rows + self.made.rows

    @property
    def content_size(self) -> int:
        return self.first.source.content_size + self.made.content_size

    @property
    def sizes(self) -> tuple[int, ...]:
        return (*self.first.source.sizes, *self.made.sizes)

    def shares(self, count: int) -> list[RowRange]:
        return even_shares(self.rows, count)

    def aligned_shares(self, count: int) -> list[RowRange]:
        return even_shares(self.rows, count)

    def read(self, share: RowRange, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        names, end = self.schema.names if columns is None else list(columns), self.first.source.rows
        if share.start < end:
            for batch in self.first.read(RowRange(share.start, min(share.stop, end))):
                found = as_records(pa.Table.from_batches([batch]), self.context).select(names)
                yield from found.combine_chunks().to_batches()
        if share.stop > end:
            yield from self.made.read(RowRange(max(share.start - end, 0), share.stop - end), names)

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        end = self.first.source.rows
        of_first = as_records(self.first.take(rows[rows < end]), self.context)
        return pa.concat_tables([of_first, self.made.take(rows[rows >= end] - end)])
