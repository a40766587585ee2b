"""Global indexes by arrays: a key is one record in the whole table, also when it comes with another partition.

Hudi: HoodieIndexUtils.tagGlobalLocationBackToRecords, mergeForPartitionUpdatesIfNeeded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys.index import IndexType, updates_partition
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.index.logged_inserts import slices_with_logged_inserts
from spark_jobs.core.merge.changes import dense_ranks
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.metadata_table.record_locations import LOCATION_SCHEMA, RecordIndex
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import Operation
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.locate import Found, KeySearch, find_in, locate_keys
from spark_jobs.write.direct.source import RowRange
from spark_jobs.write.direct.tagged import NEW, Numbers, PlacedRows, rows_by_name
from spark_jobs.write.index.live_keys import live_keys_alone

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingKeys:
    """All rows of a source: by row the place of its record key in ``keys``, which differ, and of its partition path in
    ``paths``.
    """

    keys: pa.Array
    paths: tuple[str, ...]
    places: Numbers
    codes: Numbers

    @staticmethod
    def of(source: KeyedSource) -> IncomingKeys:
        table = source.keys(RowRange(0, source.source.rows))
        texts = table.column(RECORD_KEY).combine_chunks().dictionary_encode()
        paths = table.column(PARTITION_PATH).combine_chunks()
        return IncomingKeys(
            keys=texts.dictionary,
            paths=tuple(paths.dictionary.to_pylist()),
            places=np.asarray(texts.indices).astype(np.int64),
            codes=np.asarray(paths.indices).astype(np.int64),
        )

    def counts(self) -> dict[str, int]:
        """Rows by partition path."""
        found = np.bincount(self.codes, minlength=len(self.paths)).tolist()
        return dict(zip(self.paths, found, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalPlacing:
    """One write's way to its places; ``tasks`` is how many look keys up."""

    engine: Engine
    tasks: int
    config: WriteConfig
    table: HudiTable
    context: WriteContext
    source: KeyedSource
    incoming: IncomingKeys
    kind: IndexType
    index: RecordIndex | None

    @property
    def moves(self) -> bool:
        """Whether a record goes to the partition that it comes with, else to the one where its key is."""
        is_partitioned = bool(self.config.key_spec.parts)
        is_delete = self.config.operation is Operation.DELETE
        return not is_delete and is_partitioned and updates_partition(self.kind, self.config.properties)

    def recorded(self) -> pa.Table | None:
        """What the record index says of the keys, in the columns of ``LOCATION_SCHEMA``; None without one."""
        if self.index is None or not self.config.looks_up:
            return None
        keys, shards = self.incoming.keys, self.index.shards
        numbers = self.index.shard_numbers(keys)
        asked = [(int(number), keys.filter(pa.array(numbers == number))) for number in np.unique(numbers)]

        def look_up(item: tuple[int, pa.Array], scope: TaskScope) -> pa.Table:
            return shards[item[0]].locations(item[1])

        return pa.concat_tables([LOCATION_SCHEMA.empty_table(), *self.engine.run_each(asked, look_up)])

    def stored(self, slices: Mapping[int, FileSlice], recorded: pa.Table | None) -> Numbers:
        """For each key the bucket that has it, or :data:`NEW`.

        :param slices: by bucket number.
        """
        at = np.full(len(self.incoming.keys), NEW, np.int64)
        if recorded is not None:  # which knows each key once, and none whose record was removed
            names = pa.array([f"{one.partition}/{one.file_id}" for one in slices.values()], pa.string())
            said = pc.binary_join_element_wise(recorded.column("partition"), recorded.column("file_id"), "/")
            group = np.asarray(pc.fill_null(pc.index_in(said, value_set=names), -1)).astype(np.int64)
            place = np.asarray(pc.index_in(recorded.column("key"), value_set=self.incoming.keys)).astype(np.int64)
            known = group >= 0  # else a group that is replaced or rolled back
            at[place[known]] = np.array([*slices, NEW])[group[known]]
        elif self.config.looks_up and slices:
            self._search(slices, at)
        return at

    def _search(self, slices: Mapping[int, FileSlice], at: Numbers) -> None:
        """Of several places of a key that with a row comes first, then the first partition.

        In a MERGE_ON_READ table a base file may have keys whose records its logs removed, to another partition for
        instance. Such a place counts where nothing moves, as Hudi has it.
        """
        live_alone = live_keys_alone(self.config, self.table)
        search = KeySearch(
            reader=slice_reader(self.table, self.context, self.config.properties),
            keys=dict.fromkeys({one.partition for one in slices.values()}, self.incoming.keys),
            by_bloom=self.kind is IndexType.GLOBAL_BLOOM and self.config.populate_meta_fields,
            live_alone=live_alone,
        )
        logged = {number: one for number, one in slices.items() if one.log_files}
        read = logged if live_alone else slices_with_logged_inserts(slices, self.table.timeline, self.table.clock)
        hits = _flat(locate_keys(self.engine, self.tasks, search, slices, read))
        doubtful = {} if live_alone else {number: one for number, one in logged.items() if number in hits}
        alive = _flat(find_in(self.engine, self.tasks, replace(search, live_alone=True), doubtful)) if doubtful else {}
        order = {number: rank for rank, number in enumerate(sorted(hits, key=lambda n: (slices[n].partition, n)))}
        for number in sorted(hits, key=order.__getitem__, reverse=True):  # the first one has the last word
            if number not in doubtful:
                continue
            if not self.moves:
                at[hits[number]] = number
        for number in sorted(hits, key=order.__getitem__, reverse=True):
            living = hits[number] if number not in doubtful else alive.get(number, np.zeros(0, np.int64))
            at[living] = number

    def kept(self, at: Numbers) -> Mask:
        """The rows that are written: without those whose keys an insert must not add, and, where the input is
        combined, those of a key in other partitions than that of its greatest ordering value.
        """
        rows = np.ones(len(self.incoming.places), bool)
        if self.config.looks_up and self.config.operation is Operation.INSERT:
            rows = at[self.incoming.places] == NEW
        return rows & self._in_one_partition(rows) if self.config.combine else rows

    def _in_one_partition(self, among: Mask) -> Mask:
        places, codes = self.incoming.places, self.incoming.codes
        paths = self.incoming.paths
        by_name = np.argsort(np.argsort(np.array(paths, object))) if paths else np.zeros(0, np.int64)
        names = by_name[codes]
        rows = np.flatnonzero(among)
        lowest = np.full(len(self.incoming.keys), len(paths), np.int64)
        highest = np.full(len(self.incoming.keys), -1, np.int64)
        np.minimum.at(lowest, places[rows], names[rows])
        np.maximum.at(highest, places[rows], names[rows])
        several = lowest < highest
        doubtful = rows[several[places[rows]]]
        chosen = highest
        if len(doubtful):
            order = np.lexsort((names[doubtful], self._ranks()[doubtful], places[doubtful]))
            chosen = highest.copy()
            chosen[places[doubtful][order]] = names[doubtful][order]  # of each key the last one stays
        kept: Mask = ~among | (chosen[places] == names)
        return kept

    def _ranks(self) -> Numbers:
        ordering = self.config.precombine_field
        if not ordering or self.config.operation is Operation.DELETE or ordering not in self.source.source.schema.names:
            return np.zeros(len(self.incoming.places), np.int64)
        column = self._column(ordering)
        ranks = dense_ranks(column)
        return np.where(np.asarray(column.is_valid()), ranks, 0)

    def _column(self, name: str) -> pa.ChunkedArray:
        source = self.source.source
        batches = source.read(RowRange(0, source.rows), [name])
        return pa.Table.from_batches(batches, pa.schema([source.schema.field(name)])).column(0)

    def placed(self, slices: Mapping[int, FileSlice], at: Numbers, kept: Mask) -> dict[str, PlacedRows] | None:
        """The rows by the partition path where they are written.

        A record that leaves its partition is there twice: new in its own, and with the bucket of the stored one, where
        it stands for a removal. A delete goes to where its record is. None where the payload has a say in what becomes
        of records that leave.
        """
        paths = list(dict.fromkeys((*self.incoming.paths, *(one.partition for one in slices.values()))))
        code_of = {path: code for code, path in enumerate(paths)}
        home = np.full(max(slices, default=-1) + 2, -1, np.int64)  # the last one, of NEW, is none
        for number, one in slices.items():
            home[number] = code_of[one.partition]
        rows = np.flatnonzero(kept)
        places, codes = self.incoming.places[rows], self.incoming.codes[rows]
        buckets = at[places]
        target = np.where(buckets == NEW, codes, home[buckets])
        splits = np.zeros(len(rows), bool)
        if self.moves:
            splits = target != codes
            if splits.any() and type(self.context.payload) is not OverwriteWithLatest:
                return None
            if splits.any():
                splits &= ~self._deletes()[rows]
        left = np.flatnonzero(splits)
        all_rows = np.concatenate([rows, rows[left]])
        all_codes = np.concatenate([np.where(splits, codes, target), target[left]])
        all_buckets = np.concatenate([np.where(splits, NEW, buckets), buckets[left]])
        all_places = np.concatenate([places, places[left]])
        found = {}
        for path, some in rows_by_name(all_codes.astype(np.int32), paths):
            if len(some):
                order = some[np.argsort(all_rows[some], kind="stable")]
                found[path] = PlacedRows(rows=all_rows[order], buckets=all_buckets[order], places=all_places[order])
        return found

    def _deletes(self) -> Mask:
        return deletes_of(self._column(IS_DELETED)) if has_deletes(self.source.source.schema) else self._none()

    def _none(self) -> Mask:
        return np.zeros(len(self.incoming.places), bool)


def has_deletes(schema: pa.Schema) -> bool:
    """Whether rows of a source may say that they are deletes."""
    return IS_DELETED in schema.names and pa.types.is_boolean(schema.field(IS_DELETED).type)


def deletes_of(column: pa.ChunkedArray) -> Mask:
    return np.asarray(pc.fill_null(column, False)).astype(bool)


def _flat(found: Found) -> dict[int, Numbers]:
    return {number: places for hits in found.values() for number, places in hits}


def index_of(config: WriteConfig, table: HudiTable) -> tuple[IndexType, RecordIndex | None]:
    """The index that the options ask for; as in Hudi, GLOBAL_SIMPLE in the place of a record index that is missing."""
    kind = config.index_type
    if kind is not IndexType.RECORD_INDEX or not config.looks_up:
        return kind, None
    index = RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock)
    return (kind, index) if index is not None else (IndexType.GLOBAL_SIMPLE, None)
