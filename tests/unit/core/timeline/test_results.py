"""Results of cleans, rollbacks, restores and savepoints, as values made of the records of their files."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.results import CleanResult, RestoreResult, RollbackResult, SavepointResult

pytestmark = pytest.mark.unit

T, BASE = "20260101000000000", "f-0_1-0-1_20250101000000000.parquet"
LOG, COMMAND = ".f-0_20250101000000000.log.1_1-0-1", ".f-0_20250101000000000.log.2_1-0-1"
ROLLBACK: dict[str, Any] = {
    "startRollbackTime": T,
    "timeTakenInMillis": 40,
    "totalFilesDeleted": 2,
    "commitsRollback": [T],
    "partitionMetadata": {
        "p=1": {
            "partitionPath": "p=1",
            "successDeleteFiles": [f"/old/place/p=1/{BASE}"],
            "failedDeleteFiles": [],
            "rollbackLogFiles": {f"/old/place/p=1/{COMMAND}": 80},
            "logFilesFromFailedCommit": {f"/old/place/p=1/{LOG}": 300, f"p=1/{LOG}": 310},
        }
    },
}


def record(action: Action, raw: dict[str, Any], state: State = State.COMPLETED) -> dict[str, Any]:
    """As the timeline hands it out: with all that the file leaves to its defaults."""
    return shaped(raw, Instant(T, action, state))


def test_a_clean_says_what_it_retained_and_deleted() -> None:
    partition = {
        "partitionPath": "p=1",
        "policy": "KEEP_LATEST_COMMITS",
        "deletePathPatterns": [f"/old/place/p=1/{BASE}"],
        "successDeleteFiles": [],
        "failedDeleteFiles": [],
        "isPartitionDeleted": True,
    }
    raw = {
        "startCleanTime": T,
        "timeTakenInMillis": 7,
        "totalFilesDeleted": 1,
        "earliestCommitToRetain": T,
        "partitionMetadata": {"p=1": partition},
        "extraMetadata": {"a": "b"},
    }
    assert CleanResult.of(record(Action.CLEAN, raw)) == CleanResult(
        retained_from=T,
        last_completed="",
        deleted={"p=1": (BASE,)},
        emptied=("p=1",),
        note={"a": "b"},
        files=1,
        took_ms=7,
    )


def test_a_clean_whose_result_is_lost_is_known_by_its_plan() -> None:
    raw = {
        "earliestInstantToRetain": {"timestamp": T, "action": "commit", "state": "COMPLETED"},
        "lastCompletedCommitTimestamp": "20260102000000000",
        "policy": "KEEP_LATEST_COMMITS",
        "filePathsToBeDeletedPerPartition": {
            "p=1": [
                {"filePath": f"/old/place/p=1/{BASE}", "isBootstrapBaseFile": False},
                {"filePath": "/elsewhere/source.parquet", "isBootstrapBaseFile": True},
            ]
        },
    }
    found = RequestedClean.of(record(Action.CLEAN, raw, State.REQUESTED)).result()
    assert (found.retained_from, found.last_completed) == (T, "20260102000000000")
    assert found.deleted == {"p=1": (BASE,)}
    without = RequestedClean.of(record(Action.CLEAN, {**raw, "earliestInstantToRetain": None}, State.REQUESTED))
    assert without.retained_from == ""


def test_a_rollback_names_logs_without_the_place_where_they_were() -> None:
    found = RollbackResult.of(record(Action.ROLLBACK, ROLLBACK))
    assert (found.rolled_back, found.files, found.took_ms) == ((T,), 2, 40)
    assert found.partitions["p=1"].added == {COMMAND: 80}
    assert found.partitions["p=1"].cancelled == {LOG: 310}
    assert RollbackResult.of({}).rolled_back == (), "the archive may have lost what it did"


def test_a_restore_adds_up_its_rollbacks() -> None:
    raw = {
        "startRestoreTime": T,
        "timeTakenInMillis": 9,
        "instantsToRollback": [T],
        "hoodieRestoreMetadata": {T: [ROLLBACK, None, ROLLBACK]},
    }
    found = RestoreResult.of(record(Action.RESTORE, raw))
    assert (found.rolled_back, found.files, found.took_ms) == ((T,), 4, 9)
    assert [one.rolled_back for one in found.rollbacks[T]] == [(T,), (T,)]


def test_a_savepoint_names_the_files_that_it_keeps() -> None:
    files = {"p=1": {"partitionPath": "p=1", "savepointDataFile": [BASE, LOG]}}
    raw = {"savepointedBy": "me", "savepointedAt": 5, "comments": "c", "partitionMetadata": files}
    found = SavepointResult.of(record(Action.SAVEPOINT, raw))
    assert found == SavepointResult(user="me", comments="c", saved_ms=5, files={"p=1": (BASE, LOG)})
    assert found.names == {BASE, LOG}
