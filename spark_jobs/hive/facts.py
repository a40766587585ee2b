"""What sync knows of a table: a value, taken from the table once, so that all that follows is a pure function of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.core.config.keys.table import BASE_FILE_FORMAT
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.instant_time import TimelineZone, format_instant
from spark_jobs.core.format.order import follows, is_from
from spark_jobs.core.timeline.commit_metadata import OperationType

if TYPE_CHECKING:
    from spark_jobs.core.table import HudiTable

AvroSchema = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChanges:
    """The partitions that one completed instant wrote to, and those that it dropped (a ``delete_partition``).

    ``completed`` is when its file was written, in the form of an instant; empty if unknown.
    """

    instant: str
    completed: str = ""
    written: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedUntil:
    """How far a sync got: the newest instant, and when the newest completed file was written (empty if unknown).

    Of writers at the same time, one with an older instant may end later: both bounds tell what a sync has not seen.
    """

    instant: str
    completed: str = ""

    def is_new(self, instant: str, completed: str) -> bool:
        """True for an instant after (exclusive), or one that was completed at or after the last sync's newest."""
        is_late = bool(self.completed and completed) and is_from(completed, self.completed)
        return follows(instant, self.instant) or is_late


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """One Hudi table at one moment.

    ``avro_schema`` is the table's record schema without the five meta fields. ``partitions`` are relative paths as they
    are on storage (``month=1``, ``2024/01/02``), none for a table without partition fields. ``last_instant`` is the
    newest completed instant, empty for a table without one; ``last_transition_time`` is when the newest file of a
    completed commit was written, in the form of an instant, empty if unknown. ``changes`` are those of all instants
    that are new to ``changes_after``, in their order, or None if not looked up: then all partitions are compared.
    """

    name: str
    base_path: str
    merge_on_read: bool
    avro_schema: AvroSchema
    partition_fields: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    hive_style: bool = False
    url_encode: bool = False
    base_file_format: str = "PARQUET"
    last_instant: str = ""
    last_transition_time: str = ""
    changes: tuple[PartitionChanges, ...] | None = None
    changes_after: SyncedUntil | None = None


def facts_of(table: HudiTable, changes_after: SyncedUntil | None = None) -> TableFacts:
    """Read what sync needs from an open table.

    :param changes_after: since when the partitions of each commit are looked up, for an incremental sync; without it,
        or where what follows it is archived in part, ``changes`` stays None.
    """
    timeline, config = table.timeline, table.config
    commits = timeline.completed_commits()
    moved = max((timeline.moved_ms[instant] for instant in commits), default=None)
    since = (
        changes_after if changes_after and commits and is_from(changes_after.instant, timeline.unbroken_from) else None
    )
    return TableFacts(
        name=config.name,
        base_path=table.base_path,
        merge_on_read=config.is_merge_on_read,
        avro_schema=table.avro_schema if commits else {"type": "record", "name": config.name, "fields": []},
        partition_fields=config.partition_fields,
        partitions=_partitions_with_data(table, commits) if config.partition_fields and commits else (),
        hive_style=config.hive_style,
        url_encode=config.url_encode,
        base_file_format=BASE_FILE_FORMAT.of(config.properties).value,
        last_instant=commits[-1].timestamp if commits else "",
        last_transition_time=_as_instant(moved, config.timezone) if moved is not None else "",
        changes=None if since is None else tuple(_changes(table, one) for one in commits if _is_new(table, one, since)),
        changes_after=since,
    )


def _partitions_with_data(table: HudiTable, commits: Sequence[Instant]) -> tuple[str, ...]:
    """All partitions but those that were dropped and not written to since: their folders stay until cleaned."""
    replacing = [_changes(table, instant) for instant in commits if instant.action is Action.REPLACE_COMMIT]
    dropping = [change for change in replacing if change.dropped]
    if not dropping:
        return tuple(table.partitions())
    gone: set[str] = set()
    for instant in commits:
        if instant.is_from(dropping[0].instant):
            change = _changes(table, instant)
            gone = (gone - set(change.written)) | set(change.dropped)
    return tuple(path for path in table.partitions() if path not in gone)


def _is_new(table: HudiTable, instant: Instant, since: SyncedUntil) -> bool:
    return since.is_new(instant.timestamp, _completed(table, instant))


def _completed(table: HudiTable, instant: Instant) -> str:
    return _as_instant(table.timeline.moved_ms[instant], table.config.timezone)


def _changes(table: HudiTable, instant: Instant) -> PartitionChanges:
    metadata = table.timeline.commit_metadata(instant, table.clock)
    replaced = metadata.replaced_file_ids or {}
    drops = metadata.operation_type is OperationType.DELETE_PARTITION
    written = {stat.partition_path for stat in metadata.write_stats} | (set() if drops else set(replaced))
    return PartitionChanges(
        instant=instant.timestamp,
        completed=_completed(table, instant),
        written=tuple(sorted(written - set(replaced) if drops else written)),
        dropped=tuple(sorted(replaced)) if drops else (),
    )


def _as_instant(moved_ms: int, zone: TimelineZone) -> str:
    return format_instant(datetime.fromtimestamp(moved_ms / 1000, UTC), zone)
