"""Avro payloads of the timeline: round trips of every schema, and what is refused."""

from __future__ import annotations

import io
from contextlib import suppress

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.timeline.payloads import schemas
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload, encode_payload
from tests.unit.core.timeline.payloads.values import values_of

pytestmark = pytest.mark.unit

SCHEMAS = {name: value for name, value in vars(schemas).items() if isinstance(value, dict) and "fields" in value}


def test_all_payloads_are_here() -> None:
    assert {"CLEANER_PLAN", "CLEAN_METADATA", "COMPACTION_PLAN", "REQUESTED_REPLACE_METADATA"} <= set(SCHEMAS)
    assert {"ROLLBACK_PLAN", "ROLLBACK_METADATA", "RESTORE_PLAN", "RESTORE_METADATA"} <= set(SCHEMAS)
    assert {"SAVEPOINT_METADATA", "INDEX_PLAN", "INDEX_COMMIT_METADATA"} <= set(SCHEMAS)


@pytest.mark.parametrize("name", sorted(SCHEMAS))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_round_trip(name: str, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    value = data.draw(values_of(schema, {}))
    assert decode_payload(encode_payload(schema, value), "x") == value


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.binary(max_size=3))
def test_a_cut_or_spoilt_file_is_corrupt_or_still_a_record(position: int, noise: bytes) -> None:
    value = {
        "instantToRollback": {"commitTime": "1", "action": "commit"},
        "RollbackRequests": [],
        "version": 1,
    }
    whole = encode_payload(schemas.ROLLBACK_PLAN, value)
    spoilt = whole[: position % len(whole)] + noise
    with suppress(CorruptTableError):
        assert isinstance(decode_payload(spoilt, "1.rollback.requested"), dict)


def test_what_is_no_record() -> None:
    for data in (b"", b"{}", encode_payload({"type": "string"}, "text")):  # type: ignore[arg-type]
        with pytest.raises(CorruptTableError):
            decode_payload(data, "x")


def test_a_compressed_file_is_refused_before_it_is_unpacked() -> None:
    sink = io.BytesIO()
    value = {"version": 1, "indexPartitionInfos": None}
    fastavro.writer(sink, schemas.INDEX_PLAN, [value], codec="deflate")
    with pytest.raises(CorruptTableError, match="its codec is b'deflate'"):
        decode_payload(sink.getvalue(), "x")
