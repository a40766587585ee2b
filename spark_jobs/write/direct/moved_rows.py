"""Records that come with another partition than their stored ones, where the payload has a say in what moves.

Hudi: HoodieIndexUtils.mergeForPartitionUpdatesIfNeeded. The stored records are read where they are, by a task for some
file groups; what comes of them goes to files that the write reads beside its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.handles.context import TaskScope, WriteContext, stamp
from spark_jobs.core.keygen.virtual import with_keys
from spark_jobs.core.merge.changes import precombine
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.part import SharePlaces, marks_of
from spark_jobs.write.direct.records import record_schema
from spark_jobs.write.direct.row_files import write_rows
from spark_jobs.write.direct.source import RowRange, SourceFile
from spark_jobs.write.direct.tagged import NEW, Buckets, Offsets
from spark_jobs.write.direct.write import RowSender, by_bucket
from spark_jobs.write.tasks import BUCKET, as_records
from spark_jobs.write.workload import OpenWrite

ROWS_PER_TASK = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRows:
    """Reads the stored records of ``slices`` (by bucket number) and settles what becomes of incoming ones; pickles."""

    context: WriteContext
    reader: SliceReader
    slices: Mapping[int, FileSlice]

    def settle(self, number: int, rows: pa.Table) -> pa.Table:
        """The rows to write with their bucket numbers, :data:`NEW` for new ones.

        A delete goes to where its record is. Where the payload keeps the stored record there is nothing to write; else
        the merged record is a new one in its partition, and the incoming one, of another partition than its bucket,
        stands for the removal of the stored one. A record whose stored one turns out to be gone is a new one.

        :param rows: incoming records of several partitions, whose keys slice ``number`` holds.
        """
        one = self.slices[number]
        payload, schema = self.context.payload, self.context.file_format.schema
        records = precombine(as_records(rows, self.context), self.context.ordering_field, payload).rows
        incoming = _in_partitions(stamp(records, self.context, TaskScope(0, ""), "", ""), records)
        stored = self._stored(one, records.column(RECORD_KEY).combine_chunks())
        place = pc.index_in(records.column(RECORD_KEY), value_set=stored.column(RECORD_KEY).combine_chunks())
        known = np.asarray(place.combine_chunks().is_valid())
        deleted = payload.is_delete(incoming)
        pairs = np.flatnonzero(known & ~deleted)
        ours = incoming.take(pa.array(pairs))
        theirs = stored.take(place.take(pa.array(pairs))).select(schema.names)
        verdict = payload.combine(theirs, ours, np.zeros(len(pairs), bool), self.context.ordering_field)
        merged = (ours if verdict.rows is None else verdict.rows).select(schema.names)
        goes = _in_partitions(merged, ours).filter(pa.array(verdict.accepted & ~verdict.deleted))
        deletes = incoming.filter(pa.array(known & deleted))
        return pa.concat_tables(
            [
                self._placed(incoming.filter(pa.array(~known)), NEW),
                self._placed(_at(deletes, one.partition), number),
                self._placed(ours.filter(pa.array(verdict.accepted)), number),
                self._placed(goes, NEW),
            ]
        )

    def _stored(self, one: FileSlice, keys: pa.Array) -> pa.Table:
        """The stored records of some keys, with their keys and partition."""
        schema, found = self.context.file_format.schema, []
        for batch in self.reader.read(one):
            keyed = with_keys(batch, self.reader.virtual_keys)
            hit = keyed.filter(pc.is_in(keyed.column(RECORD_KEY), value_set=keys))
            if hit.num_rows:
                found.append(hit)
        return _at(pa.Table.from_batches(found, schema=schema) if found else schema.empty_table(), one.partition)

    def _placed(self, rows: pa.Table, number: int) -> pa.Table:
        own = conform(rows, record_schema(self.context))
        return own.append_column(BUCKET, pa.repeat(pa.scalar(number, pa.int32()), own.num_rows))


def _at(rows: pa.Table, partition: str) -> pa.Table:
    index = rows.schema.get_field_index(PARTITION_PATH)
    return rows.set_column(index, rows.schema.field(index), pa.repeat(pa.scalar(partition), rows.num_rows))


def _in_partitions(rows: pa.Table, of: pa.Table) -> pa.Table:
    index = rows.schema.get_field_index(PARTITION_PATH)
    return rows.set_column(index, rows.schema.field(index), of.column(PARTITION_PATH))


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledRows:
    """What the records of one task came to: ``file`` has them, None in a write that is not done."""

    file: SourceFile | None
    places: SharePlaces


def settle_moves(
    write: OpenWrite,
    source: KeyedSource,
    shares: Sequence[RowRange],
    moving: Sequence[Sequence[SharePlaces]],
    slices: Mapping[int, FileSlice],
    paths: Sequence[str],
) -> list[SettledRows]:
    """
    :param moving: by share the rows whose records leave their partition, with the buckets that have their keys.
    :param paths: partition paths by their codes.
    """
    pieces = [(share, *_in_order(own)) for share, own in zip(shares, moving, strict=True) if own]
    rows = sum(len(offsets) for _, offsets, _ in pieces)
    touched = {number for _, _, buckets in pieces for number in np.unique(buckets).tolist()}
    tasks = min(len(touched), max(2 * write.engine.slots, rows // ROWS_PER_TASK))
    moved = MovedRows(
        context=write.context,
        reader=slice_reader(write.table, write.context, write.config.properties),
        slices={number: slices[number] for number in touched},
    )
    files = None if write.held is None else (write.held.storage, write.held.folder())

    def work(blocks: list[pa.RecordBatch], scope: TaskScope) -> SettledRows:
        keyed = ((bucket, source.with_keys(rows.drop_columns([BUCKET]))) for bucket, rows in by_bucket(blocks))
        settled = pa.concat_tables([moved.settle(bucket, rows) for bucket, rows in keyed]).combine_chunks()
        file = None
        if files is not None and settled.num_rows:
            storage, folder = files
            path = f"{folder}/{scope.write_token}-moved.parquet"
            file = write_rows(iter([settled.drop_columns([BUCKET])]), storage, path)
        return SettledRows(file=file, places=_places_of(settled, paths))

    return write.engine.exchange(pieces, RowSender(source=source.source, tasks=tasks), tasks, work)


def _in_order(places: Sequence[SharePlaces]) -> tuple[Offsets, Buckets]:
    offsets, buckets = (np.concatenate([getattr(one, name) for one in places]) for name in ("offsets", "buckets"))
    order = np.argsort(offsets, kind="stable")
    return offsets[order], buckets[order]


def _places_of(settled: pa.Table, paths: Sequence[str]) -> SharePlaces:
    buckets = np.asarray(settled.column(BUCKET).combine_chunks()).astype(np.int32)
    new = settled.filter(pa.array(buckets == NEW))
    codes = pc.index_in(new.column(PARTITION_PATH).combine_chunks(), value_set=pa.array(paths, pa.string()))
    buckets[buckets == NEW] = -1 - marks_of(new.column(RECORD_KEY).combine_chunks(), None)
    offsets = np.arange(len(buckets), dtype=np.uint32)
    return SharePlaces(offsets=offsets, buckets=buckets, codes=np.asarray(codes).astype(np.int32))
