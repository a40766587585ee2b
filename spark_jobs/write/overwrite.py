"""What a write takes the place of: insert_overwrite, insert_overwrite_table, delete_partition.

Hudi: SparkInsertOverwriteCommitActionExecutor, SparkInsertOverwriteTableCommitActionExecutor,
SparkDeletePartitionCommitActionExecutor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import write as keys
from spark_jobs.core.config.keys.datasource import PARTITIONS_TO_DELETE
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.keygen.path_names import REFUSED_PARTS, RESERVED, RESERVED_PATH
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import SERVICE_OPERATIONS
from spark_jobs.core.transaction.conflict import completed_since
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig

ReplacedGroups = Mapping[str, tuple[str, ...]]
"""File ids by partition path; none for a partition that has no file groups yet."""


def overwritten_partitions(config: WriteConfig, table: HudiTable, written: Iterable[str]) -> list[str]:
    """The partitions that an overwrite replaces.

    :param written: those of its records.
    """
    if config.operation is Operation.INSERT_OVERWRITE_TABLE:
        return sorted({*table.partitions(), *written})
    named = keys.STATIC_OVERWRITE_PARTITIONS.of(config.properties)
    refuse_paths_outside(named, keys.STATIC_OVERWRITE_PARTITIONS.name)
    return sorted(set(named or written))


def refuse_paths_outside(paths: Iterable[str], option: str) -> None:
    """What is replaced is deleted by a later clean: it has to be in the table.

    :raises ConfigError: a partition path that leads elsewhere.
    """
    for path in paths:
        why = next((REFUSED_PARTS[part] for part in path.split("/") if part in REFUSED_PARTS), None)
        why = RESERVED if path == RESERVED_PATH else why
        if why is not None:
            raise ConfigError(
                f"{option} names {path!r}, which {why}", todo="give paths below the table's base path", key=option
            )


class Records(Protocol):
    """Those of a write, if it has a source."""

    @property
    def source(self) -> object | None: ...

    def paths(self) -> Iterable[str]:
        """Their partition paths, each once."""


def partitions_to_delete(config: WriteConfig, table: HudiTable, records: Records) -> list[str]:
    """Those that the options name, else those of the source's records.

    :raises ConfigError: neither is given, or a path that leads out of the table.
    """
    asked = PARTITIONS_TO_DELETE.of(config.properties)
    if asked:
        refuse_paths_outside(asked, PARTITIONS_TO_DELETE.name)
        return matching_partitions(asked, table.partitions())
    if records.source is None:
        raise ConfigError(
            "a delete_partition needs partitions",
            todo=f"give --hoodie-conf {PARTITIONS_TO_DELETE.name}=PATH,..., or a source with their records",
            key=PARTITIONS_TO_DELETE.name,
        )
    return sorted(records.paths())


def matching_partitions(asked: Collection[str], existing: Collection[str]) -> list[str]:
    """Partition paths by name, or by patterns in which ``*`` stands for any text, slashes too."""
    found: set[str] = set()
    for one in asked:
        if "*" not in one:
            found.add(one)
            continue
        pattern = re.compile(".*".join(map(re.escape, one.split("*"))), re.DOTALL)
        found.update(path for path in existing if pattern.fullmatch(path))
    return sorted(found)


def replaced_groups(table: HudiTable, operation: Operation, partitions: Collection[str]) -> ReplacedGroups:
    """All live file groups of the partitions.

    :raises WriteConflictError: a pending clustering has one of them; or a pending compaction, where partitions are
        deleted. What a compaction makes of a group that was overwritten meanwhile is nobody's.
    """
    ids: dict[str, list[str]] = {partition: [] for partition in sorted(partitions)}
    for group in table.view(list(ids)).live_groups():
        ids[group.partition].append(group.file_id)
    services = [("clustering", table.pending.clustering)]
    if operation is Operation.DELETE_PARTITION:
        services.append(("compaction", table.pending.compaction))
    for service, pending in services:
        for (partition, file_id), instant in sorted(pending.items()):
            if file_id in ids.get(partition, ()):
                raise WriteConflictError(
                    f"file group {file_id} in partition {partition!r} is part of the pending {service} {instant}",
                    todo=f"run the {service} to its end, then write again",
                    instant=instant,
                )
    return {partition: tuple(found) for partition, found in ids.items()}


def refuse_other_writers(
    timeline: ActiveTimeline, seen: ActiveTimeline, partitions: Collection[str] | None, clock: Clock
) -> None:
    """What was written to a partition while it was being replaced would be half in, half out.

    Table services are left to the check of file groups.

    :param seen: the timeline when the write looked for what it replaces.
    :param partitions: None for all, also those that are new since.
    :raises WriteConflictError: another write to one of the partitions was completed since.
    """
    for instant in completed_since(timeline, seen):
        metadata = timeline.commit_metadata(instant, clock)
        if metadata.operation_type in SERVICE_OPERATIONS:
            continue
        common = {partition for partition, _ in metadata.touched_file_groups()}
        common = common if partitions is None else common.intersection(partitions)
        if common:
            raise WriteConflictError(
                f"partition {min(common)!r} is to be replaced, and {instant} wrote to it meanwhile",
                todo="run it again",
                other=instant.timestamp,
            )
