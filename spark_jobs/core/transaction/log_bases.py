"""Whether the file slices that a write put its logs on are still there.

A log carries the instant of its slice in its name: of the completed write that made the slice, of the compaction that
will make it, or, where the log is the first file of its group, of its own write (Hudi: HoodieAppendHandle). A log on
any other instant is of no slice, and no reader opens it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.order import precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.active import ActiveTimeline


def base_instants(format: TableFormat, written: Iterable[str]) -> dict[str, str]:
    """Base instant of log files -> one path of those that have it; other paths are passed over."""
    found: dict[str, str] = {}
    for path in written:
        name = path.rpartition("/")[2]
        log = format.parse_log_file(name)
        if log is not None:
            found[log.instant] = min(path, found.get(log.instant, path))
    return found


def logs_of_no_slice(timeline: ActiveTimeline, own: str, written: Iterable[str]) -> dict[str, str]:
    """:func:`base_instants` without those of slices that a reader of this timeline has, or will have.

    :param own: the time of the write, which begins slices itself.
    """
    others = {base: path for base, path in base_instants(timeline.format, written).items() if base != own}
    if not others:
        return {}
    makes_slices = slice_makers(timeline)
    return {base: path for base, path in sorted(others.items()) if not makes_slices(base)}


def slice_makers(timeline: ActiveTimeline) -> Callable[[str], bool]:
    """Whether a reader of this timeline has slices of an instant, or will have: it is a completed write, or a pending
    compaction.
    """
    done = {one.timestamp for one in timeline.completed_commits()}
    planned = {one.timestamp for one in timeline.pending({Action.COMPACTION})}
    start = timeline.unbroken_from

    def makes_slices(base: str) -> bool:
        # what is older than the timeline can't have been taken back since a reader saw it
        return base in done or base in planned or precedes(base, start) or timeline.archive.has(base)

    return makes_slices


def refuse_logs_of_no_slice(timeline: ActiveTimeline, own: str, written: Iterable[str]) -> None:
    """
    :raises WriteConflictError: a log of the write ``own`` is of no slice: what made it was taken back meanwhile.
    """
    for base, path in logs_of_no_slice(timeline, own, written).items():
        raise WriteConflictError(
            f"instant {own} may not be published, its log {path} lies on the slice of {base}, which is no completed "
            "write and no pending compaction: another process took it back",
            todo="run it again; nothing of it is visible",
            instant=own,
            other=base,
        )
