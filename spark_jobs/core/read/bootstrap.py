"""The rows of bootstrapped base files: meta columns of the skeleton beside the columns of its source file.

Source: ``HoodieBootstrapRelation``, ``BootstrapIterator``: row i of the one belongs to row i of the other. Columns that
only the source's folders tell come from their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.base_file import BASE_FILE, SOURCE_FILE, FileRole, open_base_file, read_batches
from spark_jobs.core.keygen.path_names import unescape
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.conform import Origins, conform, stored_names
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, BootstrapIndex, SourceFile
from spark_jobs.core.view.file_slice import BaseFile

_NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapReader:
    """How bootstrapped base files of one table are read. Pickles by value."""

    storage: Storage
    index: BootstrapIndex
    partition_fields: tuple[str, ...]

    @staticmethod
    def of(lake: Lake, storage: Storage, base_path: str, config: TableConfig) -> BootstrapReader | None:
        """None for a table that was not bootstrapped; :meth:`BootstrapIndex.of` tells the errors."""
        index = BootstrapIndex.of(lake, storage, base_path, config)
        if index is None:
            return None
        fields = tuple(field.partition(":")[0] for field in config.partition_fields)  # custom generators name a kind
        return BootstrapReader(storage=storage, index=index, partition_fields=fields)

    def has(self, base: BaseFile) -> bool:
        """Whether a base file is a skeleton."""
        return base.name.instant == BOOTSTRAP_INSTANT

    def read(self, base: BaseFile, schema: pa.Schema, origins: Origins) -> Iterator[pa.RecordBatch]:
        """The rows of a skeleton in the columns of ``schema``, meta columns or others.

        :param origins: where columns are in files of the bootstrap, as for :func:`conform`.
        :raises CorruptTableError: skeleton and source have not the same number of rows, the source has another length
            than when the table was bootstrapped, or no index tells it.
        :raises UnsupportedTableError: a source that is not Parquet.
        """
        metas = pa.schema([field for field in schema if field.name in META_FIELDS])
        others = pa.schema([field for field in schema if field.name not in META_FIELDS])
        skeleton = open_base_file(self.storage, resolve(self.index.base_path, base.relative_path))
        if not len(others):
            yield from _rows(skeleton, base.relative_path, metas, {}, {})
            return
        source = self.index.source_of(base.partition, base.name.file_id)
        if source.path.endswith((".orc", ".hfile")):
            raise UnsupportedTableError(
                f"{source.path}, which {base.relative_path} was bootstrapped from, is not Parquet",
                todo="read the table with Hudi",
            )
        rows = self._source_rows(source, others, origins)
        if not len(metas):
            yield from rows
            return
        names = f"{base.relative_path} and {source.path}"
        for left, right in side_by_side(_rows(skeleton, base.relative_path, metas, {}, {}), rows, names):
            columns = {name: part.column(name) for part in (left, right) for name in part.schema.names}
            yield pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)

    def _source_rows(self, source: SourceFile, schema: pa.Schema, origins: Origins) -> Iterator[pa.RecordBatch]:
        storage, path = self.index.place(source)
        _refuse_other_length(storage, path, source)
        return source_rows(storage, path, source.partition, self.partition_fields, schema, origins)


def source_rows(
    storage: Storage, path: str, folder: str, fields: Sequence[str], schema: pa.Schema, origins: Origins
) -> Iterator[pa.RecordBatch]:
    """The rows of a source file in ``schema``; columns that it lacks have the values of its folder, or null.

    :param folder: relative to the source; ``fields`` are the partition columns, in their order.
    """
    file = open_base_file(storage, path, role=SOURCE_FILE)
    from_folder = folder_values(folder, fields)
    stored = set(file.schema_arrow.names)
    missing = [field for field in schema if field.name in from_folder and field.name not in stored]
    constants = {field.name: _constant(from_folder[field.name], field, folder) for field in missing}
    return _rows(file, path, schema, origins, constants, SOURCE_FILE)


def _refuse_other_length(storage: Storage, path: str, source: SourceFile) -> None:
    """Rows are found by their position alone, and those of another file would come under the keys of the one that was
    bootstrapped. Hudi does not look.
    """
    status = storage.stat(path)
    if status is not None and status.size != source.size:
        raise CorruptTableError(
            f"source file {path} has {status.size} bytes, and had {source.size} when the table was bootstrapped",
            todo="restore it as it was",
            path=path,
        )


def side_by_side(
    first: Iterator[pa.RecordBatch], second: Iterator[pa.RecordBatch], names: str
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """The same rows of both in batches of the same length; at most a batch of each is held.

    :raises CorruptTableError: one has more rows than the other.
    """
    lefts, rights = ((batch for batch in side if batch.num_rows) for side in (first, second))
    left, right = next(lefts, None), next(rights, None)
    while left is not None and right is not None:
        count = min(left.num_rows, right.num_rows)
        yield left.slice(0, count), right.slice(0, count)
        left = left.slice(count) if count < left.num_rows else next(lefts, None)
        right = right.slice(count) if count < right.num_rows else next(rights, None)
    if left is not None or right is not None:
        raise CorruptTableError(
            f"{names} have not the same number of rows", todo="restore the source as it was bootstrapped"
        )


def folder_values(folder: str, fields: Sequence[str]) -> dict[str, str | None]:
    """The values that a source's folders tell: ``a=1/b=2`` by name, others by their place among the fields.

    None is a null. Folders that are neither named nor as many as the fields tell nothing.
    """
    parts = [part for part in folder.split("/") if part]
    named = [part.partition("=") for part in parts]
    if parts and all(separator for _, separator, _ in named):
        found = {unescape(name): unescape(value) for name, _, value in named}
    elif len(parts) == len(fields):
        found = dict(zip(fields, map(unescape, parts), strict=True))
    else:
        found = {}
    return {name: None if value == _NULL_FOLDER else value for name, value in found.items()}


def _constant(value: str | None, field: pa.Field[Any], folder: str) -> pa.Scalar[Any]:
    try:
        return pa.scalar(value, pa.string()).cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptTableError(
            f"the folder {folder} tells {value!r} for column {field.name}, which is {field.type}"
        ) from error


def _rows(
    file: pq.ParquetFile,
    name: str,
    schema: pa.Schema,
    origins: Origins,
    constants: Mapping[str, pa.Scalar[Any]],
    role: FileRole = BASE_FILE,
) -> Iterator[pa.RecordBatch]:
    for batch in read_batches(file, stored_names(schema.names, origins), name=name, role=role):
        rows: Any = conform(batch, schema, origins)
        for column, value in constants.items():
            place = schema.get_field_index(column)
            rows = rows.set_column(place, schema.field(place), pa.repeat(value, rows.num_rows))
        yield rows
