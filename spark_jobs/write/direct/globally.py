"""Global indexes by arrays: a key is one record in the whole table, also when it comes with another partition.

Hudi: HoodieIndexUtils.tagGlobalLocationBackToRecords, mergeForPartitionUpdatesIfNeeded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from spark_jobs.core.merge.protocol import Payload
from spark_jobs.core.metadata_table.record_locations import LOCATION_SCHEMA, RecordIndex
from spark_jobs.core.schema.meta_fields import IS_DELETED, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import Operation
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.live_keys import live_keys_alone
from spark_jobs.write.direct.locate import BloomSearch, Found, KeySearch, find_in, locate_keys
from spark_jobs.write.direct.tagged import NEW, Numbers, PlacedRows, rows_by_name

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
    def of(table: pa.Table) -> IncomingKeys:
        """
        :param table: key and partition path of each row, as ``KeyedSource.keys`` gives them.
        """
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
class GlobalRules:
    """What the options say of records of which a key has one in the whole table; pickles.

    ``moves``: a record goes to the partition that it comes with, else to the one where its key is. ``replaces``: it
    takes the place of the stored one, whatever that is. ``ordering`` is the column that says which of several records
    of a key stays, "" for none.
    """

    drops_known: bool
    combines: bool
    moves: bool
    replaces: bool
    ordering: str
    has_deletes: bool

    @staticmethod
    def of(config: WriteConfig, kind: IndexType, payload: Payload, schema: pa.Schema) -> GlobalRules:
        """
        :param schema: of the source.
        """
        is_delete = config.operation is Operation.DELETE
        is_partitioned = bool(config.key_spec.parts)
        ordering = config.precombine_field
        return GlobalRules(
            drops_known=config.drops_known,
            combines=config.combine,
            moves=not is_delete and is_partitioned and updates_partition(kind, config.properties),
            replaces=type(payload) is OverwriteWithLatest,
            ordering=ordering if ordering and not is_delete and ordering in schema.names else "",
            has_deletes=has_deletes(schema),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalSearch:
    """Looks the keys of a write up in the whole table; ``tasks`` is how many do."""

    engine: Engine
    tasks: int
    config: WriteConfig
    table: HudiTable
    context: WriteContext
    keys: pa.Array
    kind: IndexType
    moves: bool

    def recorded(self, index: RecordIndex | None) -> pa.Table | None:
        """What the record index says of the keys, in the columns of ``LOCATION_SCHEMA``; None without one."""
        if index is None or not self.config.looks_up:
            return None
        shards = index.shards

        def look_up(item: tuple[int, pa.Array], scope: TaskScope) -> pa.Table:
            return shards[item[0]].locations(item[1])

        asked = by_shard(index, self.keys)
        return pa.concat_tables([LOCATION_SCHEMA.empty_table(), *self.engine.run_each(asked, look_up)])

    def stored(self, slices: Mapping[int, FileSlice], recorded: pa.Table | None) -> Numbers:
        """For each key the bucket that has it, or :data:`NEW`.

        :param slices: by bucket number.
        """
        if recorded is not None:
            groups = {number: (one.partition, one.file_id) for number, one in slices.items()}
            return recorded_places(recorded, self.keys, groups)
        if not self.config.looks_up or not slices:
            return np.full(len(self.keys), NEW, np.int64)
        live_alone = live_keys_alone(self.config, self.table)
        search = KeySearch(
            reader=slice_reader(self.table, self.context, self.config.properties),
            keys=dict.fromkeys({one.partition for one in slices.values()}, self.keys),
            by_bloom=BloomSearch.of(self.config, self.table),
            live_alone=live_alone,
        )
        logged = {number: one for number, one in slices.items() if one.log_files}
        read = logged if live_alone else slices_with_logged_inserts(slices, self.table.timeline, self.table.clock)
        hits = _flat(locate_keys(self.engine, self.tasks, search, slices, read))
        doubtful = {} if live_alone else {number: one for number, one in logged.items() if number in hits}
        alive = _flat(find_in(self.engine, self.tasks, replace(search, live_alone=True), doubtful)) if doubtful else {}
        homes = {number: slices[number].partition for number in hits}
        return one_place_each(len(self.keys), hits, {n: alive.get(n) for n in doubtful}, homes, moves=self.moves)


def by_shard(index: RecordIndex, keys: pa.Array) -> list[tuple[int, pa.Array]]:
    """The keys that each shard of a record index is asked for."""
    numbers = index.shard_numbers(keys)
    return [(int(number), keys.filter(pa.array(numbers == number))) for number in np.unique(numbers)]


def recorded_places(recorded: pa.Table, keys: pa.Array, groups: Mapping[int, tuple[str, str]]) -> Numbers:
    """For each key the bucket where a record index says that it is, or :data:`NEW`; the index knows each key once, and
    none whose record was removed.

    :param groups: partition and file id by bucket number.
    """
    at = np.full(len(keys), NEW, np.int64)
    names = pa.array([f"{partition}/{file_id}" for partition, file_id in groups.values()], pa.string())
    said = pc.binary_join_element_wise(recorded.column("partition"), recorded.column("file_id"), "/")
    group = np.asarray(pc.fill_null(pc.index_in(said, value_set=names), -1)).astype(np.int64)
    place = np.asarray(pc.index_in(recorded.column("key"), value_set=keys)).astype(np.int64)
    known = group >= 0  # else a group that is replaced or rolled back
    at[place[known]] = np.array([*groups, NEW])[group[known]]
    return at


def one_place_each(
    keys: int,
    hits: Mapping[int, Numbers],
    alive: Mapping[int, Numbers | None],
    homes: Mapping[int, str],
    *,
    moves: bool,
) -> Numbers:
    """For each key the bucket that has it: of several that with a row comes first, then the first partition.

    In a MERGE_ON_READ table a base file may have keys whose records its logs removed, to another partition for
    instance. Such a place counts where nothing moves, as Hudi has it.

    :param hits: places of keys by bucket number; ``alive``: those with a row, of buckets that may have others.
    :param homes: the partition of each bucket.
    """
    at = np.full(keys, NEW, np.int64)
    last_first = sorted(hits, key=lambda number: (homes[number], number), reverse=True)  # the first has the last word
    if not moves:
        for number in last_first:
            if number in alive:
                at[hits[number]] = number
    for number in last_first:
        living = alive[number] if number in alive else hits[number]
        if living is not None:
            at[living] = number
    return at


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalRows:
    """All rows of some keys; ``column`` gives one of theirs by name."""

    rules: GlobalRules
    incoming: IncomingKeys
    column: Callable[[str], pa.ChunkedArray]

    def kept(self, at: Numbers) -> Mask:
        """The rows that are written: without those whose keys an insert must not add, and, where the input is
        combined, those of a key in other partitions than that of its greatest ordering value.
        """
        rows = np.ones(len(self.incoming.places), bool)
        if self.rules.drops_known:
            rows = at[self.incoming.places] == NEW
        return rows & self._in_one_partition(rows) if self.rules.combines else rows

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
        if not self.rules.ordering:
            return np.zeros(len(self.incoming.places), np.int64)
        column = self.column(self.rules.ordering)
        ranks = dense_ranks(column)
        return np.where(np.asarray(column.is_valid()), ranks, 0)

    def leaving(self, homes: Mapping[int, str], at: Numbers, kept: Mask) -> Mask:
        """The rows whose records leave their partition where the payload has a say in what becomes of them.

        :param homes: the partition of each bucket.
        """
        if not self.rules.moves or self.rules.replaces:
            return np.zeros(len(kept), bool)
        _, home = self._homes(homes)
        buckets = at[self.incoming.places]
        leaves: Mask = kept & (buckets != NEW) & (home[buckets] != self.incoming.codes)
        return leaves

    def _homes(self, homes: Mapping[int, str]) -> tuple[list[str], Numbers]:
        """All partition paths, and by bucket the place of its own among them; the last one, of :data:`NEW`, is none."""
        paths = list(dict.fromkeys((*self.incoming.paths, *homes.values())))
        code_of = {path: code for code, path in enumerate(paths)}
        home = np.full(max(homes, default=-1) + 2, -1, np.int64)
        for number, path in homes.items():
            home[number] = code_of[path]
        return paths, home

    def placed(self, homes: Mapping[int, str], at: Numbers, kept: Mask) -> dict[str, PlacedRows]:
        """The rows by the partition path where they are written.

        A record that leaves its partition is there twice: new in its own, and with the bucket of the stored one, where
        it stands for a removal. A delete goes to where its record is.

        :param homes: the partition of each bucket.
        :param kept: without those that are :meth:`leaving`.
        """
        paths, home = self._homes(homes)
        rows = np.flatnonzero(kept)
        places, codes = self.incoming.places[rows], self.incoming.codes[rows]
        buckets = at[places]
        target = np.where(buckets == NEW, codes, home[buckets])
        splits = np.zeros(len(rows), bool)
        if self.rules.moves:
            splits = target != codes
            if splits.any() and self.rules.has_deletes:
                splits &= ~deletes_of(self.column(IS_DELETED))[rows]
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
