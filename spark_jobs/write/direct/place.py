"""Where the rows of a source go, found in the driver by arrays, the tasks only asked for keys that they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.index.bucket_check import numbers_by_bucket, refuse_other_buckets
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids, file_id_of
from spark_jobs.core.index.logged_inserts import slices_with_logged_inserts
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import Operation
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.dead_places import without_dead_places
from spark_jobs.write.direct.live_keys import live_keys_alone
from spark_jobs.write.direct.locate import BloomSearch, Found, KeySearch, locate_keys
from spark_jobs.write.direct.tagged import NEW, PartitionKeys, PlacedRows, place
from spark_jobs.write.pack import NewGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Rows with their buckets by partition path; ``begun`` are the file groups that the index begins itself (None: new
    rows are packed by size), ``dropped`` how many rows an insert leaves out.
    """

    rows: Mapping[str, PlacedRows]
    begun: Mapping[int, NewGroup] | None = None
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """One write's way to its places; ``tasks`` is how many look keys up, ``incoming`` the keys by partition path."""

    engine: Engine
    tasks: int
    config: WriteConfig
    table: HudiTable
    context: WriteContext
    incoming: Mapping[str, PartitionKeys]

    def place(self, slices: Mapping[int, FileSlice]) -> Placement:
        """
        :param slices: by bucket number, of the partitions of the rows.
        """
        found: Found = self._search(slices) if self.config.searches else {}
        rows = {partition: place(keys, found.get(partition, [])) for partition, keys in self.incoming.items()}
        dropped = 0
        if self.config.drops_known:
            dropped = sum(int((one.buckets != NEW).sum()) for one in rows.values())
            rows = {partition: _where(one, one.buckets == NEW) for partition, one in rows.items()}
        if self.config.index_type.places_by_key:
            return replace(self._by_bucket(slices, rows), dropped=dropped)
        return Placement(rows=rows, dropped=dropped)

    def _search(self, slices: Mapping[int, FileSlice]) -> Found:
        live_alone = live_keys_alone(self.config, self.table)
        search = KeySearch(
            reader=slice_reader(self.table, self.context, self.config.properties),
            keys={partition: keys.keys for partition, keys in self.incoming.items()},
            by_bloom=BloomSearch.of(self.config, self.table),
            live_alone=live_alone,
        )
        if live_alone:
            logged = {number: one for number, one in slices.items() if one.log_files}
            return locate_keys(self.engine, self.tasks, search, slices, logged)
        logged = slices_with_logged_inserts(slices, self.table.timeline, self.table.clock)
        found = locate_keys(self.engine, self.tasks, search, slices, logged)
        return without_dead_places(self.engine, self.tasks, search, slices, found)

    def _by_bucket(self, slices: Mapping[int, FileSlice], rows: Mapping[str, PlacedRows]) -> Placement:
        """
        :raises CorruptTableError: a group that can't be of a bucket, or two of one bucket.
        :raises ConfigError: the table has another number of buckets.
        """
        settings = BucketSettings.of(self.config.properties, self.config.key_spec.record_key_fields)
        numbers = numbers_by_bucket(slices, settings.buckets)
        reader = slice_reader(self.table, self.context, self.config.properties)
        refuse_other_buckets(reader, slices.values(), settings)
        begun: dict[int, NewGroup] = {}
        placed: dict[str, PlacedRows] = {}
        next_number = len(slices)
        for partition, one in rows.items():
            buckets = bucket_ids(self.incoming[partition].keys, settings.fields, settings.buckets)[one.places]
            number_of = np.full(settings.buckets, NEW, np.int64)
            for bucket, count in zip(*np.unique(buckets, return_counts=True), strict=True):
                number = numbers.get((partition, int(bucket)))
                if number is None and self.config.operation is Operation.DELETE:
                    continue  # keys that the table can't have
                if number is None:
                    number, next_number = next_number, next_number + 1
                    file_id = file_id_of(int(bucket), self.table.clock.new_uuid())
                    begun[number] = NewGroup(partition, file_id, int(count))
                number_of[bucket] = number
            there = replace(one, buckets=number_of[buckets])
            placed[partition] = _where(there, there.buckets != NEW)
        return Placement(rows=placed, begun=begun)


def _where(rows: PlacedRows, mask: object) -> PlacedRows:
    kept = np.asarray(mask, bool)
    return PlacedRows(rows=rows.rows[kept], buckets=rows.buckets[kept], places=rows.places[kept])
