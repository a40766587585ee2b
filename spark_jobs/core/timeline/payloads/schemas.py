"""The Avro records of plans and results on the timeline; names, order and defaults as Hudi 0.15 writes them."""

from __future__ import annotations

from typing import Any

from spark_jobs.core.timeline.payloads.payload import Kind

STRING: dict[str, str] = {"type": "string", "avro.java.string": "String"}
NAMESPACE = "org.apache.hudi.avro.model"
Schema = Any


def optional(kind: Schema) -> dict[str, Any]:
    """A nullable field with null as its default."""
    return {"type": ["null", kind], "default": None}


def array(items: Schema) -> dict[str, Any]:
    return {"type": "array", "items": items}


def string_map(values: Schema) -> dict[str, Any]:
    return {"type": "map", "values": values, "avro.java.string": "String"}


def record(name: str, **named: Any) -> dict[str, Any]:
    """A record; a field given as a dict with a ``type`` that is a union or carries a default is taken as it is."""
    out = []
    for field_name, kind in named.items():
        if isinstance(kind, dict) and ("default" in kind or isinstance(kind.get("type"), list)):
            out.append({"name": field_name, **kind})
        else:
            out.append({"name": field_name, "type": kind})
    return {"type": "record", "name": name, "namespace": NAMESPACE, "fields": out}


def version(default: int) -> dict[str, Any]:
    return {"type": ["int", "null"], "default": default}


NULLABLE_STRING = optional(STRING)
UNION_STRING = {"type": ["null", STRING]}

CLEANER_PLAN = record(
    "HoodieCleanerPlan",
    earliestInstantToRetain=optional(record("HoodieActionInstant", timestamp=STRING, action=STRING, state=STRING)),
    lastCompletedCommitTimestamp={"type": STRING, "default": ""},
    policy=STRING,
    filesToBeDeletedPerPartition=optional(string_map(array(STRING))),
    version=version(1),
    filePathsToBeDeletedPerPartition=optional(
        string_map(
            array(record("HoodieCleanFileInfo", filePath=NULLABLE_STRING, isBootstrapBaseFile=optional("boolean")))
        )
    ),
    partitionsToBeDeleted=optional(array(STRING)),
    extraMetadata=optional(string_map(STRING)),
)

_CLEAN_PARTITION = "HoodieCleanPartitionMetadata"
CLEAN_METADATA = record(
    "HoodieCleanMetadata",
    startCleanTime=STRING,
    timeTakenInMillis="long",
    totalFilesDeleted="int",
    earliestCommitToRetain=STRING,
    lastCompletedCommitTimestamp={"type": STRING, "default": ""},
    partitionMetadata=string_map(
        record(
            _CLEAN_PARTITION,
            partitionPath=STRING,
            policy=STRING,
            deletePathPatterns=array(STRING),
            successDeleteFiles=array(STRING),
            failedDeleteFiles=array(STRING),
            isPartitionDeleted=optional("boolean"),
        )
    ),
    version=version(1),
    bootstrapPartitionMetadata=optional(string_map(_CLEAN_PARTITION)),
    extraMetadata=optional(string_map(STRING)),
)

_INSTANT_INFO = record("HoodieInstantInfo", commitTime=STRING, action=STRING)
ROLLBACK_PLAN = record(
    "HoodieRollbackPlan",
    instantToRollback=optional(_INSTANT_INFO),
    RollbackRequests=optional(
        array(
            record(
                "HoodieRollbackRequest",
                partitionPath=STRING,
                fileId=NULLABLE_STRING,
                latestBaseInstant=NULLABLE_STRING,
                filesToBeDeleted={"type": array(STRING), "default": []},
                logBlocksToBeDeleted=optional(string_map("long")),
            )
        )
    ),
    version=version(1),
)

_ROLLBACK_FIELDS: dict[str, Any] = {
    "startRollbackTime": STRING,
    "timeTakenInMillis": "long",
    "totalFilesDeleted": "int",
    "commitsRollback": array(STRING),
    "partitionMetadata": string_map(
        record(
            "HoodieRollbackPartitionMetadata",
            partitionPath=STRING,
            successDeleteFiles=array(STRING),
            failedDeleteFiles=array(STRING),
            rollbackLogFiles=optional(string_map("long")),
            logFilesFromFailedCommit=optional(string_map("long")),
        )
    ),
    "version": version(1),
    "instantsRollback": {"type": array(_INSTANT_INFO), "default": []},
}
ROLLBACK_METADATA = record("HoodieRollbackMetadata", **_ROLLBACK_FIELDS)

