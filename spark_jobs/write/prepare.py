"""The source in the schema that the write stores, each row with its key and partition path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.spark_api import arrow_of
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.placed_source import place_by_arrays
from spark_jobs.write.explain import SAMPLE, Batch
from spark_jobs.write.held_rows import rows_on_this_machine
from spark_jobs.write.keys import partition_path, record_key, require_columns, within_limit
from spark_jobs.write.schema import source_schema
from spark_jobs.write.stored_schema import StoredSchema, needs_keys_alone, settle_schema
from spark_jobs.write.workload import OpenWrite, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedRows:
    """``source`` is what was read, ``None`` for a write that needs no rows."""

    source: DataFrame | None
    stored: StoredSchema

    @property
    def config(self) -> WriteConfig:
        return self.stored.config

    @property
    def keyed(self) -> DataFrame:
        """Key and partition path first, then those columns of the schema that the source has."""
        source = self._source
        names = [field["name"] for field in self.stored.avro_schema["fields"]]
        spec, virtual = self.config.key_spec, not self.config.populate_meta_fields
        return source.select(
            within_limit(record_key(source, spec, virtual=virtual), spec.limit).alias(RECORD_KEY),
            partition_path(source, spec).alias(PARTITION_PATH),
            *(F.col(f"`{name}`") for name in names if name in source.columns),
        )

    def counts(self) -> Mapping[str, int]:
        """Rows by partition path."""
        return {row[0]: row[1] for row in self.keyed.groupBy(PARTITION_PATH).count().collect()}

    def paths(self) -> list[str]:
        """Partition paths of the source, each once; the rows need no keys for it."""
        return [row[0] for row in self.partition_paths.collect()]

    @contextmanager
    def placed(self, write: OpenWrite) -> Iterator[Workload]:
        """The rows with their places, in a write that is not done: this process finds them, and Spark gives it the keys
        alone, but for payloads that have a say in where records go.
        """
        asked = (RECORD_KEY, PARTITION_PATH, self.config.precombine_field, IS_DELETED)
        keys = keyed = self.keyed
        if not self.config.index_type.is_global or type(write.context.payload) is OverwriteWithLatest:
            keys = keyed.select(*(F.col(f"`{name}`") for name in dict.fromkeys(asked) if name in keyed.columns))
        here = LocalEngine.of_machine(write.table.clock)
        with ExitStack() as until:
            with write.progress.phase("tag"):
                source = until.enter_context(rows_on_this_machine(keys, write.engine.slots))
                work = place_by_arrays(replace(write, engine=here), source)
            yield work

    def sample(self) -> Batch:
        """What the choice of an index goes by."""
        sample = self.keyed.select(RECORD_KEY, PARTITION_PATH).orderBy(F.xxhash64(RECORD_KEY)).limit(SAMPLE)
        chosen = arrow_of(sample)
        return Batch(
            counts=self.counts(),
            keys=chosen.column(0).combine_chunks(),
            partitions=chosen.column(1).combine_chunks(),
        )

    @property
    def partition_paths(self) -> DataFrame:
        """The distinct partition paths of the source, one column."""
        path = partition_path(self._source, self.config.key_spec)
        return self._source.select(path.alias(PARTITION_PATH)).distinct()

    @property
    def _source(self) -> DataFrame:
        if self.source is None:
            raise ConfigError("no source is given", todo="give --source")
        return self.source


def prepare(source: DataFrame | None, config: WriteConfig, table: HudiTable | None) -> PreparedRows:
    """Check the source's columns against the table and settle the schema; nothing is read yet.

    :raises ConfigError: a column is missing, or of a type that the table's can't take.
    """
    spec = config.key_spec
    takes_paths_alone = config.operation is Operation.DELETE_PARTITION
    if source is not None:
        if not takes_paths_alone:
            require_columns(source, spec.record_key_fields, "record key field")
        require_columns(source, spec.partition_fields, "partition path field")
    columns = None if source is None else partial(source_schema, source)
    if source is not None and config.precombine_field and not needs_keys_alone(config):
        require_columns(source, (config.precombine_field,), "precombine field")
        _require_order(source, config.precombine_field)
    return PreparedRows(source=source, stored=settle_schema(columns, config, table))


def _require_order(source: DataFrame, precombine_field: str) -> None:
    """
    :raises ConfigError: the values of the column have no order, or it is within another.
    """
    if precombine_field not in source.columns:
        raise ConfigError(
            f"the precombine field {precombine_field} is a field of a struct, by which this release does not write",
            todo="name a column (a transformer can copy the field to one); to a table that has it, write with Hudi",
            column=precombine_field,
        )
    kind = next((field.dataType for field in source.schema.fields if field.name == precombine_field), None)
    if isinstance(kind, (ArrayType, MapType, StructType)):
        raise ConfigError(
            f"the precombine field {precombine_field} is of type {kind.simpleString()}, which has no order",
            todo="give --precombine-field a column of numbers, times or text",
            column=precombine_field,
        )
