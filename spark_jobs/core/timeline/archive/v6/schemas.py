"""The Avro records of the archived timeline; names, order and defaults as Hudi 0.15 writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.schemas import (
    NULLABLE_STRING,
    STRING,
    Schema,
    array,
    optional,
    record,
    string_map,
)

_OPTIONAL_LONG = optional("long")

_WRITE_STAT = record(
    "HoodieWriteStat",
    fileId=NULLABLE_STRING,
    path=NULLABLE_STRING,
    prevCommit=NULLABLE_STRING,
    numWrites=_OPTIONAL_LONG,
    numDeletes=_OPTIONAL_LONG,
    numUpdateWrites=_OPTIONAL_LONG,
    totalWriteBytes=_OPTIONAL_LONG,
    totalWriteErrors=_OPTIONAL_LONG,
    partitionPath=NULLABLE_STRING,
    totalLogRecords=_OPTIONAL_LONG,
    totalLogFiles=_OPTIONAL_LONG,
    totalUpdatedRecordsCompacted=_OPTIONAL_LONG,
    numInserts=_OPTIONAL_LONG,
    totalLogBlocks=_OPTIONAL_LONG,
    totalCorruptLogBlock=_OPTIONAL_LONG,
    totalRollbackBlocks=_OPTIONAL_LONG,
    fileSizeInBytes=_OPTIONAL_LONG,
)
STAT_FIELDS: tuple[str, ...] = tuple(field["name"] for field in _WRITE_STAT["fields"])
"""What an archived write stat keeps of one, in order."""

_STATS = optional(string_map(array(_WRITE_STAT)))
_EXTRA = optional(string_map(STRING))
_OF_COMMITS: dict[str, Any] = {
    "partitionToWriteStats": _STATS,
    "extraMetadata": _EXTRA,
    "version": schemas.version(1),
    "operationType": NULLABLE_STRING,
}
_COMMIT = record("HoodieCommitMetadata", **_OF_COMMITS)
_REPLACE_COMMIT = record(
    "HoodieReplaceCommitMetadata",
    **_OF_COMMITS,
    partitionToReplaceFileIds=optional(string_map(array(STRING))),
)
_OLD_COMPACTION = record(
    "HoodieCompactionMetadata",
    partitionToCompactionWriteStats={
        "type": [
            "null",
            string_map(
                array(
                    record(
                        "HoodieCompactionWriteStat",
                        partitionPath=NULLABLE_STRING,
                        totalLogRecords=_OPTIONAL_LONG,
                        totalLogFiles=_OPTIONAL_LONG,
                        totalUpdatedRecordsCompacted=_OPTIONAL_LONG,
                        hoodieWriteStat=optional(_WRITE_STAT),
                    )
                )
            ),
        ]
    },
)


def each_name_once(schema: Schema, seen: set[str] | None = None) -> Schema:
    """The same schema with every named type spelled out where it comes first, and by its name afterwards.

    All names are of one namespace, which the outermost record states.
    """
    known = set() if seen is None else seen
    if isinstance(schema, list):
        return [each_name_once(one, known) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kind = schema["type"]
    if kind != "record":
        inner = {name: each_name_once(schema[name], known) for name in ("type", "items", "values") if name in schema}
        return {**schema, **inner}
    if schema["name"] in known:
        return schema["name"]
    outermost = not known
    known.add(schema["name"])
    fields = [{**field, "type": each_name_once(field["type"], known)} for field in schema["fields"]]
    out: dict[str, Any] = {"type": "record", "name": schema["name"]}
    if outermost:
        out["namespace"] = schema["namespace"]
    return {**out, "fields": fields}


ARCHIVED_ENTRY = each_name_once(
    record(
        "HoodieArchivedMetaEntry",
        hoodieCommitMetadata=optional(_COMMIT),
        hoodieCleanMetadata=optional(schemas.CLEAN_METADATA),
        hoodieCompactionMetadata=optional(_OLD_COMPACTION),
        hoodieRollbackMetadata=optional(schemas.ROLLBACK_METADATA),
        hoodieSavePointMetadata=optional(schemas.SAVEPOINT_METADATA),
        commitTime=NULLABLE_STRING,
        actionType=NULLABLE_STRING,
        version=schemas.version(1),
        hoodieCompactionPlan=optional(schemas.COMPACTION_PLAN),
        hoodieCleanerPlan=optional(schemas.CLEANER_PLAN),
        actionState=NULLABLE_STRING,
        hoodieReplaceCommitMetadata=optional(_REPLACE_COMMIT),
        hoodieRequestedReplaceMetadata=optional(schemas.REQUESTED_REPLACE_METADATA),
        HoodieInflightReplaceMetadata=optional(_COMMIT),
        hoodieIndexCommitMetadata=optional(schemas.INDEX_COMMIT_METADATA),
        stateTransitionTime=NULLABLE_STRING,
    )
)
"""One state of one instant (Hudi: HoodieArchivedMetaEntry)."""

MERGE_PLAN = record(
    "HoodieMergeArchiveFilePlan",
    version=schemas.version(1),
    candidate=optional(array(STRING)),
    mergedArchiveFileName=NULLABLE_STRING,
)
"""Content of ``mergeArchivePlan``: the files that become one, and its name."""
