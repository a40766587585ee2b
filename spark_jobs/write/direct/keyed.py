"""The rows of a source with their record keys and partition paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.write.direct.source import RowRange, RowSource

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def rows_by_path(paths: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """How many rows each partition path has, of the paths of all rows."""
    return {one["values"]: one["counts"] for one in paths.value_counts().to_pylist()}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedSource:
    """A source and how keys are made of its rows; pickles.

    :param spec: None where the first two columns of the source are record key and partition path.
    """

    source: RowSource
    spec: KeySpec | None

    def read(self, share: RowRange) -> Iterator[pa.RecordBatch]:
        """The rows of a range in batches: key, partition path, then all columns."""
        return (self.with_keys(batch) for batch in self.source.read(share))

    def take(self, rows: npt.NDArray[np.int64]) -> pa.Table:
        """The same of the rows of these numbers, which ascend and differ."""
        return self.with_keys(self.source.take(rows))

    def keys(self, share: RowRange) -> pa.Table:
        """Record key and partition path, dictionary-encoded, of every row of a range in the order of the rows."""
        batches = [
            batch.set_column(1, PARTITION_PATH, batch.column(1).dictionary_encode())
            for batch in self.keyed_batches(share)
        ]
        schema = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.dictionary(pa.int32(), pa.string()))])
        return pa.Table.from_batches(batches, schema=schema).unify_dictionaries()

    def keyed_batches(self, share: RowRange, more: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Record key, partition path, and further columns of every row of a range, in batches."""
        if self.spec is None:
            yield from self.source.read(share, [RECORD_KEY, PARTITION_PATH, *more])
            return
        columns = self._columns(*self.spec.record_key_fields, *self.spec.partition_fields, *more)
        for batch in self.source.read(share, columns):
            found = [record_keys(batch, self.spec), partition_paths(batch, self.spec), *map(batch.column, more)]
            yield pa.RecordBatch.from_arrays(found, names=[RECORD_KEY, PARTITION_PATH, *more])

    def partition_paths(self, share: RowRange) -> pa.ChunkedArray:
        """Partition path of every row of a range, dictionary-encoded."""
        paths = [path.dictionary_encode() for path in self._paths(share)]
        return pa.chunked_array(paths, pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()

    def _paths(self, share: RowRange) -> Iterator[pa.Array]:
        if self.spec is None:
            return (batch.column(0) for batch in self.source.read(share, [PARTITION_PATH]))
        spec, columns = self.spec, self._columns(*(self.spec.partition_fields or self.spec.record_key_fields))
        return (partition_paths(batch, spec) for batch in self.source.read(share, columns))

    def _columns(self, *fields: str) -> list[str]:
        """Those of the source that have these fields, of which ``a.b`` may be one of a struct's."""
        known = self.source.schema.names
        return list(dict.fromkeys(name if name in known else name.split(".")[0] for name in fields))

    def with_keys(self, rows: Rows) -> Rows:
        """Rows of the source behind their keys and partition paths."""
        if self.spec is None:
            return rows
        columns = [record_keys(rows, self.spec), partition_paths(rows, self.spec), *rows.columns]
        return type(rows).from_arrays(columns, names=[RECORD_KEY, PARTITION_PATH, *rows.schema.names])
