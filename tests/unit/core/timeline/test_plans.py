"""Plans on the timeline as values, made of Hudi's records and written as such; no other part knows their fields."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.avro_codec import note_of
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.plans.indexing import RequestedIndexing
from spark_jobs.core.timeline.plans.rewriting import (
    PlannedGroup,
    PlannedSlice,
    RequestedClustering,
    RequestedCompaction,
    requested_overwrite,
    slices_of_plan,
)
from spark_jobs.core.timeline.plans.rollback import RequestedRestore, RequestedRollback, RollbackRequest
from spark_jobs.core.timeline.results import NamedInstant
from spark_jobs.core.timeline.steps import Content, request
from tests.support.folder import Folder
from tests.support.payloads import stored

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[4]
T, BASE, LOG = "20260101000000000", "f-0_1-0-1_20250101000000000.parquet", ".f-0_20250101000000000.log.1_1-0-1"
SLICE = PlannedSlice(partition="p=1", file_id="f-0", base_file=BASE, log_files=(LOG,))
CLEAN = RequestedClean(
    policy="KEEP_LATEST_COMMITS",
    deletions={"p=1": (BASE, LOG), "": (BASE,)},
    retained_from=T,
    retained_action="commit",
    last_completed="20260102000000000",
    emptied=("p=1",),
    note={"a": "b"},
)
ROLLBACK = RequestedRollback(
    target=NamedInstant(time=T, action="deltacommit"),
    requests=(
        RollbackRequest(partition="p=1", file_id="f-0", base_instant="1", delete=(BASE,)),
        RollbackRequest(partition="", file_id="f-1", base_instant="1", cancel={LOG: 3}),
    ),
)
RESTORE = RequestedRestore(goal="1", rolled_back=(NamedInstant(time=T, action="replacecommit"),))
COMPACTION = RequestedCompaction(
    slices=(PlannedSlice(partition="", file_id="f-0", base_instant="1", log_files=(LOG,), metrics={"TOTAL": 2.0}),),
    note={"a": "b"},
)
LOG_COMPACTION = RequestedCompaction(slices=COMPACTION.slices, compactor="a.Class")
CLUSTERING = RequestedClustering(
    groups=(PlannedGroup(slices=(SLICE,), output_groups=2, metrics={"TOTAL": 2.0}),),
    strategy="a.Class",
    parameters={"a": "b"},
    note={"c": "d"},
)
INDEXING = RequestedIndexing(partitions=("column_stats", "record_index"), up_to=T)
CASES: list[tuple[Action, Any, Payload]] = [
    (Action.CLEAN, CLEAN, CLEAN.payload("/lake/t")),
    (Action.ROLLBACK, ROLLBACK, ROLLBACK.payload("/lake/t")),
    (Action.ROLLBACK, ROLLBACK, ROLLBACK.payload("/lake/t", whole_logs=True)),
    (Action.RESTORE, RESTORE, RESTORE.payload()),
    (Action.COMPACTION, COMPACTION, COMPACTION.payload()),
    (Action.LOG_COMPACTION, LOG_COMPACTION, LOG_COMPACTION.payload()),
    (Action.REPLACE_COMMIT, CLUSTERING, CLUSTERING.payload("/lake/t")),
    (Action.REPLACE_COMMIT, RequestedClustering(), requested_overwrite()),
    (Action.INDEXING, INDEXING, INDEXING.payload()),
]


def timeline_with(folder: Folder, action: Action, content: Content) -> tuple[ActiveTimeline, Instant]:
    storage = folder.storage
    timeline = ActiveTimeline.load(storage, str(folder), str(folder / "archived"), format=VERSION_6)
    request(timeline, T, action, content)
    (found,) = ActiveTimeline.load(storage, str(folder), str(folder / "archived"), format=VERSION_6).instants
    return ActiveTimeline.load(storage, str(folder), str(folder / "archived"), format=VERSION_6), found


@pytest.mark.parametrize(("action", "plan", "payload"), CASES)
def test_a_plan_survives_the_timeline(root: Folder, action: Action, plan: Any, payload: Payload) -> None:
    timeline, instant = timeline_with(root, action, payload)
    assert type(plan).read(timeline, instant, SYSTEM_CLOCK) == plan
    if action in (Action.COMPACTION, Action.LOG_COMPACTION, Action.REPLACE_COMMIT):
        assert slices_of_plan(timeline, instant, SYSTEM_CLOCK) == plan.slices


def test_an_overwrite_whose_plan_is_empty_rewrites_nothing(root: Folder) -> None:
    timeline, instant = timeline_with(root, Action.REPLACE_COMMIT, b"")
    assert RequestedClustering.read(timeline, instant, SYSTEM_CLOCK) == RequestedClustering()


def test_a_note_stands_in_the_header() -> None:
    assert note_of(stored(ROLLBACK.payload("/lake/t", {"a": "b"}))) == {"a": "b"}
    assert note_of(stored(RESTORE.payload({"a": "b"}))) == {"a": "b"}


def test_what_older_releases_do_not_say() -> None:
    def decoded(action: Action, raw: dict[str, Any]) -> dict[str, Any]:
        return shaped(raw, Instant(T, action, State.REQUESTED))

    assert RequestedRestore.of(decoded(Action.RESTORE, {})) == RequestedRestore(goal="", rolled_back=())
    assert RequestedRollback.of(decoded(Action.ROLLBACK, {})) == RequestedRollback(target=None, requests=())
    assert RequestedCompaction.of(decoded(Action.COMPACTION, {})) == RequestedCompaction(slices=())
    group = {"slices": [{"dataFilePath": f"/old/place/p=1/{BASE}", "fileId": "f-0", "partitionPath": "p=1"}]}
    clustering = RequestedClustering.of(decoded(Action.REPLACE_COMMIT, {"clusteringPlan": {"inputGroups": [group]}}))
    assert [(one.names, one.paths) for one in clustering.slices] == [((BASE,), (f"p=1/{BASE}",))]
    assert clustering.groups[0].output_groups == 1


def fields_of(schema: Any) -> set[str]:
    """The names of all fields of a record, at any depth."""
    if isinstance(schema, list):
        return set().union(*map(fields_of, schema))
    if not isinstance(schema, dict):
        return set()
    own = {field["name"] for field in schema.get("fields", ())}
    inner = [*schema.get("fields", ()), *(schema[name] for name in ("items", "values") if name in schema)]
    kinds = [schema["type"]] if not isinstance(schema["type"], str) else []
    return own.union(*map(fields_of, [*inner, *kinds]))


def test_the_fields_of_these_records_are_known_to_the_timeline_alone() -> None:
    """Each name of two words: those of one (policy, version, state) are words of other things too."""
    records = [one for one in vars(schemas).values() if isinstance(one, dict) and one.get("type") == "record"]
    names = {name for one in records for name in fields_of(one) if re.search(r"[a-z][A-Z]", name)}
    names -= {"extraMetadata", "partitionPath", "fileId", "commitTime"}  # commits and partition metafiles have them too
    assert {"deltaFilePaths", "instantToRollback", "savepointDataFile", "indexUptoInstant"} <= names
    used = re.compile(rf"""(\[|get\()(["'])({"|".join(sorted(names))})\2""")
    core = ROOT / "spark_jobs" / "core"
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted((ROOT / "spark_jobs").rglob("*.py"))
        if core / "timeline" not in path.parents
        for match in used.finditer(path.read_text())
    ]
    assert found == []


def test_a_record_of_hudi_may_have_fields_that_are_not_known() -> None:
    raw = shaped({"operations": [], "someday": 1}, Instant(T, Action.COMPACTION, State.REQUESTED))
    assert raw["someday"] == 1
    assert RequestedCompaction.of(raw) == RequestedCompaction(slices=())


def test_who_asks_a_timeline_for_a_plan_or_result_gets_a_value() -> None:
    """Records as decoded go to the timeline's own modules, and to validation, which looks at what is damaged."""
    raw = {ROOT / "spark_jobs" / "core" / "timeline", ROOT / "spark_jobs" / "services" / "validation"}
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted((ROOT / "spark_jobs").rglob("*.py"))
        if raw.isdisjoint(path.parents)
        for match in re.finditer(r"\b(timeline|line|own|archived)\.(decode|payload|plan)\(", path.read_text())
    ]
    assert found == []
