"""Keys that are in several file groups of their scope: which row stays, and how the others go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.append import append_changes, append_target
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.keygen.virtual import with_keys
from spark_jobs.core.merge.changes import Changes, dense_ranks, key_codes
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import TransactionSettings, begin
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.progress import Progress
from spark_jobs.services.repair.plan import SurplusRows, refuse_changed
from spark_jobs.services.rewriting.context import NO_PROPERTIES, rewrite_context, schema_of_rewrite, slice_reader
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.key_checks import Scope, doubled_in, key_reader, scopes_of

_SLICE, _ROW, _RANK = "_slice", "_row", "_rank"


def surplus_rows(table: HudiTable, progress: Progress) -> tuple[SurplusRows, ...]:
    """Of each key that is in several file groups of its scope all rows but one.

    The row stays that an upsert of them all would leave: the greatest value of the precombine field, of equal ones the
    latest commit, the latest of its rows. A key that one file group has twice is not touched there: insert and
    bulk_insert write what they are given.

    :param table: opened with its storage listed.
    """
    evidence = Evidence(table, reads_archive=False)
    if evidence.view is None or not evidence.view.latest_slices():
        return ()
    keys, reader = key_reader(evidence), evidence.reader(evidence.view)
    found: list[SurplusRows] = []
    with progress.phase("keys", len(evidence.view.latest_slices())) as phase:
        for scope in scopes_of(evidence):
            hashes = doubled_in(keys, scope, phase.advance)
            if len(hashes):
                found += _surplus_of(scope, [_rows_of(reader, one, keys.hashes_in(hashes)) for one in scope], reader)
    return tuple(found)


def _rows_of(reader: SliceReader, one: FileSlice, is_wanted: Any) -> pa.Table:
    """Key, place in its commit and ordering value of the wanted rows of a slice."""
    virtual = reader.virtual_keys
    stored = [] if virtual is not None else [RECORD_KEY, COMMIT_TIME, COMMIT_SEQNO]
    extra = [reader.ordering_field] if reader.ordering_field else []
    fields = [name.split(".")[0] for name in virtual.record_key_fields] if virtual is not None else []
    wanted = list(dict.fromkeys([*stored, *extra, *fields]))
    kept = [RECORD_KEY, *(name for name in wanted if name in (COMMIT_TIME, COMMIT_SEQNO, reader.ordering_field))]
    parts = []
    for batch in reader.read(one, wanted):
        keyed = with_keys(batch, virtual)
        parts.append(keyed.filter(is_wanted(keyed.column(RECORD_KEY))).select(kept))
    return pa.Table.from_batches(parts) if parts else pa.table({RECORD_KEY: pa.array([], pa.string())})


def _surplus_of(scope: Scope, rows: Sequence[pa.Table], reader: SliceReader) -> list[SurplusRows]:
    """The rows of one scope, which may be of several keys with one hash."""
    numbered = [
        part.append_column(_SLICE, pa.repeat(pa.scalar(number, pa.int32()), part.num_rows))
        for number, part in enumerate(rows)
        if part.num_rows
    ]
    together = pa.concat_tables(numbered)
    order = [name for name in (COMMIT_TIME, COMMIT_SEQNO) if name in together.column_names]
    if reader.ordering_field:
        ranks = dense_ranks(together.column(reader.ordering_field))
        together = together.append_column(_RANK, pa.array(ranks))
        order = [_RANK, *order]
    by = [(name, "ascending") for name in (*order, _SLICE)]
    together = together.sort_by(by).append_column(_ROW, pa.array(np.arange(together.num_rows)))
    last = together.group_by(RECORD_KEY).aggregate([(_ROW, "max"), (_SLICE, "count_distinct")])
    doubled = last.filter(pc.greater(last.column(f"{_SLICE}_count_distinct"), 1))
    stays = together.take(doubled.column(f"{_ROW}_max")).select([RECORD_KEY, _SLICE])
    kept_in = dict(zip(stays.column(RECORD_KEY).to_pylist(), stays.column(_SLICE).to_pylist(), strict=True))
    going: dict[int, set[str]] = {}
    for key, number in zip(together.column(RECORD_KEY).to_pylist(), together.column(_SLICE).to_pylist(), strict=True):
        if key in kept_in and kept_in[key] != number:
            going.setdefault(number, set()).add(key)
    return [SurplusRows(file_slice=scope[number], keys=tuple(sorted(going[number]))) for number in sorted(going)]


def remove_surplus(
    settings: TransactionSettings, table: HudiTable, surplus: Sequence[SurplusRows], progress: Progress
) -> str:
    """Delete the rows in one commit of operation delete, each from its own file group alone.

    :returns: the instant of the commit.
    :raises WriteConflictError: a writer changed one of the file groups since the rows were found.
    """
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    transaction = begin(settings, action)
    assert transaction is not None  # nothing was asked that could say no
    try:
        table = table.refreshed()
        refuse_changed(table.view().latest_slices(), [one.file_slice for one in surplus])
        max_file_size = parquet_keys.MAX_FILE_SIZE.of(NO_PROPERTIES)
        context = rewrite_context(table, NO_PROPERTIES, transaction.time, max_file_size=max_file_size)
        reader = slice_reader(table, context)
        transaction.to_inflight()
        stats: list[WriteStat] = []
        with progress.phase("doubled keys", len(surplus)) as phase:
            for number, one in enumerate(surplus):
                stats += _without(table, context, reader, one, TaskScope(number, f"{number}-0-{number}"))
                phase.advance()
        metadata = CommitMetadata(
            write_stats=tuple(stats),
            operation_type=OperationType.DELETE,
            extra_metadata=schema_of_rewrite(table, transaction.time),
        )
        touched = frozenset((one.file_slice.partition, one.file_slice.file_id) for one in surplus)
        return transaction.publish(metadata.payload(), touched, written=written_paths(stats)).timestamp
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        raise


def _without(
    table: HudiTable, context: WriteContext, reader: SliceReader, one: SurplusRows, scope: TaskScope
) -> list[WriteStat]:
    """The slice without the rows: a new base file, or a delete block where the table is MERGE_ON_READ."""
    wanted = pa.array(one.keys, pa.string())
    parts = []
    for batch in reader.read(one.file_slice, None):
        keyed = with_keys(batch, context.virtual_keys)
        parts.append(keyed.filter(pc.is_in(keyed.column(RECORD_KEY), value_set=wanted)))
    rows = pa.Table.from_batches(parts)
    _, first = np.unique(key_codes(rows.column(RECORD_KEY)), return_index=True)
    rows = rows.take(pa.array(first))
    changes = Changes(rows, np.ones(rows.num_rows, bool))
    if table.config.is_merge_on_read:
        pending = table.pending.compaction.get((one.file_slice.partition, one.file_slice.file_id))
        target = append_target(table.view(), one.file_slice, pending)
        return append_changes(context, scope, target, changes, hard_deletes=True)
    base = one.file_slice.base_file
    assert base is not None  # a COPY_ON_WRITE slice is a base file
    return [merge_base_file(context, scope, base, changes)]
