"""Queries: which slices, which rows; read to Arrow in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from spark_jobs.core.config.features import refuse_unreadable
from spark_jobs.core.config.keys.bootstrap import BOOTSTRAP_BASE_PATH
from spark_jobs.core.config.keys.table import POPULATE_META_FIELDS
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.format.order import BEFORE_ALL, rows_in_range
from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.lake import Lake
from spark_jobs.core.merge.payload import ordering_field_of, payload_of_table, refuse_other_mergers
from spark_jobs.core.read.bootstrap import BootstrapReader
from spark_jobs.core.read.data_skipping import DataSkipping
from spark_jobs.core.read.path_values import PathValues
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.conform import has_form_of
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, with_meta_fields
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.core.view.written_files import Parts

_FOOTERS_AT_ONCE = 16
Check = Callable[[FileSystemView, Sequence[FileSlice], Parts], list[FileSlice]]
"""Of what a query reads of a view: :meth:`HudiTable.checked_of`."""


def full_schema_of(config: TableConfig, avro_schema: Mapping[str, Any]) -> pa.Schema:
    """Meta columns first, then the table's own; at the end those that only partition paths have."""
    return PathValues.of(config).added_to(with_meta_fields(arrow_schema_of(avro_schema)))


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

    lake: Lake
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
    evolution: SchemaEvolution | None = None
    skipping: DataSkipping | None = None
    checked: Check | None = None

    @property
    def full_schema(self) -> pa.Schema:
        """:func:`full_schema_of` the table."""
        return full_schema_of(self.config, self.avro_schema)

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
        """How executors read the slices of this scan.

        :raises ConfigError: the table's records are merged by another record merger than a payload.
        """
        refuse_other_mergers(self.config.properties)
        return SliceReader(
            storage=self.storage,
            base_path=self.base_path,
            schema=self.full_schema,
            visibility=self.view.visibility,
            payload=payload_of_table(self.config, avro_schema=self.avro_schema),
            ordering_field=ordering_field_of(self.config, self.full_schema.names),
            evolution=self.evolution,
            virtual_keys=virtual_keys_of(self.config),
            bootstrap=BootstrapReader.of(self.lake, self.storage, self.base_path, self.config),
            path_values=PathValues.of(self.config),
        )

    def slices(self) -> list[FileSlice]:
        """The file slices that the query reads, with what completed writes say of their files.

        :raises UnsupportedTableError: a table with features that this release does not read.
        :raises CorruptTableError: a file that a completed write left is gone, or has not its length.
        """
        refuse_unreadable(self.config)
        if self.query is Query.INCREMENTAL and not self.config.populate_meta_fields:
            raise ConfigError(
                f"table {self.config.name} has {POPULATE_META_FIELDS.name}=false: its rows don't say when they were "
                "written, which an incremental query needs",
                todo="use a snapshot query",
            )
        if self.query is not Query.READ_OPTIMIZED:
            return self._checked(self._with_matches(list(self.view.latest_slices())), Parts.ALL)
        by_key = {(base.partition, base.name.file_id): base for base in self.view.latest_base_files()}
        slices = [
            FileSlice(
                partition=base.partition,
                file_id=base.name.file_id,
                base_instant=base.name.instant,
                base_file=base,
                log_files=(),
            )
            for base in by_key.values()
        ]
        return self._checked(self._with_matches(slices), Parts.BASES)

    def _checked(self, slices: list[FileSlice], parts: Parts) -> list[FileSlice]:
        return slices if self.checked is None else self.checked(self.view, slices, parts)

    def read_by_name(self, slices: Sequence[FileSlice]) -> list[FileSlice]:
        """Those of the slices whose rows any Parquet reader gives by the names and types of :attr:`schema`.

        They have no logs, and no column of them was renamed, widened, or got new fields inside since they were written.
        The files of one write share their schema: one footer of each is read.
        """
        if BOOTSTRAP_BASE_PATH.of(self.config.properties):
            return []
        bases = [(one, one.base_file) for one in slices if one.base_file is not None and not one.log_files]
        of_write = {base.name.instant: base.relative_path for _, base in bases}
        asked = [each for each in of_write if not (self.evolution and self.evolution.origins(each))]

        def fits(instant: str) -> bool:
            file = open_base_file(self.storage, resolve(self.base_path, of_write[instant]))
            return has_form_of(file.schema_arrow, self.schema)

        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
            by_name = {instant for instant, fit in zip(asked, pool.map(fits, asked), strict=True) if fit}
        return [one for one, base in bases if base.name.instant in by_name]

    def _with_matches(self, slices: list[FileSlice]) -> list[FileSlice]:
        """Without the slices that the metadata table's statistics rule out.

        Not where files hold other columns than the query sees: after evolution, and of virtual keys nothing.
        """
        if self.skipping is None or self.condition is None:
            return slices
        if self.evolution is not None or not self.config.populate_meta_fields:
            return slices
        return self.skipping.keep(slices, self.condition, self.full_schema)

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

    def _condition(self) -> Any:
        if self.query is not Query.INCREMENTAL:
            return self.condition
        # the rows of visible slices are all of completed instants, also of those that left the timeline for the archive
        in_range = rows_in_range(pc.field(COMMIT_TIME), self.begin or BEFORE_ALL, self.end)
        return in_range if self.condition is None else in_range & self.condition
