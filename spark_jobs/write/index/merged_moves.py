"""Records that come with another partition than their stored ones, where the payload has a say in what moves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.handles.context import TaskScope, WriteContext, stamp
from spark_jobs.core.keygen.virtual import with_keys
from spark_jobs.core.merge.changes import precombine
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.write.tasks import BUCKET, MOVED, as_records


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRows:
    """Reads the stored records of ``slices`` (by bucket number) and settles what becomes of incoming ones."""

    context: WriteContext
    reader: SliceReader
    slices: Mapping[int, FileSlice]

    def settle(self, number: int, rows: pa.Table) -> pa.Table:
        """Key, partition path, the table's columns, bucket number and :data:`MOVED`, of the rows to write.

        A delete goes to where its record is. Where the payload keeps the stored record there is nothing to write; else
        the merged record is a new one in its partition, and the stored one is removed from its own. A record whose
        stored one turns out to be gone is a new one.

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
        leaves = ours.filter(pa.array(verdict.accepted))
        return pa.concat_tables(
            [
                self._placed(incoming.filter(pa.array(~known)), None, None, moved=False),
                self._placed(incoming.filter(pa.array(known & deleted)), number, one.partition, moved=False),
                self._placed(leaves, number, one.partition, moved=True),
                self._placed(goes, None, None, moved=False),
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
        rows = pa.Table.from_batches(found, schema=schema) if found else schema.empty_table()
        at = pa.repeat(pa.scalar(one.partition), rows.num_rows)
        return rows.set_column(schema.get_field_index(PARTITION_PATH), schema.field(PARTITION_PATH), at)

    def _placed(self, rows: pa.Table, number: int | None, partition: str | None, *, moved: bool) -> pa.Table:
        own = rows.select([name for name in rows.column_names if name in self.names])
        if partition is not None:
            at = pa.repeat(pa.scalar(partition), own.num_rows)
            own = own.set_column(own.schema.get_field_index(PARTITION_PATH), PARTITION_PATH, at)
        buckets = pa.repeat(pa.scalar(number, pa.int32()), own.num_rows)
        return own.append_column(BUCKET, buckets).append_column(MOVED, pa.repeat(pa.scalar(moved), own.num_rows))

    @property
    def names(self) -> frozenset[str]:
        """The columns of the rows to write, beside bucket number and :data:`MOVED`."""
        return frozenset(record_schema(self.context).names)


def record_schema(context: WriteContext) -> pa.Schema:
    """Key, partition path and the table's own columns."""
    return as_records(context.file_format.schema.empty_table(), context).schema


def _in_partitions(rows: pa.Table, of: pa.Table) -> pa.Table:
    index = rows.schema.get_field_index(PARTITION_PATH)
    return rows.set_column(index, rows.schema.field(index), of.column(PARTITION_PATH))
