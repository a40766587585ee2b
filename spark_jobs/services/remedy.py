"""Which job ends an instant that was left pending."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.options.clean import CLEANING
from spark_jobs.options.indexing import INDEXING
from spark_jobs.options.job import Job
from spark_jobs.options.restore import RESTORE
from spark_jobs.options.rollback import ROLLBACK
from spark_jobs.options.service import CLUSTERING, COMPACTION
from spark_jobs.options.validate import VALIDATION


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """``job`` does ``service``; ``todo`` says how."""

    service: str
    job: Job
    todo: str


def remedy_of(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> Remedy:
    """:param instant: a pending one."""
    action = instant.action
    if action is Action.LOG_COMPACTION:
        return Remedy(service="log compaction", job=COMPACTION, todo=_execute(COMPACTION, instant))
    if action is Action.REPLACE_COMMIT:
        return _of_replacement(timeline, instant, clock)
    if action in (Action.COMPACTION, Action.INDEXING):
        job = COMPACTION if action is Action.COMPACTION else INDEXING
        return _by(job, _execute(job, instant))
    if action is Action.RESTORE:
        return _by(RESTORE, f"run {RESTORE.file} again, which finishes it: until then nothing else writes to the table")
    if action in (Action.CLEAN, Action.ROLLBACK):
        job = CLEANING if action is Action.CLEAN else ROLLBACK
        return _by(job, f"the next {job.file} finishes it")
    return _by(ROLLBACK, _ROLLED_BACK)


_ROLLED_BACK = f"the next write or {CLEANING.file} rolls it back, or {ROLLBACK.file}"


def _of_replacement(timeline: ActiveTimeline, instant: Instant, clock: Clock) -> Remedy:
    """Clusterings have a plan that names file slices; overwrites and deleted partitions have none."""
    try:
        is_clustering = bool(replaced_by_plan(timeline, instant, clock))
    except HudiError:
        return _by(VALIDATION, "its plan is unreadable: restore it from a copy")
    if is_clustering:
        return _by(CLUSTERING, _execute(CLUSTERING, instant))
    return _by(ROLLBACK, f"it is no clustering: {_ROLLED_BACK}")


def _execute(job: Job, instant: Instant) -> str:
    return f"execute it: {job.file} --mode execute --instant-time {instant.timestamp}"


def _by(job: Job, todo: str) -> Remedy:
    return Remedy(service=job.name, job=job, todo=todo)
