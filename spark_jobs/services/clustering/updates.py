"""A write that changes file groups of a pending clustering (Hudi: SparkRejectUpdateStrategy, SparkAllowUpdateStrategy,
BaseSparkCommitActionExecutor.clusteringHandleUpdate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from spark_jobs.core.config.service_keys import ROLLBACK_PENDING_CLUSTERING
from spark_jobs.core.config.strategy_keys import UPDATES_STRATEGY, UpdatesStrategy
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import finish_rollbacks, is_alive


def settle_updates(
    table: HudiTable, properties: Mapping[str, str], touched: Iterable[FileGroupKey], tell: Callable[[str], None]
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
    if UPDATES_STRATEGY.of(properties) is UpdatesStrategy.REJECT:
        raise WriteConflictError(
            f"file group {file_id} in partition {partition!r} is part of the pending clustering {instant} "
            f"({len(met)} such file group(s) are changed)",
            todo="run the clustering to its end or take it back, then write again",
            instant=instant,
        )
    if ROLLBACK_PENDING_CLUSTERING.of(properties):
        _take_back(table.transaction_settings(properties), frozenset(met.values()), tell)


def _take_back(settings: TransactionSettings, instants: frozenset[str], tell: Callable[[str], None]) -> None:
    with settings.new_lock() as locked:
        finish_rollbacks(locked)
        for time in sorted(instants):
            for instant in locked.load_timeline().find(time):
                if instant.is_completed:
                    continue  # meanwhile; the conflict shows when the write is published
                if is_alive(locked, instant):
                    raise WriteConflictError(
                        f"a worker executes the clustering {time}, which this write would take back",
                        todo="run it again when the clustering is done",
                        instant=time,
                    )
                undone = roll_back(locked, locked.load_timeline(), instant)
                tell(f"clustering {time} gives way to this write and was taken back (rollback {undone.timestamp})")
