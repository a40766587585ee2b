"""Which job ends an instant that was left pending."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import HudiError
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.instant import Action, Instant
from spark_jobs.core.view.pending import replaced_by_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """``job`` and ``operator`` do ``service``; ``todo`` says how."""

    service: str
    job: str
    operator: str
    todo: str


def way_out(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> WayOut:
    """:param instant: a pending one."""
    execute = f"--mode execute --instant-time {instant.timestamp}"
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        service = "compaction" if instant.action is Action.COMPACTION else "log compaction"
        return _of(service, "compact.py", "HudiCompactionOperator", f"execute it: compact.py {execute}")
    if instant.action is Action.REPLACE_COMMIT:
        return _of_replacement(timeline, instant, clock, execute)
    if instant.action is Action.CLEAN:
        return _of("cleaning", "clean.py", "HudiCleanOperator", "the next clean.py finishes it")
    if instant.action is Action.INDEXING:
        return _of("indexing", "index.py", "HudiIndexingOperator", f"execute it: index.py {execute}")
    if instant.action is Action.RESTORE:
        todo = "run restore.py again, which finishes it: until then nothing else writes to the table"
        return _of("restore", "restore.py", "HudiRestoreOperator", todo)
    if instant.action is Action.ROLLBACK:
        return _of("rollback", "rollback.py", "HudiRollbackOperator", "the next rollback.py finishes it")
    return _undo("the next write or clean.py rolls it back, or rollback.py")


def _of_replacement(timeline: ActiveTimeline, instant: Instant, clock: Clock, execute: str) -> WayOut:
    """Clusterings have a plan that names file slices; overwrites and deleted partitions have none."""
    try:
        is_clustering = bool(replaced_by_plan(timeline, instant, clock))
    except HudiError:
        return _of(
            "validation", "validate.py", "HudiValidateOperator", "its plan is unreadable: restore it from a copy"
        )
    if is_clustering:
        return _of("clustering", "cluster.py", "HudiClusteringOperator", f"execute it: cluster.py {execute}")
    return _undo("it is no clustering: the next write or clean.py rolls it back, or rollback.py")


def _undo(todo: str) -> WayOut:
    return _of("rollback", "rollback.py", "HudiRollbackOperator", todo)


def _of(service: str, job: str, operator: str, todo: str) -> WayOut:
    return WayOut(service=service, job=job, operator=operator, todo=todo)
