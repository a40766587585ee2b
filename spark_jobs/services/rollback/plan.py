"""What undoing a pending instant takes (Hudi: MarkerBasedRollbackStrategy, ListingBasedRollbackStrategy)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.timeline.plans.rollback import RollbackRequest


def plan_by_markers(
    format: TableFormat,
    markers: Iterable[Marker],
    is_stray: Callable[[str, LogFileName], bool] = lambda partition, log: False,
) -> tuple[RollbackRequest, ...]:
    """Every file that was made, or may have been: created and merged files go, appended logs are cancelled.

    :param is_stray: whether a log is of no slice. It goes too, since a command block would be one more file that no
        reader opens, and no cleaning takes (Hudi deletes those that ListingBasedRollbackStrategy finds on slices which
        the instant itself began, and leaves all others).
    """
    requests = []
    for marker in markers:
        log = format.parse_log_file(marker.file_name)
        base = format.parse_base_file(marker.file_name)
        if marker.kind is MarkerType.APPEND and log is not None:
            requests.append(_of_log(marker.partition, log, is_stray))
        elif base is not None:
            requests.append(_delete(marker.partition, base.file_id, base.instant, marker.file_name))
        else:  # a log or change-data file made by a create marker
            file_id, instant = (log.file_id, log.instant) if log else ("", "")
            requests.append(_delete(marker.partition, file_id, instant, marker.file_name))
    return tuple(requests)


def plan_by_listing(
    format: TableFormat,
    instant: Instant,
    files: Iterable[tuple[str, FileStatus]],
    block_instants: Callable[[str, FileStatus], Sequence[str]],
    is_stray: Callable[[str, LogFileName], bool] = lambda partition, log: False,
) -> tuple[RollbackRequest, ...]:
    """For an instant without markers: base files of its time go; logs with a block of it are cancelled.

    :param block_instants: instants of the data and delete blocks of a log file (reads it).
    :param is_stray: as of :func:`plan_by_markers`.
    """
    requests = []
    for partition, status in files:
        base = format.parse_base_file(status.name)
        if base is not None and base.instant == instant.timestamp:
            requests.append(_delete(partition, base.file_id, base.instant, status.name))
        log = format.parse_log_file(status.name)
        if log is None or instant.action is Action.COMPACTION or instant.precedes(log.instant):
            continue
        if instant.timestamp in block_instants(partition, status):
            requests.append(_of_log(partition, log, is_stray))
    return tuple(requests)


def _delete(partition: str, file_id: str, base_instant: str, name: str) -> RollbackRequest:
    return RollbackRequest(partition=partition, file_id=file_id, base_instant=base_instant, delete=(name,))


def _of_log(partition: str, log: LogFileName, is_stray: Callable[[str, LogFileName], bool]) -> RollbackRequest:
    if is_stray(partition, log):
        return _delete(partition, log.file_id, log.instant, str(log))
    return _cancel(partition, log)


def _cancel(partition: str, log: LogFileName) -> RollbackRequest:
    return RollbackRequest(partition=partition, file_id=log.file_id, base_instant=log.instant, cancel={str(log): 1})
