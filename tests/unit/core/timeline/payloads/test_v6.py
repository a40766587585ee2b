"""Payloads in the files of version 6."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.payloads.payload import Kind, Payload, kind_of
from spark_jobs.core.timeline.payloads.schemas import SCHEMAS
from spark_jobs.core.timeline.payloads.v6 import PayloadsOf6
from tests.unit.core.timeline.payloads.values import values_of

pytestmark = pytest.mark.unit

FORM = PayloadsOf6()
NOTES = st.dictionaries(st.text(min_size=1).filter(lambda name: not name.startswith("avro.")), st.text(), max_size=2)


def test_each_kind_but_that_of_commits_has_a_schema() -> None:
    assert SCHEMAS.keys() == set(Kind) - {Kind.COMMIT}


@pytest.mark.parametrize("kind", SCHEMAS, ids=lambda kind: kind.name)
@settings(max_examples=10, deadline=None)
@given(data=st.data(), note=NOTES)
def test_a_record_and_its_note_come_back(kind: Kind, data: st.DataObject, note: dict[str, str]) -> None:
    value = data.draw(values_of(SCHEMAS[kind], {}))
    content = FORM.encode(Payload(kind, value, note))
    assert FORM.decode(content, kind, "x") == value
    assert FORM.note_of(content) == note


def test_a_commit_is_json_as_hudi_writes_it() -> None:
    record = {"partitionToWriteStats": {}, "extraMetadata": {"a": "ä", "b": None}, "operationType": "UPSERT"}
    content = FORM.encode(Payload(Kind.COMMIT, record))
    assert content.startswith(b'{\n  "partitionToWriteStats"')
    assert "ä".encode() in content
    assert json.loads(content) == FORM.decode(content, Kind.COMMIT, "x") == record
    assert FORM.decode(b"", Kind.COMMIT, "x") == {}


@pytest.mark.parametrize("content", [b"[]", b"{", b"\xff", b'"text"', b"1"])
def test_what_is_no_commit_is_named(content: bytes) -> None:
    with pytest.raises(CorruptTableError, match=r"^1\.commit is not commit metadata"):
        FORM.decode(content, Kind.COMMIT, "1.commit")


@pytest.mark.parametrize(
    ("action", "state", "kind"),
    [
        (Action.COMMIT, State.INFLIGHT, Kind.COMMIT),
        (Action.REPLACE_COMMIT, State.REQUESTED, Kind.REPLACEMENT_PLAN),
        (Action.REPLACE_COMMIT, State.COMPLETED, Kind.COMMIT),
        (Action.COMPACTION, State.REQUESTED, Kind.COMPACTION_PLAN),
        (Action.COMPACTION, State.INFLIGHT, Kind.COMMIT),
        (Action.CLEAN, State.INFLIGHT, Kind.CLEAN_PLAN),
        (Action.ROLLBACK, State.INFLIGHT, None),
    ],
)
def test_what_stands_in_a_file(action: Action, state: State, kind: Kind | None) -> None:
    assert kind_of(Instant("1", action, state)) is kind
