"""Invariant 3: writes whose completed file was lost, so that they look pending.

What they replaced counts again, and what they made does not, for readers that can't know better.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.listing import MetadataListing
from spark_jobs.core.read.lost_completion import is_saved, is_unmarked, left_by_writers
from spark_jobs.core.timeline.plans.rewriting import RequestedClustering
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error
from spark_jobs.services.validation.leftovers import block_instants

_RESTORE = "restore it from a copy of the table; rows written since it was lost may have to be written again"


def check_lost_completions(evidence: Evidence) -> Iterator[Finding]:
    """Those upon which later writes were built, and those that have files and no markers: these go when the completed
    file is there.
    """
    built = dict(_built_upon(evidence))
    left = frozenset(left_by_writers(evidence.later))
    for pending in evidence.later.filter(lambda one: one.state is State.INFLIGHT and one.action in COMMITS):
        completed = evidence.instant_path(pending.at(State.COMPLETED))
        if pending.timestamp in built:
            what = (
                f"it is missing: instant {built[pending.timestamp]} was built upon files of {pending.timestamp}, which "
                "looks pending; what it replaced counts again, and what it made does not"
            )
            yield error(3, completed, what, _RESTORE)
        elif is_saved(evidence.later, pending) and pending in left:
            what = f"it was lost: {pending.timestamp} looks pending, and is saved"
            yield error(3, completed, what, _RESTORE)
        elif pending in left and (found := _of_unmarked(evidence, pending)) is not None:
            what = f"it was lost: {found} is of {pending.timestamp}, which looks pending, and its markers are gone"
            yield error(3, completed, what, _RESTORE)


def _built_upon(evidence: Evidence) -> Iterator[tuple[str, str]]:
    """A pending write and the first that was built upon it; upon the buckets of a pending resizing writers log too."""
    pending = {one.timestamp: one for one in evidence.later.pending(COMMITS) if one.state is State.INFLIGHT}
    found: dict[str, str] = {}
    for instant, metadata in evidence.commits.items():
        for stat in metadata.write_stats:
            if stat.prev_commit in pending:
                found.setdefault(stat.prev_commit, instant.timestamp)
    for time, later in found.items():
        one, is_replacement = pending[time], pending[time].action is Action.REPLACE_COMMIT
        plan = RequestedClustering.read(evidence.later, one, evidence.table.clock) if is_replacement else None
        if plan is None or not plan.resizes_buckets:
            yield time, later


def _of_unmarked(evidence: Evidence, pending: Instant) -> str | None:
    """A file of a write that nobody is at, or where one is listed, if its markers are gone.

    A plan that was undone before is carried out at its old time, of which nothing can be said.
    """
    table, time = evidence.table, pending.timestamp
    if time in evidence.rolled_back:
        return None
    if not is_unmarked(evidence.later, pending, table.base_path, table.heartbeats, table.clock):
        return None
    found = _file_of(evidence, pending)
    return found if found is not None and pending in evidence.timeline.reload().instants else None


def _file_of(evidence: Evidence, pending: Instant) -> str | None:
    logs, time = [], pending.timestamp
    for path, status in evidence.on_storage.items():
        base = evidence.format.parse_base_file(status.name)
        if base is not None and base.instant == time:
            return path
        if evidence.format.parse_log_file(status.name) is not None and path not in evidence.written:
            logs.append(path)
    table = evidence.table
    if table.config.lists(MetadataPartition.FILES):
        on_storage = StorageListing(table.storage, table.base_path)
        listing = MetadataListing(table.storage, table.base_path, evidence.later, table.clock, on_storage)
        if (added := listing.added_by(pending, None)) is not None:
            return f"{added} in the metadata table"
    return next((path for path in logs if time in block_instants(evidence, path)[0]), None)
