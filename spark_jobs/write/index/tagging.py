"""The index of a write: which partitions it looks at, and where each record goes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.index.bloom import locate_by_bloom
from spark_jobs.write.index.bucket import tag_by_bucket
from spark_jobs.write.index.dead_places import without_dead_places
from spark_jobs.write.index.incoming import Incoming, Tagged
from spark_jobs.write.index.moves import one_partition_for_each_key, tag_globally
from spark_jobs.write.index.record import look_up, record_index_of
from spark_jobs.write.index.simple import locate_by_join
from spark_jobs.write.tasks import BUCKET


@dataclass(slots=True, kw_only=True)
class Index:
    """The way of one write to the stored records; ``held`` takes the frames that are to be unpersisted after it."""

    kind: IndexType
    config: WriteConfig
    held: list[DataFrame]
    record_index: RecordIndex | None = None
    _found: DataFrame | None = None

    @staticmethod
    def of(config: WriteConfig, table: HudiTable, note: Callable[[str], None], held: list[DataFrame]) -> Index:
        """What the options ask for; GLOBAL_SIMPLE in the place of a record index that the table does not have, as in
        Hudi.
        """
        kind, index = config.index_type, None
        if kind is IndexType.RECORD_INDEX and config.looks_up:
            index = record_index_of(table)
            if index is None:
                note("the table has no record index: looking keys up by GLOBAL_SIMPLE")
                kind = IndexType.GLOBAL_SIMPLE
        return Index(kind=kind, config=config, held=held, record_index=index)

    def partitions(self, keyed: DataFrame, touched: Iterable[str], tasks: int) -> list[str] | None:
        """The partitions whose file groups may hold the records; None for all.

        :param keyed: the incoming rows.
        :param touched: the partition paths that they come with.
        :param tasks: how many may ask the record index.
        """
        if not self.kind.is_global or not self.config.looks_up:
            return sorted(touched)
        if self.record_index is None:
            return None
        self._found = look_up(self.record_index, keyed, tasks).persist()
        self.held.append(self._found)
        places = {row[0] for row in self._found.select(PARTITION_PATH).distinct().collect()}
        return sorted(places.union(touched))

    def find(self, incoming: Incoming) -> DataFrame:
        """The rows with the bucket number of the slice that has the key already; nothing is moved."""
        located = self._locate(incoming)
        if located is None:
            return _untagged(incoming.keyed)
        if self.kind.is_global:
            places = located.drop(PARTITION_PATH).dropDuplicates([RECORD_KEY])
            return incoming.keyed.join(incoming.hinted(places), RECORD_KEY, "left")
        return _joined(incoming, located)

    def tag(self, incoming: Incoming) -> Tagged:
        """Each row with its file group, where the table has its key; inserts are not looked up, but for their
        buckets.
        """
        if self.kind is IndexType.BUCKET:
            return tag_by_bucket(incoming)
        if self.config.operation not in (Operation.UPSERT, Operation.DELETE):
            is_once = self.kind.is_global and self.config.combine
            return Tagged(frame=_untagged(one_partition_for_each_key(incoming) if is_once else incoming.keyed))
        located = self._locate(incoming)
        if self.kind.is_global:
            return tag_globally(incoming, located, self.kind)
        if located is None:
            return Tagged(frame=_untagged(incoming.keyed))
        return Tagged(frame=_joined(incoming, without_dead_places(incoming, located)))

    def _locate(self, incoming: Incoming) -> DataFrame | None:
        """Key, partition path and bucket number of stored keys; kept until the write is done."""
        located = self._places(incoming)
        return None if located is None else incoming.hold(located)

    def _places(self, incoming: Incoming) -> DataFrame | None:
        if self._found is not None:
            if not incoming.slices:
                return None
            numbers = F.broadcast(incoming.numbers(incoming.slices))
            return self._found.join(numbers, [PARTITION_PATH, "file_id"]).select(RECORD_KEY, PARTITION_PATH, BUCKET)
        if self.kind in (IndexType.BLOOM, IndexType.GLOBAL_BLOOM):
            return locate_by_bloom(incoming, is_global=self.kind.is_global)
        return locate_by_join(incoming)


def _untagged(keyed: DataFrame) -> DataFrame:
    return keyed.withColumn(BUCKET, F.lit(None).cast("int"))


def _joined(incoming: Incoming, located: DataFrame) -> DataFrame:
    return incoming.keyed.join(incoming.hinted(located), [RECORD_KEY, PARTITION_PATH], "left")
