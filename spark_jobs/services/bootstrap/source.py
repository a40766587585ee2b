"""The source of a bootstrap: Parquet files in folders, which become the partitions of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.files.base_file import FileRole, open_base_file
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION
from spark_jobs.core.read.bootstrap import folder_values
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.storage import Storage
from spark_jobs.services.bootstrap.moments import schema_with_moments

_GIVEN = FileRole("source file", "restore it from a copy, or take it out of the source")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """``path`` is relative to the source, ``partition`` its folder (``""``: the source itself), ``size`` in bytes."""

    path: str
    size: int
    modified_ms: int
    etag: str

    @property
    def partition(self) -> str:
        return self.path.rpartition("/")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A folder as it was listed; pickles. Hidden files, and those whose names are not Parquet's, are not in it."""

    storage: Storage
    path: str
    files: tuple[SourceFile, ...]

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(sorted({file.partition for file in self.files}))

    def whole_path(self, file: SourceFile) -> str:
        return f"{self.path}/{file.path}"

    def refuse_changed(self, file: SourceFile) -> None:
        """
        :raises StorageError: the file is not the one that was listed any more.
        """
        status = self.storage.stat(self.whole_path(file))
        if status is None or status.etag != file.etag:
            raise StorageError(
                f"source file {self.whole_path(file)} was {'removed' if status is None else 'changed'} meanwhile",
                todo="leave the source alone while it is bootstrapped, and run it again",
                path=self.whole_path(file),
            )


def list_source(storage: Storage, path: str) -> Source:
    """All Parquet files below a folder, sorted by path.

    :raises ConfigError: there is no such folder.
    """
    if not storage.has_folder(path):
        raise ConfigError(f"the source {path} is no folder", todo="give --source the folder of the Parquet files")
    found = []
    for one in storage.walk(path):
        relative = one.path[len(path) + 1 :]
        if relative.endswith(".parquet") and not any(_is_hidden(part) for part in relative.split("/")):
            found.append(SourceFile(path=relative, size=one.size, modified_ms=one.modified_ms, etag=one.etag))
    return Source(storage=storage, path=path, files=tuple(sorted(found, key=lambda file: file.path)))


def _is_hidden(name: str) -> bool:
    """As Spark has it, but for the folder of rows without a value: a partition may begin with an underline."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name and name != DEFAULT_PARTITION)


def hive_fields(partitions: Iterable[str]) -> tuple[str, ...]:
    """The columns that all folders name, ``a=1/b=2``; none where one of them does not, or another's differ."""
    named = {tuple(part.partition("=")[0] if "=" in part else "" for part in one.split("/")) for one in partitions}
    fields = named.pop() if len(named) == 1 else ()
    return fields if all(fields) else ()


def table_schema(source: Source, partition_fields: tuple[str, ...], table: str) -> pa.Schema:
    """The columns of the table: those of the first file, then the partition columns that only its folder tells, as
    text.

    :raises ConfigError: a column that Avro has no name or type for, or that is a meta column of Hudi's.
    """
    first = source.files[0]
    stored = stored_schema(source, first, table)
    in_folder = folder_values(first.partition, partition_fields)
    folder_fields = [name for name in partition_fields if name in in_folder and name not in stored.names]
    return pa.schema([*stored, *[pa.field(name, pa.string()) for name in folder_fields]])


def stored_schema(source: Source, file: SourceFile, table: str) -> pa.Schema:
    """The columns of one file in the types that a table has."""
    path = source.whole_path(file)
    schema = schema_with_moments(open_base_file(source.storage, path, role=_GIVEN)).remove_metadata()
    for name in META_FIELDS:
        if name in schema.names:
            raise ConfigError(
                f"source file {path} has the column {name}: it is a file of a Hudi table",
                todo="give a source of plain Parquet files",
                path=path,
            )
    nullable = pa.schema([field.with_nullable(True) for field in schema])
    return arrow_schema_of(avro_schema_of(nullable, table))


def refuse_other_columns(stored: pa.Schema, schema: pa.Schema, path: str) -> None:
    """
    :param stored: of a source file; a column of the table may be missing there.
    :raises ConfigError: it has a column that the table lacks, or has in another type.
    """
    known: Mapping[str, pa.Field] = {field.name: field for field in schema}
    for field in stored:
        own = known.get(field.name)
        if own is None or not own.type.equals(field.type):
            is_there = "no such column" if own is None else f"it as {own.type}"
            raise ConfigError(
                f"column {field.name} of source file {path} is {field.type}, the source's first file has {is_there}",
                todo="bring the files of the source to one schema",
                path=path,
                column=field.name,
            )
