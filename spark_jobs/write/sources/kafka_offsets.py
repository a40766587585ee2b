"""Places in a topic, as text and as numbers (Hudi: KafkaOffsetGen.CheckpointUtils)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from spark_jobs.core.errors import ConfigError, StorageError

Offsets = dict[int, int]
"""Partition of the topic -> offset of the first message that is not read yet."""


def checkpoint_of(topic: str, offsets: Mapping[int, int]) -> str:
    """``topic,0:12,1:7``, as HoodieStreamer writes it."""
    return ",".join([topic, *(f"{partition}:{offset}" for partition, offset in sorted(offsets.items()))])


def offsets_of(checkpoint: str, topic: str) -> Offsets:
    """What :func:`checkpoint_of` made, or HoodieStreamer.

    :raises ConfigError: the text is of another topic, or no such text.
    """
    name, *places = checkpoint.split(",")
    try:
        offsets = {int(partition): int(offset) for partition, offset in (place.split(":") for place in places)}
    except ValueError:
        offsets = {}
    if not offsets or min(offsets) < 0 or min(offsets.values()) < 0:
        raise ConfigError(
            f"{checkpoint!r} is no checkpoint of a topic",
            todo="give --checkpoint=TOPIC,PARTITION:OFFSET,..., or --ignore-checkpoint to begin anew",
            checkpoint=checkpoint,
        )
    if name != topic:
        raise ConfigError(
            f"the table's checkpoint {checkpoint} is of topic {name}, not of {topic}",
            todo="check --source, or give --ignore-checkpoint to begin anew",
            checkpoint=checkpoint,
        )
    return offsets


def for_spark(topic: str, offsets: Mapping[int, int]) -> str:
    """The same as the options ``startingOffsets`` and ``endingOffsets`` of Spark's source have it."""
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(offsets.items())}})


def from_spark(lines: str, topic: str) -> Offsets:
    """The end of a micro-batch from Spark's log of offsets: a version, a line of settings, a line for each source.

    :raises StorageError: the text says nothing of the topic.
    """
    for line in reversed(lines.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and isinstance(found.get(topic), dict):
            return {int(partition): int(offset) for partition, offset in found[topic].items()}
    raise StorageError(f"Spark's log of offsets says nothing of topic {topic}: {lines[:200]!r}")


def limited(start: Mapping[int, int], end: Mapping[int, int], limit: int) -> Offsets:
    """The end of a batch of at most ``limit`` messages, spread evenly over the partitions.

    What a partition with little leaves of its share goes to the others, so that ``limit`` is reached where there is so
    much.
    """
    backlog = {partition: max(0, end[partition] - offset) for partition, offset in start.items()}
    reached, left = dict(start), limit
    for done, partition in enumerate(sorted(backlog, key=lambda one: (backlog[one], one))):
        taken = min(backlog[partition], left // (len(backlog) - done))
        reached[partition] += taken
        left -= taken
    return reached


def first_offsets(
    checkpoint: Mapping[int, int],
    earliest: Mapping[int, int],
    latest: Mapping[int, int],
    *,
    topic: str,
    strict: bool,
    known: str = "the checkpoint",
) -> tuple[Offsets, list[str]]:
    """Where a batch begins: at the checkpoint, and in partitions that came since at their first message.

    :param known: what messages call the checkpoint, which may be a consumer group's place.
    :param strict: refuse where messages after the checkpoint are gone; otherwise go on at the first that is there.
    :returns: the offsets, and a line for each partition of which messages are lost.
    :raises StorageError: with ``strict``, messages were lost, or the topic is another than the one that was read.
    """
    lost = [
        *_missing(checkpoint, earliest),
        *_aged_out(checkpoint, earliest, known),
        *_beyond_end(checkpoint, latest, known),
    ]
    if lost and strict:
        raise StorageError(
            f"topic {topic} no longer has the messages after {known}: {'; '.join(lost)}",
            todo="give --hoodie-conf hoodie.streamer.source.kafka.enable.failOnDataLoss=false to go on without them, "
            "or --checkpoint with where to go on",
            topic=topic,
        )
    start = {
        partition: checkpoint[partition]
        if partition in checkpoint and offset <= checkpoint[partition] <= latest[partition]
        else offset
        for partition, offset in earliest.items()
    }
    return start, lost


def _missing(checkpoint: Mapping[int, int], earliest: Mapping[int, int]) -> Sequence[str]:
    return [f"partition {one} is gone" for one in sorted(checkpoint) if one not in earliest]


def _aged_out(checkpoint: Mapping[int, int], earliest: Mapping[int, int], known: str) -> Sequence[str]:
    return [
        f"partition {one} begins at offset {earliest[one]}, {known} is {offset}"
        for one, offset in sorted(checkpoint.items())
        if one in earliest and offset < earliest[one]
    ]


def _beyond_end(checkpoint: Mapping[int, int], latest: Mapping[int, int], known: str) -> Sequence[str]:
    return [
        f"partition {one} ends at offset {latest[one]}, {known} is {offset}"
        for one, offset in sorted(checkpoint.items())
        if one in latest and offset > latest[one]
    ]
