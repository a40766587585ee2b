"""What of an instant goes to the archive, and what comes back (Hudi: MetadataConversionUtils.createMetaWrapper)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.timeline.archive.v6.schemas import STAT_FIELDS
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType, replaced_ids
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.payloads.v6 import commit_record
from spark_jobs.core.timeline.write_stat import WriteStat

_ROLLING_STAT = "ROLLING_STAT"
"""A key that Hudi adds to the extra metadata of archived commits, with no value."""

_COMMIT_FIELD = "hoodieCommitMetadata"
_FIELDS: dict[tuple[Action, State], str] = {
    (Action.CLEAN, State.REQUESTED): "hoodieCleanerPlan",
    (Action.CLEAN, State.INFLIGHT): "hoodieCleanerPlan",
    (Action.CLEAN, State.COMPLETED): "hoodieCleanMetadata",
    (Action.ROLLBACK, State.COMPLETED): "hoodieRollbackMetadata",
    (Action.SAVEPOINT, State.COMPLETED): "hoodieSavePointMetadata",
    (Action.COMPACTION, State.REQUESTED): "hoodieCompactionPlan",
    (Action.LOG_COMPACTION, State.REQUESTED): "hoodieCompactionPlan",
    (Action.INDEXING, State.COMPLETED): "hoodieIndexCommitMetadata",
    (Action.REPLACE_COMMIT, State.REQUESTED): "hoodieRequestedReplaceMetadata",
    (Action.REPLACE_COMMIT, State.INFLIGHT): "HoodieInflightReplaceMetadata",
    (Action.REPLACE_COMMIT, State.COMPLETED): "hoodieReplaceCommitMetadata",
    **{(action, state): _COMMIT_FIELD for action in (Action.COMMIT, Action.DELTA_COMMIT) for state in State},
}
"""The field of an entry that holds the content of an instant's file; states without one have no content."""

_ACTIONS = {action.value: action for action in Action}

ARCHIVABLE = frozenset(Action) - {Action.RESTORE, Action.INDEXING, Action.SCHEMA_COMMIT}
"""Actions that Hudi 0.15 knows how to archive; the others stay on the active timeline for good."""


def entry_of(instant: Instant, data: bytes, moved: str) -> dict[str, Any]:
    """The entry of one state of an instant.

    :param data: the content of its file.
    :param moved: when it reached the state, as an instant in local time.
    :raises UnsupportedTableError: an action that Hudi can't archive.
    :raises CorruptTableError: content that is not what belongs there.
    """
    if instant.action not in ARCHIVABLE:
        raise UnsupportedTableError(
            f"{instant} can't be archived: the archive of table version 6 has no place for a {instant.action.value}",
            todo="leave it on the active timeline",
        )
    entry: dict[str, Any] = {
        "commitTime": instant.timestamp,
        "actionType": instant.action.value,
        "version": None,
        "actionState": instant.state.name,
        "stateTransitionTime": moved,
    }
    field = _FIELDS.get((instant.action, instant.state))
    if field is not None:
        content = _content(instant, field, data)
        if content is not None:
            entry[field] = content
    return entry


def _content(instant: Instant, field: str, data: bytes) -> dict[str, Any] | None:
    if not data and (instant.is_completed or field != _COMMIT_FIELD):
        return None  # a file without content, which a crash or a service without a profile leaves
    if instant.action in COMMITS and not (instant.action is Action.REPLACE_COMMIT and instant.state is State.REQUESTED):
        raw = commit_record(data, str(instant))
        return _commit_to_avro(CommitMetadata.of(raw, str(instant)), raw)
    return shaped(decode_payload(data, str(instant)), instant)


def instant_of(entry: Mapping[str, Any]) -> Instant | None:
    """Which instant in which state an entry is; None for an action that this release does not know.

    :raises CorruptTableError: no time or no state that there is.
    """
    time, action, state = entry.get("commitTime"), entry.get("actionType"), entry.get("actionState") or "COMPLETED"
    if not time or not str(time).isdigit() or state not in State.__members__:
        raise CorruptTableError(f"an archived entry has the time {time} and the state {state}")
    known = _ACTIONS.get(str(action))
    return None if known is None else Instant(str(time), known, State[state])


def content_of(entry: Mapping[str, Any], instant: Instant) -> dict[str, Any] | None:
    """The Avro record that an entry keeps of the instant's file; None where it keeps none."""
    field = _FIELDS.get((instant.action, instant.state))
    found = None if field is None else entry.get(field)
    if found is None or isinstance(found, dict):
        return None if found is None else shaped(found, instant)
    raise CorruptTableError(f"{instant} was archived with a {type(found).__name__} for its content")


def commit_metadata_of(entry: Mapping[str, Any], instant: Instant) -> CommitMetadata:
    """The metadata of an archived commit, as far as the archive keeps it: no CDC files, no sizes of log appends."""
    raw = content_of(entry, instant) or {}
    name = raw.get("operationType") or OperationType.UNKNOWN.value
    try:
        operation = OperationType(name)
    except ValueError:
        raise CorruptTableError(f"{instant} was archived with the operation {name}, which there is not") from None
    try:
        return _commit_metadata(raw, operation, f"the archived {instant!s}")
    except (ValueError, TypeError, AttributeError) as error:
        raise CorruptTableError(f"{instant} was archived with what is no commit metadata ({error})") from error


def _commit_metadata(raw: Mapping[str, Any], operation: OperationType, where: str) -> CommitMetadata:
    extra = {key: value for key, value in (raw.get("extraMetadata") or {}).items() if key != _ROLLING_STAT}
    replaced = raw.get("partitionToReplaceFileIds")
    return CommitMetadata(
        write_stats=tuple(
            WriteStat.from_json({**stat, "partitionPath": stat.get("partitionPath") or partition}, where)
            for partition, stats in (raw.get("partitionToWriteStats") or {}).items()
            for stat in stats
        ),
        operation_type=operation,
        compacted=operation is OperationType.COMPACT,
        extra_metadata=extra,
        replaced_file_ids=replaced_ids(replaced, where),
    )


def _commit_to_avro(metadata: CommitMetadata, raw: Mapping[str, Any]) -> dict[str, Any]:
    """``raw`` is the JSON of ``metadata``: the stats of a workload profile have no partition of their own, and keep
    none."""
    by_partition = {
        partition: [_stat_to_avro(partition, stat) for stat in stats]
        for partition, stats in (raw.get("partitionToWriteStats") or {}).items()
    }
    operation = OperationType.COMPACT if metadata.compacted else metadata.operation_type
    out: dict[str, Any] = {
        "partitionToWriteStats": by_partition,
        # a null value, as a bootstrap's checkpoint, has no form here
        "extraMetadata": {
            **{key: value for key, value in metadata.extra_metadata.items() if value is not None},
            _ROLLING_STAT: "",
        },
        "version": None,
        "operationType": operation.value,
    }
    if metadata.replaced_file_ids is not None:
        out["partitionToReplaceFileIds"] = {key: list(ids) for key, ids in metadata.replaced_file_ids.items()}
    return out


def _stat_to_avro(partition: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    own = raw.get("partitionPath")
    known = WriteStat.from_json({**raw, "partitionPath": own or partition}, "a commit that is archived")
    stat = {**known.to_json(), "partitionPath": own}
    return {name: stat.get(name) for name in STAT_FIELDS}
