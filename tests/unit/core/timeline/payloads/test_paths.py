"""What plans, results and commits name is the table's, whoever wrote them (invariant 15)."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest

from spark_jobs.core.errors import OutsideTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.archive.v6.entries import commit_metadata_of, entry_of
from spark_jobs.core.timeline.payloads.paths import files_of_clean
from spark_jobs.core.timeline.payloads.payload import Payload, kind_of
from tests.support.payloads import commit_in, shaped_in, stored

pytestmark = pytest.mark.unit

T = "20240506070809123"
BASE, LOG = "f-0_0-1-1_20240101000000000.parquet", ".f-0_20240101000000000.log.1_0-1-1"
OLD = "file:/where/it/was"
"""Plans have whole paths, of the place that the table had when they were made."""

_ROLLED_BACK = {
    "partitionPath": "p=1/q",
    "successDeleteFiles": [f"{OLD}/p=1/q/{BASE}"],
    "failedDeleteFiles": [],
    "rollbackLogFiles": {f"{OLD}/p=1/q/{LOG}": 1},
    "logFilesFromFailedCommit": {LOG: 1},
}
_SLICE = {
    "dataFilePath": f"{OLD}/p=1/q/{BASE}",
    "deltaFilePaths": [f"/elsewhere/p=1/q/{LOG}"],
    "fileId": "f-0",
    "partitionPath": "p=1/q",
    "bootstrapFilePath": "",
}
_OPERATION = {
    "baseInstantTime": "20240101000000000",
    "deltaFilePaths": [LOG],
    "dataFilePath": BASE,
    "fileId": "f-0",
    "partitionPath": "p=1/q",
}
SOUND: dict[tuple[Action, State], dict[str, Any]] = {
    (Action.CLEAN, State.REQUESTED): {
        "policy": "KEEP_LATEST_COMMITS",
        "filesToBeDeletedPerPartition": {"p=1/q": [BASE]},
        "filePathsToBeDeletedPerPartition": {
            "p=1/q": [
                {"filePath": f"{OLD}/p=1/q/{BASE}", "isBootstrapBaseFile": False},
                {"filePath": "/the/source/x.parquet", "isBootstrapBaseFile": True},
            ]
        },
        "partitionsToBeDeleted": ["p=1/q"],
    },
    (Action.CLEAN, State.COMPLETED): {
        "startCleanTime": T,
        "timeTakenInMillis": 1,
        "totalFilesDeleted": 1,
        "earliestCommitToRetain": "",
        "partitionMetadata": {
            "p=1/q": {
                "partitionPath": "p=1/q",
                "policy": "x",
                "deletePathPatterns": [BASE],
                "successDeleteFiles": [BASE],
                "failedDeleteFiles": [],
            }
        },
    },
    (Action.ROLLBACK, State.REQUESTED): {
        "instantToRollback": {"commitTime": T, "action": "commit"},
        "RollbackRequests": [
            {
                "partitionPath": "p=1/q",
                "fileId": "f-0",
                "latestBaseInstant": "20240101000000000",
                "filesToBeDeleted": [f"{OLD}/p=1/q/{BASE}"],
                "logBlocksToBeDeleted": {f"{OLD}/p=1/q/{LOG}": 1},
            }
        ],
    },
    (Action.ROLLBACK, State.COMPLETED): {
        "startRollbackTime": T,
        "timeTakenInMillis": 1,
        "totalFilesDeleted": 1,
        "commitsRollback": [T],
        "partitionMetadata": {"p=1/q": _ROLLED_BACK},
    },
    (Action.COMPACTION, State.REQUESTED): {"operations": [_OPERATION]},
    (Action.LOG_COMPACTION, State.REQUESTED): {"operations": [_OPERATION]},
    (Action.REPLACE_COMMIT, State.REQUESTED): {"clusteringPlan": {"inputGroups": [{"slices": [_SLICE]}]}},
    (Action.SAVEPOINT, State.COMPLETED): {
        "savepointedBy": "x",
        "savepointedAt": 1,
        "comments": "",
        "partitionMetadata": {"p=1/q": {"partitionPath": "p=1/q", "savepointDataFile": [BASE, LOG]}},
    },
    (Action.RESTORE, State.REQUESTED): {"instantsToRollback": [{"commitTime": T, "action": "commit"}]},
}
KINDS = list(SOUND)


def decoded(kind: tuple[Action, State], payload: dict[str, Any]) -> dict[str, Any]:
    instant = Instant(T, *kind)
    known = kind_of(instant)
    assert known is not None
    return shaped_in(stored(Payload(known, payload)), instant)


def name_of(kind: tuple[Action, State]) -> str:
    return f"{kind[0].value} {kind[1].value}"


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_what_hudi_writes_is_taken(kind: tuple[Action, State]) -> None:
    decoded(kind, SOUND[kind])


def spoilt(value: Any, bad: dict[str, str]) -> list[Any]:
    """The value with one of its texts replaced, once for each text (key of a map, too) that is found in ``bad``."""
    found: list[Any] = []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += [{**value, key: one} for one in spoilt(inner, bad)]
            if key in bad:
                found.append({bad[key] if other == key else other: one for other, one in value.items()})
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += [[*value[:at], one, *value[at + 1 :]] for one in spoilt(inner, bad)]
    elif value in bad:
        found.append(bad[value])
    return found


PARTITIONS = ["../victim", "/victim", "p=1/../../victim", "", "p=1//q"]
FILES = ["/victim/x", "../victim/x", "..", f"{OLD}/p=1/{BASE}", f"{OLD}/p=1/q/"]


@pytest.mark.parametrize("kind", KINDS, ids=name_of)
def test_other_places_are_refused_wherever_they_stand(kind: tuple[Action, State]) -> None:
    files = [BASE, LOG, *(f"{place}/p=1/q/{name}" for place in (OLD, "/elsewhere") for name in (BASE, LOG))]
    cases = [one for bad in PARTITIONS if bad for one in spoilt(SOUND[kind], {"p=1/q": bad})]
    cases += [one for bad in FILES for one in spoilt(SOUND[kind], dict.fromkeys(files, bad))]
    cases += spoilt(SOUND[kind], {"f-0": "../f"}) + spoilt(SOUND[kind], {"20240101000000000": "a/b"})
    if kind[0] in (Action.ROLLBACK, Action.RESTORE) and kind[1] is State.REQUESTED:
        cases += spoilt(SOUND[kind], {T: "../../../victim"})
    assert cases
    own = re.escape(str(Instant(T, *kind)))
    for payload in cases:
        if kind == (Action.CLEAN, State.COMPLETED) and "p=1/q" not in payload["partitionMetadata"]:
            continue  # the key is not what counts there
        if kind in ((Action.ROLLBACK, State.COMPLETED), (Action.SAVEPOINT, State.COMPLETED)) and (
            "p=1/q" not in payload["partitionMetadata"]
        ):
            continue
        with pytest.raises(OutsideTableError, match=rf"^{own} names ") as caught:
            decoded(kind, payload)
        assert "\n" not in str(caught.value)


def test_the_files_of_a_clean_are_not_those_of_a_bootstraps_source() -> None:
    kind = (Action.CLEAN, State.REQUESTED)
    assert files_of_clean(decoded(kind, SOUND[kind])) == {"p=1/q": [BASE]}


COMMIT: dict[str, Any] = {
    "partitionToWriteStats": {
        "p=1/q": [
            {
                "fileId": "f-0",
                "path": f"p=1/q/{LOG}",
                "partitionPath": "p=1/q",
                "baseFile": BASE,
                "logFiles": [LOG],
                "logVersion": 1,
                "cdcStats": {f"p=1/q/{LOG}.cdc": 1},
            }
        ]
    },
    "partitionToReplaceFileIds": {"p=1/q": ["f-0"]},
    "operationType": "UPSERT",
}


def spoilt_commits() -> list[dict[str, Any]]:
    stat = COMMIT["partitionToWriteStats"]["p=1/q"][0]
    changes: list[dict[str, Any]] = [
        {"partitionPath": "../victim"},
        {"partitionPath": "/victim"},
        {"path": "../victim/x"},
        {"path": "/victim/x"},
        {"path": f"p=1/q/../{BASE}"},
        {"path": "p=1/q/.."},
        {"path": "p=1/q/"},
        {"fileId": "../x"},
        {"baseFile": "/x"},
        {"logFiles": ["a/b"]},
        {"logFiles": [".."]},
        {"cdcStats": {"../victim/x": 1}},
    ]
    found = []
    for change in changes:
        one = copy.deepcopy(COMMIT)
        one["partitionToWriteStats"]["p=1/q"] = [{**stat, **change}]
        found.append(one)
    for replaced in ({"../victim": ["x"]}, {"p=1/q": ["../x"]}, {"/": ["x"]}):
        found.append({**COMMIT, "partitionToReplaceFileIds": replaced})
    return found


@pytest.mark.parametrize("raw", spoilt_commits(), ids=lambda raw: json.dumps(raw)[24:90])
def test_commits(raw: dict[str, Any]) -> None:
    with pytest.raises(OutsideTableError, match=rf"^{T}\.commit names ") as caught:
        commit_in(json.dumps(raw).encode(), f"{T}.commit")
    assert caught.value.exit_code == 5


def test_archived_commits() -> None:
    done = Instant(T, Action.REPLACE_COMMIT, State.COMPLETED)
    entry = entry_of(done, json.dumps(COMMIT).encode(), T)
    assert commit_metadata_of(entry, done).write_stats[0].path == f"p=1/q/{LOG}"
    (stat,) = entry["hoodieReplaceCommitMetadata"]["partitionToWriteStats"]["p=1/q"]
    stat["path"] = "../victim/x"
    with pytest.raises(
        OutsideTableError, match=rf"^the archived {T} replacecommit \(completed\) names '\.\./victim/x'"
    ):
        commit_metadata_of(entry, done)


def test_a_slash_that_comes_first_is_no_part_of_a_path() -> None:
    """As some releases of Hudi have it on tables without partitions."""
    raw = {"partitionToWriteStats": {"": [{"fileId": "f-0", "path": f"/{BASE}", "partitionPath": ""}]}}
    assert commit_in(json.dumps(raw).encode(), "x").write_stats[0].path == BASE
