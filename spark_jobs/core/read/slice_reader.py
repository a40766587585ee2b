"""The rows of one file slice, base and logs merged, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from spark_jobs.core.files.base_file import open_base_file, read_batches
from spark_jobs.core.files.log_reader import LogSurvey, survey_log_files
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.keygen.virtual import with_keys, without_keys
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.merge.payload import Payload
from spark_jobs.core.merge.with_base import BaseMerge
from spark_jobs.core.read.bootstrap import BootstrapReader
from spark_jobs.core.read.path_values import NO_PATH_VALUES, PathValues
from spark_jobs.core.schema.conform import conform, stored_names
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, RECORD_KEY
from spark_jobs.core.storage import RelativePath, Storage, resolve
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
    virtual_keys: KeySpec | None = None
    evolution: SchemaEvolution | None = None
    bootstrap: BootstrapReader | None = None
    optimized_scan: bool = False
    path_values: PathValues = NO_PATH_VALUES

    def survey_logs(self, file_slice: FileSlice, instants: Callable[[str], bool] | None = None) -> LogSurvey:
        """The blocks of the slice's logs that count, their contents unread, and what was met on the way."""
        files = [(log.relative_path, self._opener(log.relative_path)) for log in file_slice.log_files]
        return survey_log_files(
            files,
            is_valid_instant=instants or self.visibility.is_completed,
            max_instant=self.visibility.until,
            optimized=self.optimized_scan,
            extents=file_slice.extents,
        )

    def read(self, file_slice: FileSlice, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The slice's rows as a snapshot query sees them; rows that only the logs have come last.

        :param columns: names, all without them; the columns that merging needs are read besides, and dropped.
        """
        names = self.schema.names if columns is None else list(columns)
        wanted = self.path_values.stored(names)
        if len(wanted) == len(names):
            yield from self._read(file_slice, wanted)
            return
        schema = pa.schema([self.schema.field(name) for name in names])
        for batch in self._read(file_slice, wanted or [RECORD_KEY]):  # of no column a batch does not count its rows
            yield self.path_values.add(batch, file_slice.partition, schema)

    def _read(self, file_slice: FileSlice, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in wanted])
        if not file_slice.log_files:
            yield from self._read_base(file_slice, schema)
            return
        helpers = [RECORD_KEY, COMMIT_TIME] + ([self.ordering_field] if self.ordering_field else [])
        helpers += self.payload.columns(self.schema.names)
        if self.virtual_keys is not None:
            helpers += [name.split(".")[0] for name in self.virtual_keys.record_key_fields]
        inner = pa.schema(
            [self.schema.field(name) for name in [*wanted, *dict.fromkeys(one for one in helpers if one not in wanted)]]
        )
        entries = self.survey_logs(file_slice).read(inner, self.evolution)
        changes = fold_log(entries, inner, self.ordering_field, self.virtual_keys, self.payload)
        merge = BaseMerge(changes, self.payload, self.ordering_field, event_time_deletes=False)
        for batch in self._read_base(file_slice, inner):
            merged = merge.merge(with_keys(batch, self.virtual_keys)).rows
            yield without_keys(merged.select(wanted), self.virtual_keys)
        for batch in merge.unseen():
            yield without_keys(batch.select(wanted), self.virtual_keys)

    def _read_base(self, file_slice: FileSlice, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        if file_slice.base_file is None:
            return
        origins = self.evolution.origins(file_slice.base_file.name.instant) if self.evolution else {}
        if self.bootstrap is not None and self.bootstrap.has(file_slice.base_file):
            yield from self.bootstrap.read(file_slice.base_file, schema, origins)
            return
        base = file_slice.base_file
        file = open_base_file(self.storage, resolve(self.base_path, base.relative_path), length=base.size)
        for batch in read_batches(file, stored_names(schema.names, origins), name=file_slice.base_file.relative_path):
            yield conform(batch, schema, origins)

    def _opener(self, relative_path: RelativePath) -> Callable[[], pa.NativeFile]:
        return _Opener(self.storage, resolve(self.base_path, relative_path))


class _Opener:
    """Opens a file again and again; one that came as a whole is not asked for twice."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage, self._path = storage, path
        self._whole: pa.Buffer | None = None

    def __call__(self) -> pa.NativeFile:
        if self._whole is not None:
            return pa.BufferReader(self._whole)
        file = self._storage.open_input(self._path)
        if isinstance(file, pa.BufferReader):
            self._whole = file.read_buffer()
            file.seek(0)
        return file
