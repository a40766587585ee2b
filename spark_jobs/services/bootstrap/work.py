"""What is done with source files in a worker: skeletons beside rows that stay, or copies of the rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.base_file_writer import BaseFileFormat
from spark_jobs.core.files.write_format import base_file_format
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.read.bootstrap import source_rows
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.bootstrap.source import Source, SourceFile, refuse_other_columns, stored_schema

Done = tuple[SourceFile, list[WriteStat]]

_SKELETON = {"type": "record", "name": "HoodieRecordKey", "doc": "", "fields": list[object]()}


def skeleton_format(properties: Mapping[str, str]) -> BaseFileFormat:
    """Of files with the meta columns alone."""
    return base_file_format(properties, pa.schema([]), _SKELETON)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapWork:
    """What both kinds of work share; pickles. File ids of every attempt derive from the driver's UUID ``seed``."""

    context: WriteContext
    source: Source
    table: str
    schema: pa.Schema
    key_spec: KeySpec
    seed: str

    def rows(self, file: SourceFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """
        :raises ConfigError: the file has other columns than the table.
        :raises StorageError: it is not the file that was planned.
        """
        self.source.refuse_changed(file)
        path = self.source.whole_path(file)
        refuse_other_columns(stored_schema(self.source, file, self.table), self.schema, path)
        fields = self.key_spec.partition_fields
        yield from source_rows(self.source.storage, path, file.partition, fields, schema, {})
        self.source.refuse_changed(file)

    def file_id(self, *names: str) -> str:
        return str(uuid5(UUID(self.seed), "\n".join(names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSkeletons(BootstrapWork):
    """METADATA_ONLY: for each source file one with its meta columns (Hudi: ParquetBootstrapMetadataHandler)."""

    def __call__(self, piece: tuple[SourceFile, ...], scope: TaskScope) -> list[Done]:
        return [(file, self._skeleton(file, scope)) for file in piece]

    def _skeleton(self, file: SourceFile, scope: TaskScope) -> list[WriteStat]:
        partition = file.partition
        names = {name.split(".")[0] for name in (*self.key_spec.record_key_fields, *self.key_spec.partition_fields)}
        schema = pa.schema([field for field in self.schema if field.name in names])
        handle = CreateHandle(self.context, scope, partition, self.file_id(file.path), whole_id=True)
        try:
            for batch in self.rows(file, schema):
                self._refuse_other_partition(file, batch)
                handle.write(pa.table({RECORD_KEY: record_keys(batch, self.key_spec)}))
            return handle.close()
        except BaseException:
            handle.abort()
            raise

    def _refuse_other_partition(self, file: SourceFile, batch: pa.RecordBatch) -> None:
        """A later write would put an update of such a row to another partition.

        :raises ConfigError: the key generator puts a row elsewhere than it is.
        """
        for found in pc.unique(partition_paths(batch, self.key_spec)).to_pylist():
            if found != file.partition:
                raise ConfigError(
                    f"the key generator puts a row of {self.source.whole_path(file)} into partition {found!r}",
                    todo="give --partition-path-fields and hoodie.datasource.write.hive_style_partitioning as the "
                    "source has it, or bootstrap its folder with FULL_RECORD",
                    path=self.source.whole_path(file),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRows(BootstrapWork):
    """FULL_RECORD: the rows of each source file in new files of the partitions that they belong to."""

    def __call__(self, piece: tuple[SourceFile, ...], scope: TaskScope) -> list[Done]:
        return [(file, self._copy(file, scope)) for file in piece]

    def _copy(self, file: SourceFile, scope: TaskScope) -> list[WriteStat]:
        handles: dict[str, CreateHandle] = {}
        try:
            for batch in self.rows(file, self.schema):
                keyed = pa.Table.from_batches([batch]).append_column(RECORD_KEY, [record_keys(batch, self.key_spec)])
                paths = partition_paths(batch, self.key_spec)
                for partition in pc.unique(paths).to_pylist():
                    if partition not in handles:
                        prefix = self.file_id(file.path, partition)
                        handles[partition] = CreateHandle(self.context, scope, partition, prefix)
                    handles[partition].write(keyed.filter(pc.equal(paths, partition)))
            return [stat for handle in handles.values() for stat in handle.close()]
        except BaseException:
            for handle in handles.values():
                handle.abort()
            raise


def schema_text(avro: Mapping[str, object]) -> str:
    """As a commit holds it."""
    return json.dumps(avro, separators=(",", ":"))
