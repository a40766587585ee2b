"""Values that are well-formed and make no sense, where random damage seldom comes: each is an error of ours."""

from __future__ import annotations

import base64
import json
import struct
import tracemalloc
from datetime import datetime

import pytest

from spark_jobs.core.config.table_keys import TimelineZone
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.instant import next_instant_time
from spark_jobs.core.transaction.owner import parse_owner

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("count", [2**31 - 1, 1 << 27, 1000])
def test_a_filter_that_claims_more_rows_than_it_has(count: int) -> None:
    head = struct.pack(">iibi", -1, 1, 1, 7)
    text = base64.b64encode(head + struct.pack(">iii", 10, 0, count) + head + b"\0")
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTableError):
            BloomFilter.from_base64(text, "DYNAMIC_V0")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["version_id", "max_column_id"])
def test_a_schema_of_infinite_numbers(name: str) -> None:
    text = '{"type":"record","fields":[],"' + name + '":1e999}'
    with pytest.raises(CorruptTableError):
        InternalSchema.parse(text, "a commit")


@pytest.mark.parametrize(
    "raw",
    [{"extraMetadata": "abc"}, {"partitionToWriteStats": {"p": [{"fileId": {"a": 1}}]}}],
)
def test_commits_of_other_types(raw: object) -> None:
    with pytest.raises(CorruptTableError, match="is not commit metadata"):
        CommitMetadata.decode(json.dumps(raw).encode(), "1.commit")


def test_a_lock_of_an_infinite_process() -> None:
    assert parse_owner(b'{"owner":{"host":"h","pid":1e999,"started":1},"token":"t"}') is None


def test_nothing_follows_the_last_instant_of_the_calendar() -> None:
    with pytest.raises(CorruptTableError, match="which none can follow"):
        next_instant_time(datetime(2026, 1, 1), TimelineZone.UTC, "99991231235959999")
