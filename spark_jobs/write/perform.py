"""One write from its begin to its commit, and back where it fails, whatever reads its rows and does its work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from spark_jobs.core.clock import drawn
from spark_jobs.core.config.keys.write import CONFLICT_RETRIES
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rewriting import requested_overwrite
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, begin
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.result import JobResult
from spark_jobs.services.cleaning.removed import removed_meanwhile
from spark_jobs.services.inline import run_inline_services
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.rollback.failed_writes import undo, undo_failed_writes
from spark_jobs.services.upkeep import maintain_table
from spark_jobs.write.config import REPLACES, WriteConfig
from spark_jobs.write.once import is_free, settle
from spark_jobs.write.outcome import already_done
from spark_jobs.write.publish import Written, publish
from spark_jobs.write.stored_schema import StoredSchema

Work: TypeAlias = Callable[[HudiTable, Transaction], tuple[StoredSchema, Written]]
"""Writes the files of an instant that has begun, to the table as it stands then."""
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0


def perform(
    config: WriteConfig,
    table: HudiTable,
    work: Work,
    engine: Engine,
    progress: Progress,
    *,
    let_tasks_end: Callable[[], None] = lambda: None,
) -> JobResult:
    """Write once: nothing where the write of this idempotency key stands already.

    :param let_tasks_end: waits for those of a failed write that may still make files.
    :raises WriteConflictError: another writer was faster, in each of the tries; nothing of this write is left.
    """
    settings = table.transaction_settings(config.properties)
    # of rows that a checkpoint counts another run may have written some: they are read anew, by a run of its own
    retries = CONFLICT_RETRIES.of(config.properties) if config.checkpoint is None else 0
    tried = 1
    while True:
        transaction = _begun(config, settings, progress)
        if isinstance(transaction, JobResult):
            return transaction
        try:
            written_to, result = _carried_out(config, table, transaction, work, progress, let_tasks_end)
            break
        except WriteConflictError as error:
            if tried > retries or settings.load_timeline().completion(transaction.instant).found(settings.storage):
                raise
            seconds = drawn(settings.clock, min(_FIRST_PAUSE_S * 2**tried, _LONGEST_PAUSE_S))
            progress.note(f"{error.what}; written again in {seconds:.1f} s (try {tried + 1} of {retries + 1})")
        settings.clock.sleep(seconds)
        tried += 1
    maintain_metadata_table(settings, config.properties, progress.note)
    maintain_table(settings, config.properties, progress)
    run_inline_services(engine, written_to, config.properties, progress)
    return result if tried == 1 else replace(result, extra={**result.extra, "tries": tried})


def _carried_out(
    config: WriteConfig,
    table: HudiTable,
    transaction: Transaction,
    work: Work,
    progress: Progress,
    let_tasks_end: Callable[[], None],
) -> tuple[HudiTable, JobResult]:
    """The files and the commit of an instant that has begun, and the table as it was then; back where one fails."""
    settings = transaction.settings
    try:
        table = table.refreshed()
        placed_by = table.timeline
        stored, written = work(table, transaction)
        with progress.phase("publish"):
            return table, publish(config, table, stored, transaction, written, progress, placed_by)
    except BaseException as error:
        if isinstance(error, Exception):  # who interrupts the job doesn't wait
            let_tasks_end()
        transaction.abandon()
        undo(settings, transaction.time, progress.note)
        conflict = removed_meanwhile(error, table.timeline, settings) if isinstance(error, Exception) else None
        if conflict is None:
            raise
        raise conflict from error


def _begun(config: WriteConfig, settings: TransactionSettings, progress: Progress) -> Transaction | JobResult:
    """The instant of this write, or the result of the one that did it before."""
    key = config.options.idempotency_key
    while True:
        done = settle(settings, key, progress.note) if key else None
        if done is not None:
            return already_done(config, *done)
        with progress.phase("begin"):
            undo_failed_writes(settings, progress)
            transaction = begin(
                settings,
                config.action,
                idempotency_key=key,
                plan=requested_overwrite() if config.operation in REPLACES else b"",
                allowed=lambda line: key is None or is_free(settings, line, key),
            )
        if transaction is not None:
            return transaction
