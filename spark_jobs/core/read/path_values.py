"""Partition columns that files lack, from the partition path as Hudi's reader gives them.

A table with ``hoodie.datasource.write.drop.partition.columns`` keeps no partition column in its files. Its values are
the texts of the path's folders, whatever type the column had; null where a folder stands for none. Source:
``BaseHoodieTableFileIndex.doParsePartitionColumnValues``, ``PartitioningUtils.parsePathFragment`` of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from spark_jobs.core.config.keys.datasource import DROP_PARTITION_COLUMNS
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.keygen.path_names import unescape
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION


@dataclass(frozen=True, slots=True)
class PathValues:
    """The columns of a table that only its partition paths have, in the order of the path."""

    columns: tuple[str, ...]

    @staticmethod
    def of(config: TableConfig) -> PathValues:
        """
        :raises UnsupportedTableError: records are ordered by such a column: files don't tell their order.
        """
        if not DROP_PARTITION_COLUMNS.of(config.properties):
            return NO_PATH_VALUES
        if config.precombine_field in config.partition_fields:
            raise UnsupportedTableError(
                f"table {config.name} has {DROP_PARTITION_COLUMNS.name}=true, and {config.precombine_field} is both "
                "its partition and its precombine column, which this release does not read",
                todo="read it with Hudi",
                table=config.name,
            )
        return PathValues(config.partition_fields)

    def added_to(self, schema: pa.Schema) -> pa.Schema:
        """A table's schema with these columns as text: at their place in the schema, or behind it."""
        for name in self.columns:
            place = schema.get_field_index(name)
            field = pa.field(name, pa.string())
            schema = schema.append(field) if place < 0 else schema.set(place, field)
        return schema

    def stored(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that files have."""
        return [name for name in names if name not in self.columns]

    def add(self, batch: pa.RecordBatch, partition: str, schema: pa.Schema) -> pa.RecordBatch:
        """The rows of a file of that partition in the order of ``schema``, with those of these columns that it has."""
        values = self._values(partition)
        columns = [
            pa.repeat(pa.scalar(values[field.name], pa.string()), batch.num_rows)
            if field.name in values
            else batch.column(field.name)
            for field in schema
        ]
        if not columns:
            return batch.select([])
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def _values(self, partition: str) -> dict[str, str | None]:
        """
        :raises CorruptTableError: the path has another number of folders than there are columns.
        """
        folders = partition.split("/")
        if len(folders) != len(self.columns):
            if len(self.columns) != 1:
                names = ", ".join(self.columns)
                raise CorruptTableError(f"partition {partition!r} does not tell the values of {names}", path=partition)
            return {self.columns[0]: partition.removeprefix(f"{self.columns[0]}=")}
        found: dict[str, str | None] = {}
        for name, folder in zip(self.columns, folders, strict=True):
            text = folder.removeprefix(f"{name}=")
            found[name] = None if text == DEFAULT_PARTITION else unescape(text)
        return found


NO_PATH_VALUES = PathValues(())
