"""Small tables, written in this process one call after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NoReturn
from unittest.mock import patch

import pyarrow as pa

from spark_jobs.core.config.keys.datasource import PARTITIONS_TO_DELETE
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.write import perform
from spark_jobs.write.config import resolve
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.source_rows import write_source
from tests.support.deaths import in_another_process
from tests.support.folder import Where, as_folder, lake_of
from tests.support.jobs import job_context

_DEAD: Final = 7
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
AT_ONCE = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.write.lock.wait_time_ms": "10000",
}
WRITES = {
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
"""New keys begin file groups, and nothing is done behind a write."""
PARTITIONS = ("a", "b")


def batch(first: int, count: int, value: str, ts: int) -> pa.Table:
    """Records ``first`` to ``first + count``, spread over the partitions."""
    ids = range(first, first + count)
    return pa.table(
        {"id": ids, "p": [PARTITIONS[one % 2] for one in ids], "v": [value] * count, "ts": [ts] * count}, schema=SCHEMA
    )


def create(path: Where, table_type: str) -> HudiTable:
    return HudiTable.create(
        str(path),
        name="t",
        table_type=table_type,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=lake_of(path),
    )


def write(path: Where, rows: pa.Table, key: str, attempt: str = "") -> str:
    """Upsert rows; the instant that did it.

    :param attempt: the try of a task that it says of itself.
    """
    return _write(path, rows, key, Operation.UPSERT, attempt=attempt)


def delete(path: Where, rows: pa.Table, key: str) -> str:
    """Remove the keys of these rows, all of them known."""
    return _write(path, rows, key, Operation.DELETE)


def overwrite(path: Where, rows: pa.Table, partitions: Sequence[str], key: str) -> str:
    """Put rows in the place of all that the partitions have, which without rows is a delete_partition.

    :raises WriteConflictError: a pending plan has one of their file groups, as :func:`replaced_groups` says.
    """
    operation = Operation.INSERT_OVERWRITE if rows.num_rows else Operation.DELETE_PARTITION
    return _write(path, rows, key, operation, partitions)


def _write(
    path: Where,
    rows: pa.Table,
    key: str | None,
    operation: Operation,
    partitions: Sequence[str] = (),
    attempt: str = "",
) -> str:
    """By this process alone, one call after the other, without what a job does besides; the instant, empty where the
    partitions have no rows to delete.
    """
    table = HudiTable.open(str(path), lake=lake_of(path))
    named = {PARTITIONS_TO_DELETE.name: ",".join(partitions)} if operation is Operation.DELETE_PARTITION else {}
    options = IngestOptions(
        base_path=table.url,
        op=operation,
        idempotency_key=key,
        attempt=attempt or None,
        hoodie_conf=tuple({**WRITES, **AT_ONCE, **named}.items()),
    )
    config = resolve(options, table, table.lake)
    source = None if named else ArrowSource.of(rows, config.name)
    done = write_source(config, table, source, LocalEngine(table.clock), _progress())
    assert done.instant is not None or operation is Operation.DELETE_PARTITION
    return done.instant or ""


class _Died(BaseException):
    """The end of a process whose last words nobody hears."""


def begin_and_leave(path: Where, rows: pa.Table) -> None:
    """A write that put its files down and never publishes; its process is expected to die now."""

    def die(*given: object) -> None:
        raise _Died

    def nothing(*given: object) -> None:
        return

    with (
        patch.object(perform, "publish", die),
        patch.object(perform, "undo_failed_writes", nothing),
        patch.object(perform, "undo", nothing),
        patch.object(Transaction, "abandon", nothing),
        suppress(_Died),
    ):
        _write(path, rows, None, Operation.UPSERT)


def die_writing(path: Where, rows: pa.Table) -> None:
    """:func:`begin_and_leave` in another process, which is gone then."""
    assert in_another_process(partial(_with, dict(AT_ONCE), lambda: begin_and_leave(path, rows))) == 0


def die_calling(owner: object, name: str, work: Callable[[], object], *, after: bool = False) -> None:
    """Work in another process, with the settings of now, that dies where it would call this, or after that."""
    assert in_another_process(partial(_with, dict(AT_ONCE), lambda: _to_its_death(owner, name, work, after))) == _DEAD


def _with(settings: Mapping[str, str], work: Callable[[], object]) -> None:
    AT_ONCE.update(settings)
    work()


def _to_its_death(owner: object, name: str, work: Callable[[], object], after: bool) -> None:
    call = getattr(owner, name)

    def die(*given: object, **named: object) -> NoReturn:
        if after:
            call(*given, **named)
        os._exit(_DEAD)

    setattr(owner, name, die)
    work()


def compact(path: Where) -> None:
    run_compaction(
        CompactionOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path))
    )


def cluster(path: Where) -> None:
    run_clustering(
        ClusteringOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path))
    )


def clean(path: Where) -> None:
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path)))


def roll_back(path: Where) -> None:
    roll_back_failed_writes(HudiTable.open(str(path), lake=lake_of(path)).transaction_settings(AT_ONCE))


def rows_of(path: Where) -> list[tuple[object, ...]]:
    """The rows of a snapshot query with their meta fields but the file name, sorted."""
    return rows_in(HudiTable.open(str(path), lake=lake_of(path)))


def rows_in(table: HudiTable) -> list[tuple[object, ...]]:
    """:func:`rows_of` an open table."""
    found = table.scan().to_arrow()
    names = [RECORD_KEY, PARTITION_PATH, *SCHEMA.names]
    return sorted(zip(*(found.column(name).to_pylist() for name in names), strict=True))


def expected_rows(*batches: pa.Table) -> list[tuple[object, ...]]:
    """What a table holds after upserts in that order."""
    newest = {row["id"]: row for one in batches for row in one.to_pylist()}
    return sorted((str(row["id"]), row["p"], *row.values()) for row in newest.values())


def problems_of(path: Where) -> list[str]:
    """What a table must not have when nothing is under way (invariants 5, 7 and 12)."""
    folder = as_folder(path)
    table = folder.table(lists_storage=True)
    archived = table.archived_timeline().states
    completed = {one.timestamp for one in (*table.timeline.completed_commits(), *archived) if one.is_completed}
    found = [f"{one} is pending" for one in table.timeline.instants if not one.is_completed]
    for file in folder.walk():
        relative = str(file.relative_to(folder))
        base, log = table.config.format.parse_base_file(file.name), table.config.format.parse_log_file(file.name)
        if relative.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/")) or relative == ".hoodie/lock":
            found.append(f"{relative} was left")
        elif folder.storage.is_unpublished(file.name):
            found.append(f"{relative} was never published")
        elif base is not None and base.instant not in completed and ".hoodie/" not in relative:
            found.append(f"{relative} belongs to no completed instant")
        elif log is not None and ".hoodie/" not in relative:
            found += [
                f"{relative} {what}"
                for what in _problems_of_log(table.config.format, folder.storage, file.url, completed)
            ]
    for one in table.file_slices():
        found += [f"{name} is named by a live slice and missing" for name in one.paths if not (folder / name).is_file()]
    return found


def _problems_of_log(format: TableFormat, storage: Storage, path: str, completed: set[str]) -> list[str]:
    with storage.open_input(path) as file:
        instants = [block.instant for block in read_blocks(file) if not block.is_rollback and not block.is_corrupt]
    folder, name = path.rsplit("/", 1)
    mine = format.parse_log_file(name)
    assert mine is not None
    cancelled = set()
    for status in storage.list(folder):
        other = format.parse_log_file(status.name)
        if other and (other.file_id, other.instant) == (mine.file_id, mine.instant):
            with storage.open_input(status.path) as file:
                cancelled |= {block.target_instant for block in read_blocks(file) if block.is_rollback}
    return [f"has a block of {one}" for one in instants if one not in completed and one not in cancelled]


def _progress() -> Progress:
    return Progress("test")
