"""Queries: which slices, which rows; read to Arrow in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from spark_jobs.core.config.features import refuse_unreadable
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.avro_schema import arrow_schema_of
from spark_jobs.core.merge.payload import payload_of
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, with_meta_fields
from spark_jobs.core.storage import Storage
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView


class Query(Enum):
    SNAPSHOT = "snapshot"
    READ_OPTIMIZED = "read_optimized"
    INCREMENTAL = "incremental"

    @staticmethod
    def parse(text: str) -> Query:
        """
        :raises ConfigError: no such query.
        """
        for query in Query:
            if query.value == text:
                return query
        raise ConfigError(f"query={text} is not valid", todo="give one of " + ", ".join(query.value for query in Query))


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One query over one view of a table."""

    storage: Storage
    base_path: str
    config: TableConfig
    avro_schema: dict[str, Any]
    view: FileSystemView
    query: Query
    columns: tuple[str, ...] | None
    condition: Any
    begin: str | None
    end: str | None

    @property
    def full_schema(self) -> pa.Schema:
        """Meta columns first, then the table's own."""
        return with_meta_fields(arrow_schema_of(self.avro_schema))

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        full = self.full_schema
        if self.columns is None:
            return full
        missing = [name for name in self.columns if name not in full.names]
        if missing:
            raise ConfigError(f"the table has no column {missing[0]}", todo="its columns are " + ", ".join(full.names))
        return pa.schema([full.field(name) for name in self.columns])

    def reader(self) -> SliceReader:
        """How executors read the slices of this scan."""
        return SliceReader(
            storage=self.storage,
            base_path=self.base_path,
            schema=self.full_schema,
            visibility=self.view.visibility,
            payload=payload_of(self.config.payload_class),
            ordering_field=self.config.precombine_field or None,
        )

    def slices(self) -> list[FileSlice]:
        """The file slices that the query reads.

        :raises UnsupportedTableError: a table with features that this release does not read.
        """
        refuse_unreadable(self.config)
        if self.query is not Query.READ_OPTIMIZED:
            return list(self.view.latest_slices())
        by_key = {(base.partition, base.name.file_id): base for base in self.view.latest_base_files()}
        return [
            FileSlice(
                partition=base.partition,
                file_id=base.name.file_id,
                base_instant=base.name.instant,
                base_file=base,
                log_files=(),
            )
            for base in by_key.values()
        ]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, slice by slice."""
        reader, names = self.reader(), self.schema.names
        condition = self._condition()
        needed = names if condition is None else self.full_schema.names
        for file_slice in self.slices():
            for batch in reader.read(file_slice, needed):
                if condition is not None:
                    rows = ds.dataset(pa.Table.from_batches([batch])).to_table(filter=condition, columns=names)
                    yield from rows.to_batches()
                else:
                    yield batch

    def to_arrow(self) -> pa.Table:
        """All rows as one table, in :attr:`schema`."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def with_columns(self, columns: tuple[str, ...]) -> Scan:
        return replace(self, columns=columns)

    def _condition(self) -> Any:
        if self.query is not Query.INCREMENTAL:
            return self.condition
        # the rows of visible slices are all of completed instants, also of those that left the timeline for the archive
        time = pc.field(COMMIT_TIME)
        in_range = time > (self.begin or "")
        if self.end is not None:
            in_range &= time <= self.end
        return in_range if self.condition is None else in_range & self.condition
