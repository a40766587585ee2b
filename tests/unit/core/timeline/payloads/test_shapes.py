"""Plans and results of another form than Hudi 0.15's: an older one is filled up, one of another kind is an error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.payload import Kind
from spark_jobs.core.timeline.payloads.schemas import SCHEMAS
from spark_jobs.core.timeline.payloads.shapes import _shape_for, shaped
from tests.support.payloads import shaped_in
from tests.unit.core.timeline.payloads.values import values_of

pytestmark = pytest.mark.unit

T = "20240506070809123"
COMPACTION = Instant(T, Action.COMPACTION, State.REQUESTED)
CLEAN = Instant(T, Action.CLEAN, State.REQUESTED)
RESTORE = Instant(T, Action.RESTORE, State.REQUESTED)


@pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.name)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_fits_stays_as_it_is(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(values_of(SCHEMAS[kind], {}))
    assert _shape_for(kind)(value) == value


def test_what_an_older_release_did_not_write_gets_its_default() -> None:
    assert shaped({"operations": [{"fileId": "f"}]}, COMPACTION) == {
        "operations": [
            {
                "fileId": "f",
                "baseInstantTime": None,
                "deltaFilePaths": None,
                "dataFilePath": None,
                "partitionPath": None,
                "metrics": None,
                "bootstrapFilePath": None,
            }
        ],
        "extraMetadata": None,
        "version": 1,
        "strategy": None,
        "preserveHoodieMetadata": False,
    }
    assert shaped({"version": 1}, RESTORE)["instantsToRollback"] == []
    assert shaped({"version": 1}, RESTORE)["instantsToRollback"] is not shaped({}, RESTORE)["instantsToRollback"]


def test_what_a_newer_release_writes_stays() -> None:
    assert shaped({"policy": "X", "new": [1]}, CLEAN)["new"] == [1]


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"operations": 5}, r"is no HoodieCompactionPlan \(operations: a int where an array belongs\)"),
        ({"operations": ["x"]}, r"\(operations: a str where a HoodieCompactionOperation belongs\)"),
        ({"operations": [{"fileId": 5}]}, r"\(operations\.fileId: a int where a string belongs\)"),
        ({"operations": [{"metrics": {"a": "x"}}]}, r"\(operations\.metrics: a str where a double belongs\)"),
        ({"operations": [{"metrics": []}]}, r"\(operations\.metrics: a list where a map belongs\)"),
        ({"version": True}, r"\(version: a bool where a int belongs\)"),
    ],
)
def test_what_is_of_another_kind_is_named(raw: dict[str, Any], what: str) -> None:
    with pytest.raises(CorruptTableError, match=rf"^{T} compaction \(requested\) .*{what}"):
        shaped(raw, COMPACTION)


def test_a_file_of_another_record() -> None:
    other = encode_payload({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, {"a": 1})
    with pytest.raises(CorruptTableError, match=r"is no HoodieCleanerPlan \(policy: nothing where something belongs\)"):
        shaped_in(other, CLEAN)
    assert shaped_in(other, COMPACTION)["operations"] is None