COMPACTION_PLAN = record(
    "HoodieCompactionPlan",
    operations=optional(
        array(
            record(
                "HoodieCompactionOperation",
                baseInstantTime=UNION_STRING,
                deltaFilePaths=optional(array(STRING)),
                dataFilePath=NULLABLE_STRING,
                fileId=UNION_STRING,
                partitionPath=NULLABLE_STRING,
                metrics=optional(string_map("double")),
                bootstrapFilePath=NULLABLE_STRING,
            )
        )
    ),
    extraMetadata=optional(string_map(STRING)),
    version=version(1),
    strategy=optional(
        record(
            "HoodieCompactionStrategy",
            compactorClassName=NULLABLE_STRING,
            strategyParams=optional(string_map(STRING)),
            version=version(1),
        )
    ),
    preserveHoodieMetadata={"type": ["boolean", "null"], "default": False},
)

_SLICE_INFO = record(
    "HoodieSliceInfo",
    dataFilePath=NULLABLE_STRING,
    deltaFilePaths=optional(array(STRING)),
    fileId=UNION_STRING,
    partitionPath=NULLABLE_STRING,
    bootstrapFilePath=NULLABLE_STRING,
    version=version(1),
)
REQUESTED_REPLACE_METADATA = record(
    "HoodieRequestedReplaceMetadata",
    operationType=NULLABLE_STRING,
    clusteringPlan=optional(
        record(
            "HoodieClusteringPlan",
            inputGroups=optional(
                array(
                    record(
                        "HoodieClusteringGroup",
                        slices=optional(array(_SLICE_INFO)),
                        metrics=optional(string_map("double")),
                        numOutputFileGroups=version(1),
                        extraMetadata=optional(string_map(STRING)),
                        version=version(1),
                    )
                )
            ),
            strategy=optional(
                record(
                    "HoodieClusteringStrategy",
                    strategyClassName=NULLABLE_STRING,
                    strategyParams=optional(string_map(STRING)),
                    version=version(1),
                )
            ),
            extraMetadata=optional(string_map(STRING)),
            version=version(1),
            preserveHoodieMetadata=optional("boolean"),
        )
    ),
    extraMetadata=optional(string_map(STRING)),
    version=version(1),
)

SAVEPOINT_METADATA = record(
    "HoodieSavepointMetadata",
    savepointedBy=STRING,
    savepointedAt="long",
    comments=STRING,
    partitionMetadata=string_map(
        record("HoodieSavepointPartitionMetadata", partitionPath=STRING, savepointDataFile=array(STRING))
    ),
    version=version(1),
)

RESTORE_PLAN = record(
    "HoodieRestorePlan",
    instantsToRollback={"type": array(_INSTANT_INFO), "default": []},
    version=version(2),
    savepointToRestoreTimestamp=NULLABLE_STRING,
)

RESTORE_METADATA = record(
    "HoodieRestoreMetadata",
    startRestoreTime=STRING,
    timeTakenInMillis="long",
    instantsToRollback=array(STRING),
    hoodieRestoreMetadata=string_map({**array(["null", ROLLBACK_METADATA]), "default": None}),
    version=version(1),
    restoreInstantInfo={"type": array("HoodieInstantInfo"), "default": []},
)

_INDEX_PARTITIONS = optional(
    array(
        record(
            "HoodieIndexPartitionInfo",
            version=version(1),
            metadataPartitionPath=NULLABLE_STRING,
            indexUptoInstant=NULLABLE_STRING,
        )
    )
)
INDEX_PLAN = record("HoodieIndexPlan", version=version(1), indexPartitionInfos=_INDEX_PARTITIONS)
INDEX_COMMIT_METADATA = record(
    "HoodieIndexCommitMetadata",
    version=version(1),
    operationType=NULLABLE_STRING,
    indexPartitionInfos=_INDEX_PARTITIONS,
)

SCHEMAS: dict[Kind, Schema] = {
    Kind.CLEAN_PLAN: CLEANER_PLAN,
    Kind.CLEAN: CLEAN_METADATA,
    Kind.ROLLBACK_PLAN: ROLLBACK_PLAN,
    Kind.ROLLBACK: ROLLBACK_METADATA,
    Kind.RESTORE_PLAN: RESTORE_PLAN,
    Kind.RESTORE: RESTORE_METADATA,
    Kind.COMPACTION_PLAN: COMPACTION_PLAN,
    Kind.REPLACEMENT_PLAN: REQUESTED_REPLACE_METADATA,
    Kind.SAVEPOINT: SAVEPOINT_METADATA,
    Kind.INDEX_PLAN: INDEX_PLAN,
    Kind.INDEX: INDEX_COMMIT_METADATA,
}
"""Of all records but those of commits."""
