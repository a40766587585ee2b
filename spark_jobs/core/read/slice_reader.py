"""The rows of one file slice, base and logs merged, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from spark_jobs.core.files.base_file import open_base_file, read_batches
from spark_jobs.core.files.log_reader import LogScan, scan_log_files
from spark_jobs.core.files.names import join
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.merge.payload import Payload
from spark_jobs.core.merge.with_base import BaseMerge
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceReader:
    """How the slices of a table are read; ``schema`` is that of base files, meta columns first. Pickles by value."""

    storage: Storage
    base_path: str
    schema: pa.Schema
    visibility: Visibility
    payload: Payload
    ordering_field: str | None

    def scan_logs(self, file_slice: FileSlice, instants: Callable[[str], bool] | None = None) -> LogScan:
        """The blocks of the slice's logs that count, and what was met on the way."""
        files = [(str(log.name), self._opener(log.relative_path)) for log in file_slice.log_files]
        return scan_log_files(
            files,
            is_valid_instant=instants or self.visibility.is_completed,
            max_instant=self.visibility.until,
            target_schema=self.schema,
        )

    def read(self, file_slice: FileSlice, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The slice's rows as a snapshot query sees them; rows that only the logs have come last.

        :param columns: names, all without them; the columns that merging needs are read besides, and dropped.
        """
        wanted = self.schema.names if columns is None else list(columns)
        schema = pa.schema([self.schema.field(name) for name in wanted])
        if not file_slice.log_files:
            yield from self._read_base(file_slice, schema)
            return
        helpers = [RECORD_KEY, COMMIT_TIME] + ([self.ordering_field] if self.ordering_field else [])
        inner = pa.schema(
            [self.schema.field(name) for name in [*wanted, *[one for one in helpers if one not in wanted]]]
        )
        changes = fold_log(self.scan_logs(file_slice), self.schema, self.ordering_field)
        if inner.names != self.schema.names:
            changes = type(changes)(changes.rows.select(inner.names), changes.deleted)
        merge = BaseMerge(changes, self.payload, self.ordering_field, event_time_deletes=False)
        for batch in self._read_base(file_slice, inner):
            yield merge.merge(batch).rows.select(wanted)
        for batch in merge.unseen().to_batches():
            if batch.num_rows:
                yield batch.select(wanted)

    def _read_base(self, file_slice: FileSlice, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if file_slice.base_file is None:
            return
        file = open_base_file(self.storage, join(self.base_path, file_slice.base_file.relative_path))
        for batch in read_batches(file, schema.names):
            yield conform(batch, schema)

    def _opener(self, relative_path: str) -> Callable[[], pa.NativeFile]:
        path = join(self.base_path, relative_path)
        return lambda: self.storage.open_input(path)
