"""What undoing a completed write takes, and whether it may be undone (Hudi: ListingBasedRollbackStrategy,
BaseRollbackActionExecutor.validateRollbackCommitSequence).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.order import is_up_to, latest, precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.read.retained import refuse_cleaned
from spark_jobs.core.storage import FileStatus, join
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rollback import RollbackRequest
from spark_jobs.core.timeline.rolled_back import archived_after
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.core.view.pending import compaction_groups
from spark_jobs.services.rollback.work import RollbackWork


@dataclass(frozen=True, slots=True)
class FilesOfTable:
    """Data files as storage lists them: (partition, file id, file) by the instant in their name, and the logs of each
    group.
    """

    by_instant: Mapping[str, tuple[tuple[str, str, FileStatus], ...]]
    logs: Mapping[FileGroupKey, tuple[tuple[LogFileName, FileStatus], ...]]

    @staticmethod
    def of(format: TableFormat, files: Iterable[tuple[str, FileStatus]]) -> FilesOfTable:
        by_instant: dict[str, list[tuple[str, str, FileStatus]]] = {}
        logs: dict[FileGroupKey, list[tuple[LogFileName, FileStatus]]] = {}
        for partition, status in files:
            base, log = format.parse_base_file(status.name), format.parse_log_file(status.name)
            if base is not None:
                by_instant.setdefault(base.instant, []).append((partition, base.file_id, status))
            elif log is not None:
                by_instant.setdefault(log.instant, []).append((partition, log.file_id, status))
                if not log.is_cdc:
                    logs.setdefault((partition, log.file_id), []).append((log, status))
        return FilesOfTable(
            {instant: tuple(found) for instant, found in by_instant.items()},
            {key: tuple(found) for key, found in logs.items()},
        )


def touched_by(table: HudiTable, instant: Instant) -> frozenset[FileGroupKey] | None:
    """(partition, file id) of the groups to which a completed write, or the execution of a plan, may have added
    logs; None where it may be any, as of a write that is not completed any more.
    """
    if instant.is_completed:
        stats = table.timeline.commit_metadata(instant, table.clock).write_stats
        return frozenset((stat.partition_path, stat.file_id) for stat in stats)
    if instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        return frozenset(compaction_groups(table.timeline, instant, table.clock))
    return None if instant.action is Action.DELTA_COMMIT else frozenset()


def requests_to_undo(
    instant: str,
    touched: Collection[FileGroupKey] | None,
    files: FilesOfTable,
    goal: str,
    block_instants: Callable[[FileStatus], Collection[str]],
) -> tuple[RollbackRequest, ...]:
    """Files of the instant's own name go; on logs that were there before it a command block takes its blocks back.

    :param touched: groups whose logs may hold blocks of the instant; None for all.
    :param goal: the newest instant that is to stay (inclusive): the logs of later slices go with these.
    :param block_instants: instants of the data and delete blocks of a log file (reads it).
    """
    deletions: dict[tuple[str, str], list[str]] = {}
    for partition, file_id, status in files.by_instant.get(instant, ()):
        deletions.setdefault((partition, file_id), []).append(status.name)
    cancels: dict[tuple[str, str, str], dict[str, int]] = {}
    for key in sorted(files.logs if touched is None else touched):
        for log, status in files.logs.get(key, ()):
            if is_up_to(log.instant, goal) and log.instant != instant and instant in block_instants(status):
                cancels.setdefault((*key, log.instant), {})[status.name] = status.size
    return (
        *(
            RollbackRequest(partition=partition, file_id=file_id, base_instant=instant, delete=tuple(sorted(names)))
            for (partition, file_id), names in sorted(deletions.items())
        ),
        *(
            RollbackRequest(partition=partition, file_id=file_id, base_instant=base, cancel=logs)
            for (partition, file_id, base), logs in sorted(cancels.items())
        ),
    )


def work_to_undo(
    target: Instant,
    touched: Collection[FileGroupKey] | None,
    files: FilesOfTable,
    goal: str,
    block_instants: Callable[[FileStatus], Collection[str]],
) -> RollbackWork:
    """One write that vanishes; the arguments are those of :func:`requests_to_undo`."""
    made = files.by_instant.get(target.timestamp, ())
    return RollbackWork(
        target=target,
        keep_plan=False,
        requests=requests_to_undo(target.timestamp, touched, files, goal, block_instants),
        sizes={join(partition, status.name): status.size for partition, _, status in made},
    )


def work_for_completed(
    table: HudiTable, target: Instant, block_instants: Callable[[FileStatus], Collection[str]]
) -> RollbackWork:
    """One completed write, the last of its table: only the partitions that it wrote to are listed."""
    touched = touched_by(table, target) or frozenset()
    listing = StorageListing(table.storage, table.base_path)
    files = FilesOfTable.of(table.config.format, listing.files(sorted({partition for partition, _ in touched})))
    return work_to_undo(target, touched, files, target.timestamp, block_instants)


def refuse_rollback(table: HudiTable, target: Instant) -> None:
    """Only the last completed write may be undone, as long as what was there before it still is.

    :raises ConfigError: it is saved, another one came after it, or cleaning took what it replaced.
    :raises WriteConflictError: a later write or plan is pending, which may build on it.
    """
    timeline, time = table.timeline, target.timestamp
    if any(one.timestamp == time for one in timeline.completed(Action.SAVEPOINT)):
        raise ConfigError(
            f"commit {time} is saved and can't be rolled back",
            todo=f"savepoint.py --mode delete --instant-time {time} first",
            instant=time,
        )
    later = timeline.commits_after(time)
    if later:
        raise ConfigError(
            f"{len(later)} commit(s) came after {time}, the last is {later[-1].timestamp}",
            todo=f"roll them back first, newest first, or take the table back with restore.py --instant-time "
            f"{_before(timeline, time) or 'T'}",
            instant=time,
        )
    pending = [one for one in timeline.pending_writes() if one.follows(time)]
    if pending:
        raise WriteConflictError(
            f"{pending[0]} came after {time} and may build on it",
            todo="let it end, or take it back first: rollback.py for a write, --mode cancel for a plan",
            instant=pending[0].timestamp,
        )
    refuse_pending_clean(table)
    before = _before(timeline, time)
    archived = [one for one in archived_after(timeline, before) if precedes(one, time)] if before else []
    if archived:  # behind a savepoint
        raise ConfigError(
            f"commit {archived[-1]}, which came before {time}, is archived, and {time} can't be rolled back",
            todo="keep more commits on the active timeline (hoodie.keep.min.commits)",
            instant=time,
        )
    if before:
        refuse_cleaned(timeline, table.view, before, table.clock)
    elif timeline.has_archive:
        raise ConfigError(
            f"commit {time} is the only one that is not archived, and can't be rolled back",
            todo="keep more commits on the active timeline (hoodie.keep.min.commits)",
            instant=time,
        )


def refuse_pending_clean(table: HudiTable) -> None:
    """What a clean was planned to delete may be what is needed again.

    :raises WriteConflictError: one is pending.
    """
    for pending in table.timeline.pending({Action.CLEAN}):
        if table.timeline.has_content(pending.at(State.REQUESTED)):  # without a plan it deletes nothing
            raise WriteConflictError(
                f"clean {pending.timestamp} is pending, and was planned for the table as it is now",
                todo="run clean.py, which finishes it, then try once more",
                instant=pending.timestamp,
            )


def _before(timeline: ActiveTimeline, time: str) -> str:
    return latest(one.timestamp for one in timeline.commits_before(time))


def completed_write(timeline: ActiveTimeline, time: str) -> Instant | None:
    return next((one for one in timeline.find(time) if one.is_completed and one.action in COMMITS), None)
