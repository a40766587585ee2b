"""Invariant 7: logs on a slice that was taken back, which hide a file group's rows, or will.

While the instant of their slice is younger than the begin of the timeline, no reader opens them. Later every reader
takes it for an archived one, and their slice for the newest of its file group.
"""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.core.format.folders import METADATA_FOLDER
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.order import BEFORE_ALL, follows, is_from, latest, precedes
from spark_jobs.core.metadata_table.table import REBUILD
from spark_jobs.core.view.file_system_view import GroupKey
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning
from spark_jobs.services.validation.leftovers import block_instants

_LATER = "compact or cluster its file group: the slice that this makes is the newest, and cleaning takes the others"
_RESTORE = "restore it from a copy of the table; rows written since it was lost may have to be written again"
_NOW = "delete it, since its blocks were rolled back"


def check_hidden_slices(evidence: Evidence) -> Iterator[Finding]:
    """Logs of no completed write whose slice would be the newest of a live file group that has a slice."""
    if evidence.archived is None or evidence.table.base_path.endswith(f"/{METADATA_FOLDER}"):
        return  # Hudi begins the file groups of a metadata table with logs that no commit names
    newest: dict[GroupKey, str] = {}
    strays: dict[GroupKey, list[tuple[str, str]]] = {}
    for path, status in evidence.on_storage.items():
        partition = path.rpartition("/")[0]
        base, log = evidence.format.parse_base_file(status.name), evidence.format.parse_log_file(status.name)
        if base is not None and base.instant in evidence.done:
            _raise(newest, (partition, base.file_id), base.instant)
        elif log is not None and log.instant in evidence.done:
            _raise(newest, (partition, log.file_id), log.instant)
        elif log is not None and log.instant not in evidence.pending and path not in evidence.written:
            strays.setdefault((partition, log.file_id), []).append((log.instant, path))
    for key, found in strays.items():
        for instant, path in found:
            if precedes(newest.get(key, instant), instant) and key not in evidence.replaced:
                instants, _ = block_instants(evidence, path)
                if not instants & (evidence.done | evidence.pending):
                    yield _finding(evidence, instant, path, newest[key])


def check_lost_compactions(evidence: Evidence) -> Iterator[Finding]:
    """Compactions without a completed file upon which later ones built: what is logged now, goes to their slices."""
    reported: set[str] = set()
    for group in evidence.view.live_groups() if evidence.view is not None else ():
        pending, newest = group.pending_compaction, group.slices[0].base_instant
        if pending is not None and follows(newest, pending) and pending not in reported:
            reported.add(pending)
            what = (
                f"it is missing: the slice of {newest} of file group {group.file_id} was made after the compaction of "
                f"{pending} that looks pending; no reader sees what is written to the slice of {pending} meanwhile"
            )
            done = Instant(pending, Action.COMPACTION, State.REQUESTED).at(State.COMPLETED)
            yield error(3, evidence.instant_path(done), what, _RESTORE)


def _raise(newest: dict[GroupKey, str], key: GroupKey, instant: str) -> None:
    newest[key] = latest((instant, newest.get(key, BEFORE_ALL)))


def _finding(evidence: Evidence, instant: str, path: str, hidden: str) -> Finding:
    what = f"it lies on a slice of instant {instant}, which was taken back"
    start = evidence.timeline.unbroken_from
    if not start or is_from(instant, start):
        what = f"{what}; it hides the slice of {hidden} once the timeline begins after {instant}"
        return warning(7, path, what, _LATER)
    what = f"{what}, and hides the slice of {hidden}: readers take {instant} for archived"
    return error(7, path, what, f"{_NOW}; then {REBUILD}" if evidence.table.config.metadata_partitions else _NOW)
