"""The record keys of a slice, its logs merged: what the record index of the metadata table asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.lake import Lake
from spark_jobs.core.read.scan import Query, Scan
from spark_jobs.core.read.table_schema import committed_evolution, committed_schema, schema_of_file
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.core.view.visibility import Visibility


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceKeys:
    """Implements ``MergedKeys`` of the metadata table, by a table's schema and payload."""

    lake: Lake
    storage: Storage
    base_path: str
    config: TableConfig

    def __call__(self, timeline: ActiveTimeline, file_slice: FileSlice, also: str | None) -> Iterator[pa.Array[Any]]:
        seen = Visibility.of(timeline)
        if also is not None:
            seen = replace(seen, completed=seen.completed | {also})
        scan = Scan(
            lake=self.lake,
            storage=self.storage,
            base_path=self.base_path,
            config=self.config,
            avro_schema=self._avro_schema(timeline, file_slice),
            view=FileSystemView((), seen, {}),
            query=Query.SNAPSHOT,
            columns=(RECORD_KEY,),
            condition=None,
            begin=None,
            end=None,
            evolution=committed_evolution(self.storage, self.base_path, timeline, self.lake.clock),
        )
        for batch in scan.reader().read(file_slice, [RECORD_KEY]):
            yield batch.column(0)

    def _avro_schema(self, timeline: ActiveTimeline, file_slice: FileSlice) -> dict[str, Any]:
        found = committed_schema(timeline, self.config, self.lake.clock)
        if found is None and file_slice.base_file is not None:
            found = schema_of_file(self.storage, self.base_path, file_slice.base_file, self.config.name)
        if found is None:
            raise CorruptTableError(f"nothing tells the schema of {file_slice.paths[0]}", path=file_slice.paths[0])
        return found
