"""Which service would help, with the numbers that say so; pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.options.archive import ARCHIVAL
from spark_jobs.options.clean import CLEANING
from spark_jobs.options.ingest import INGEST
from spark_jobs.options.job import Job
from spark_jobs.options.service import CLUSTERING, COMPACTION
from spark_jobs.options.validate import VALIDATION
from spark_jobs.services.health.facts import Health, PendingInstant, readable

_HEAVY_LOGS = 0.5
"""Log bytes by base bytes from which on reading pays for what compaction would save."""
_SKEWED = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """``job`` and ``operator`` do ``service``; empty where none does. ``urgent``: it costs or blocks something now."""

    service: str
    job: str
    operator: str
    why: str
    urgent: bool

    @staticmethod
    def by(job: Job, why: str, *, urgent: bool, service: str = "") -> Advice:
        """:param service: what is to be done, where that is not the job's own name."""
        return Advice(service=service or job.name, job=job.file, operator=job.operator, why=why, urgent=urgent)

    def to_json(self) -> dict[str, object]:
        return {
            "service": self.service,
            "job": self.job,
            "operator": self.operator,
            "why": self.why,
            "urgent": self.urgent,
        }


def advise(health: Health) -> tuple[Advice, ...]:
    """What to do, the urgent first."""
    found = [
        *_faults(health),
        *_compaction(health),
        *_pending(health),
        *_leftovers(health),
        *_clustering(health),
        *_cleaning(health),
        *_archival(health),
        *_metadata(health),
        *_skew(health),
    ]
    return tuple(sorted(found, key=lambda one: not one.urgent))


def _compaction(health: Health) -> Iterator[Advice]:
    since, due = health.commits_since_compaction, health.limits.compact_after
    if since is None or not health.logs:
        return
    heavy = health.log_share >= _HEAVY_LOGS
    if since < due and not heavy:
        return
    share = f"{health.log_share:.0%} of the base files' bytes" if health.base_bytes else "all there is"
    why = f"{since} delta commit(s) since the last compaction ({due} make it due); {health.logs} logs hold "
    why += f"{readable(health.log_bytes)}, {share}"
    yield Advice.by(COMPACTION, why, urgent=since >= 2 * due or heavy)


def _pending(health: Health) -> Iterator[Advice]:
    for one in health.pending:
        if not one.overdue:
            continue
        yield Advice(service=one.service, job=one.job, operator=one.operator, why=_overdue(one), urgent=True)


def _faults(health: Health) -> Iterator[Advice]:
    for one in health.faults:
        why = f"{one}: what depends on it was not measured"
        yield Advice.by(VALIDATION, why, urgent=True)


def _overdue(one: PendingInstant) -> str:
    blocks = "cleaning and archival stop before it"
    if one.action == "restore":
        blocks = "the table is half undone, and no write or service starts"
    return f"{one.action} {one.instant} has been {one.state} for {one.hours:.0f} h and no process executes it: {blocks}"


def _leftovers(health: Health) -> Iterator[Advice]:
    left = health.leftovers
    if not (left.files or left.marker_folders or left.heartbeats):
        return
    parts = [f"{left.files} data file(s) of no instant ({readable(left.bytes)})"] if left.files else []
    parts += [f"{left.marker_folders} marker folder(s)"] if left.marker_folders else []
    parts += [f"{left.heartbeats} heartbeat(s)"] if left.heartbeats else []
    why = f"{', '.join(parts)} left behind, such as {left.paths[0]}"
    if left.files:  # what deletes them is a person's choice, after a look
        yield Advice(service="leftovers", job=VALIDATION.file, operator="", why=why, urgent=False)
    else:
        yield Advice.by(CLEANING, why, urgent=False, service="leftovers")


def _clustering(health: Health) -> Iterator[Advice]:
    if not health.mergeable_files:
        return
    files = max(1, math.ceil(health.small_bytes / max(health.limits.max_file, 1)), health.mergeable_partitions)
    if health.mergeable_files < 2 * files:
        return
    why = (
        f"{health.mergeable_files} of {health.base_files} base files are small (below "
        f"{readable(health.limits.small_file)}) beside others in {health.mergeable_partitions} partition(s), and "
        f"would become about {files}"
    )
    urgent = health.mergeable_files >= 10 * files
    yield Advice.by(CLUSTERING, why, urgent=urgent)


def _cleaning(health: Health) -> Iterator[Advice]:
    if not health.cleanable_files or health.commits_since_clean < health.limits.clean_after:
        return
    last = f"since the last clean, {health.last_clean}" if health.last_clean else "and never cleaned"
    why = (
        f"{health.cleanable_files} files ({readable(health.cleanable_bytes)}) are older than what "
        f"{health.limits.retained} retains; {health.commits_since_clean} commit(s) {last}"
    )
    urgent = health.cleanable_bytes > health.base_bytes + health.log_bytes
    yield Advice.by(CLEANING, why, urgent=urgent)


def _archival(health: Health) -> Iterator[Advice]:
    if not health.archivable:
        return
    why = (
        f"{health.active_commits} commits on the active timeline, {health.limits.keep_commits} are the most to keep "
        f"(hoodie.keep.max.commits, or what cleaning retains); {health.archivable} instant(s) can go; every reader and "
        f"writer lists its {health.timeline_files} files"
    )
    urgent = health.active_commits > 3 * health.limits.keep_commits
    yield Advice.by(ARCHIVAL, why, urgent=urgent)


def _metadata(health: Health) -> Iterator[Advice]:
    metadata = health.metadata
    if metadata is None:
        return
    if metadata.fault:
        why = f"the metadata table is listed and unreadable ({metadata.fault}): readers list the storage"
        yield Advice(service="metadata table", job=VALIDATION.file, operator="", why=why, urgent=True)
    elif metadata.commits > 2 * health.limits.metadata_compact_after:
        why = (
            f"the metadata table has {metadata.commits} delta commits since its compaction "
            f"({health.limits.metadata_compact_after} make it due) in {metadata.logs} logs: something pending on the "
            "table may keep the next commit from compacting it"
        )
        yield Advice.by(INGEST, why, urgent=False, service="metadata table")


def _skew(health: Health) -> Iterator[Advice]:
    if health.skew < _SKEWED or health.partitions < 3:
        return
    one = health.largest_partitions[0]
    why = (
        f"partition {one.partition!r} has {readable(one.bytes)}, {health.skew:.0f} times the median of "
        f"{readable(health.median_partition_bytes)}: a finer partition path, or sorting by clustering"
    )
    yield Advice.by(CLUSTERING, why, urgent=False, service="partitioning")
