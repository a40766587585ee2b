"""The paths in plans and results: whatever wrote them, they name files of the table or they are an error.

Hudi's records hold names, paths below the base path and whole paths; a whole one tells the place that the table had
when it was written. All of them stand beside a partition path, and are taken only where they are a name in it
(:func:`~spark_jobs.core.storage.relative_path.named_file`). So whoever uses one may take its last part for the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage.relative_path import RelativePath, file_name, named_file, outside

Record = Mapping[str, Any]


def refuse_paths_outside(raw: Record, instant: Instant, name: str) -> None:
    """
    :param raw: the plan or result of an instant, in its shape.
    :param name: of its file, as an error names it.
    :raises OutsideTableError: it names a file, a partition or an instant that leads out of the table.
    """
    check = _CHECKS.get((instant.action, instant.state))
    if check is not None:
        check(raw, name)


def files_of_clean(raw: Record) -> dict[str, list[str]]:
    """Names of the files that a clean's plan deletes, by partition. The source files of a bootstrap, which Hudi may
    have planned to delete, are not among them: they are not the table's.
    """
    planned = raw["filePathsToBeDeletedPerPartition"] or {}
    return {
        partition: [_name(one["filePath"]) for one in files if not one.get("isBootstrapBaseFile")]
        for partition, files in planned.items()
    }


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _files(partition: str, paths: Iterable[str | None], where: str) -> None:
    RelativePath(partition, where)
    for path in paths:
        if path:
            named_file(partition, path, where)


def _of_clean_plan(raw: Record, where: str) -> None:
    for partition, files in (raw["filePathsToBeDeletedPerPartition"] or {}).items():
        _files(partition, (one["filePath"] or "/" for one in files if not one.get("isBootstrapBaseFile")), where)
    for partition, names in (raw["filesToBeDeletedPerPartition"] or {}).items():
        _files(partition, names, where)
    for partition in raw["partitionsToBeDeleted"] or ():
        RelativePath(partition, where)


def _of_partitions(*fields: str) -> Callable[[Record, str], None]:
    """Of a result with a record of each partition."""

    def check(raw: Record, where: str) -> None:
        for one in (raw["partitionMetadata"] or {}).values():
            for field in fields:
                _files(one["partitionPath"] or "", one[field] or (), where)

    return check


def _of_rollback_plan(raw: Record, where: str) -> None:
    _refuse_other_times([raw["instantToRollback"]], where)
    for one in raw["RollbackRequests"] or ():
        _files(one["partitionPath"] or "", one["filesToBeDeleted"], where)
        _files(one["partitionPath"] or "", one["logBlocksToBeDeleted"] or (), where)
        _names(one, ("fileId", "latestBaseInstant"), where)


def _of_restore_plan(raw: Record, where: str) -> None:
    _refuse_other_times(raw["instantsToRollback"], where)


def _of_compaction(raw: Record, where: str) -> None:
    for one in raw["operations"] or ():
        _files(one["partitionPath"] or "", (one["dataFilePath"], *(one["deltaFilePaths"] or ())), where)
        _names(one, ("fileId", "baseInstantTime"), where)


def _of_replacement(raw: Record, where: str) -> None:
    for group in (raw["clusteringPlan"] or {}).get("inputGroups") or ():
        for one in group["slices"] or ():
            _files(one["partitionPath"] or "", (one["dataFilePath"], *(one["deltaFilePaths"] or ())), where)
            _names(one, ("fileId",), where)


def _names(record: Record, fields: Iterable[str], where: str) -> None:
    """Parts of the names of files."""
    for field in fields:
        if record[field]:
            file_name(record[field], where)


def _refuse_other_times(instants: Iterable[Record | None], where: str) -> None:
    """What has the time of an instant in its name is found by it: markers, heartbeats, files of the timeline."""
    for one in instants:
        if one is not None and not (one["commitTime"].isascii() and one["commitTime"].isdigit()):
            raise outside(one["commitTime"], where)


_CHECKS: dict[tuple[Action, State], Callable[[Record, str], None]] = {
    (Action.CLEAN, State.REQUESTED): _of_clean_plan,
    (Action.CLEAN, State.INFLIGHT): _of_clean_plan,
    (Action.CLEAN, State.COMPLETED): _of_partitions("deletePathPatterns", "successDeleteFiles", "failedDeleteFiles"),
    (Action.ROLLBACK, State.REQUESTED): _of_rollback_plan,
    (Action.ROLLBACK, State.COMPLETED): _of_partitions(
        "successDeleteFiles", "failedDeleteFiles", "rollbackLogFiles", "logFilesFromFailedCommit"
    ),
    (Action.COMPACTION, State.REQUESTED): _of_compaction,
    (Action.LOG_COMPACTION, State.REQUESTED): _of_compaction,
    (Action.REPLACE_COMMIT, State.REQUESTED): _of_replacement,
    (Action.SAVEPOINT, State.COMPLETED): _of_partitions("savepointDataFile"),
    (Action.RESTORE, State.REQUESTED): _of_restore_plan,
}
