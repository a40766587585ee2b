"""A write that changes file groups of a pending clustering (Hudi: SparkRejectUpdateStrategy, SparkAllowUpdateStrategy,
BaseSparkCommitActionExecutor.clusteringHandleUpdate).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from spark_jobs.core.config.keys.clustering import ROLLBACK_PENDING_CLUSTERING
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.order import follows, oldest_first
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.transaction.rules import ConflictRules
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.written_files import CommittedFiles
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import finish_rollbacks, is_alive


def settle_updates(
    table: HudiTable, properties: Mapping[str, str], touched: Iterable[FileGroupKey], notify: Callable[[str], None]
) -> None:
    """Asked before the first file of a write is made, with the file groups that it changes.

    Where updates are allowed, the write goes on and the clustering will be refused when it wants to be published; or,
    if the configuration says so, its plan is taken back now.

    :raises WriteConflictError: updates are rejected, or a worker executes the plan that is to be taken back.
    """
    pending = table.pending.clustering
    met = {key: pending[key] for key in touched if key in pending}
    if not met:
        return
    (partition, file_id), instant = min(met.items())
    if ConflictRules.of(properties).yields_to_clusterings:
        raise WriteConflictError(
            f"file group {file_id} in partition {partition!r} is part of the pending clustering {instant} "
            f"({len(met)} such file group(s) are changed)",
            todo="run the clustering to its end or take it back, then write again",
            instant=instant,
        )
    if ROLLBACK_PENDING_CLUSTERING.of(properties):
        _take_back(table.transaction_settings(properties), frozenset(met.values()), notify)


def refuse_overtaken(table: HudiTable, instant: str, slices: Collection[FileSlice]) -> None:
    """A write that was under way when the plan was made is older than the plan, and may be completed after it: its rows
    are in none of the files that the plan reads.

    :param slices: those of the plan.
    :raises WriteConflictError: a completed write put another file into one of their file groups.
    """
    planned = {(one.partition, one.file_id): one for one in slices}
    written = CommittedFiles(table.timeline, table.clock)
    for now in table.view(sorted({one.partition for one in slices})).latest_slices():
        one = planned.get((now.partition, now.file_id))
        other = None if one is None else _written_beside(written, one, now)
        if other is not None:
            raise WriteConflictError(
                f"clustering {instant} was planned without what {other} wrote to file group {now.file_id} in partition "
                f"{now.partition!r}",
                todo=f"take the plan back (`--mode cancel --instant-time {instant}`), it is out of date",
                instant=instant,
                other=other,
            )


def _written_beside(written: CommittedFiles, planned: FileSlice, now: FileSlice) -> str | None:
    """The completed write that a slice has files of, and the same slice of a plan not."""
    if follows(now.base_instant, planned.base_instant):
        return now.base_instant
    logs = {str(log.name) for log in now.log_files} - {str(log.name) for log in planned.log_files}
    if not logs:
        return None
    since = written.since(planned.base_instant)
    return next((time for time, files in since.items() if any(one.name in logs for one in files)), None)


def _take_back(settings: TransactionSettings, instants: frozenset[str], notify: Callable[[str], None]) -> None:
    with settings.new_lock() as locked:
        finish_rollbacks(locked)
        for time in oldest_first(instants):
            for instant in locked.load_timeline().find(time):
                if instant.is_completed:
                    continue  # meanwhile; the conflict shows when the write is published
                if is_alive(locked, instant):
                    raise WriteConflictError(
                        f"a worker executes the clustering {time}, which this write would take back",
                        todo="run it again when the clustering is done",
                        instant=time,
                    )
                rollback = roll_back(locked, locked.load_timeline(), instant)
                notify(f"clustering {time} gives way to this write and was taken back (rollback {rollback.timestamp})")
