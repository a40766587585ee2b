"""Checkpoints of topics as text, and how a batch is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.write.sources.kafka_offsets import (
    checkpoint_of,
    first_offsets,
    for_spark,
    from_spark,
    limited,
    offsets_of,
)

pytestmark = pytest.mark.unit

OFFSETS = st.dictionaries(st.integers(0, 200), st.integers(0, 2**62), min_size=1, max_size=20)


def test_a_checkpoint_is_spelled_as_hoodie_streamer_does() -> None:
    assert checkpoint_of("orders", {1: 7, 0: 12}) == "orders,0:12,1:7"
    assert offsets_of("orders,0:12,1:7", "orders") == {0: 12, 1: 7}


@given(OFFSETS)
def test_offsets_survive_text_and_spark(offsets: dict[int, int]) -> None:
    assert offsets_of(checkpoint_of("t", offsets), "t") == offsets
    log = f'v1\n{{"batchWatermarkMs":0,"conf":{{}}}}\n{for_spark("t", offsets)}'
    assert from_spark(log, "t") == offsets


@pytest.mark.parametrize("text", ["", "orders", "orders,", "orders,0", "orders,0:x", "orders,0:-2", "2026", "a,0:1:2"])
def test_other_texts_are_no_checkpoints(text: str) -> None:
    with pytest.raises(ConfigError, match="is no checkpoint of a topic"):
        offsets_of(text, "orders")


def test_a_checkpoint_of_another_topic_is_refused() -> None:
    with pytest.raises(ConfigError, match="is of topic orders, not of events"):
        offsets_of("orders,0:1", "events")


def test_a_log_without_the_topic_is_refused() -> None:
    with pytest.raises(StorageError, match="says nothing of topic t"):
        from_spark('v1\n{}\n{"other":{"0":1}}\n-', "t")


@pytest.mark.parametrize(
    ("start", "end", "limit", "reached"),
    [
        ({0: 0, 1: 0}, {0: 10, 1: 10}, 6, {0: 3, 1: 3}),
        ({0: 0, 1: 0}, {0: 1, 1: 10}, 6, {0: 1, 1: 5}),
        ({0: 5, 1: 0}, {0: 5, 1: 3}, 100, {0: 5, 1: 3}),
        ({0: 0, 1: 0, 2: 0}, {0: 4, 1: 4, 2: 4}, 1, {0: 0, 1: 0, 2: 1}),
    ],
)
def test_a_limit_is_spread_over_partitions(
    start: dict[int, int], end: dict[int, int], limit: int, reached: dict[int, int]
) -> None:
    assert limited(start, end, limit) == reached


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=8), st.integers(1, 500))
def test_a_limited_batch_is_as_large_as_it_may_be(places: list[tuple[int, int]], limit: int) -> None:
    start = {number: first for number, (first, _) in enumerate(places)}
    end = {number: first + count for number, (first, count) in enumerate(places)}
    reached = limited(start, end, limit)
    assert all(start[one] <= reached[one] <= end[one] for one in start)
    assert sum(reached.values()) - sum(start.values()) == min(limit, sum(end.values()) - sum(start.values()))


@pytest.mark.parametrize(
    ("known", "earliest", "latest", "why", "begins"),
    [
        ({0: 2}, {0: 3}, {0: 9}, "partition 0 begins at offset 3, the checkpoint is 2", {0: 3}),
        ({0: 2, 1: 5}, {0: 0}, {0: 9}, "partition 1 is gone", {0: 2}),
        ({0: 7}, {0: 0}, {0: 3}, "partition 0 ends at offset 3, the checkpoint is 7", {0: 0}),
    ],
)
def test_lost_messages_are_named(
    known: dict[int, int], earliest: dict[int, int], latest: dict[int, int], why: str, begins: dict[int, int]
) -> None:
    with pytest.raises(StorageError, match=why):
        first_offsets(known, earliest, latest, topic="t", strict=True)
    start, lost = first_offsets(known, earliest, latest, topic="t", strict=False)
    assert lost == [why]
    assert start == begins


def test_partitions_that_came_since_are_read_from_their_first_message() -> None:
    assert first_offsets({0: 2}, {0: 0, 1: 4}, {0: 5, 1: 9}, topic="t", strict=True) == ({0: 2, 1: 4}, [])


def test_a_consumer_group_behind_the_first_message_is_called_so() -> None:
    with pytest.raises(StorageError, match="partition 0 begins at offset 3, the group's offset is 2"):
        first_offsets({0: 2}, {0: 3}, {0: 9}, topic="t", strict=True, known="the group's offset")
