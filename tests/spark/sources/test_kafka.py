"""A topic of a real broker read from the table's checkpoint on, batch by batch."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import BadRecordError, ConfigError, StorageError, WriteConflictError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import RESET_KEY
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.ingest import write_frame
from spark_jobs.write.sources.checkpointed import run_checkpointed
from tests.spark.sources.reading import Make, messages
from tests.spark.tables import COW, MOR, digests
from tests.support.deaths import forget_newest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_each_run_takes_what_came_since_the_last(reading: Make, table_type: str) -> None:
    it = reading(2)
    it.topic.send(messages(range(3)), 0)
    it.topic.send(messages(range(3, 5)), 1)
    first = it.run(table_type=table_type)
    assert (first.inserts, first.extra["checkpoint"], first.extra["previous_checkpoint"]) == (5, it.place(3, 2), None)
    before = digests(it.path)
    again = it.run(source_schema=None)
    assert again.state is JobState.NOTHING_TO_DO
    assert f"0 messages after {it.place(3, 2)} in 2 partitions, 0 left" in (again.reason or "")
    assert digests(it.path) == before
    it.topic.send(messages(range(2, 4), "new", 2), 1)
    second = it.run(source_schema=None)
    assert (second.updates, second.extra["checkpoint"]) == (2, it.place(3, 4))
    assert it.rows() == {0: "x", 1: "x", 2: "new", 3: "new", 4: "x"}
    assert it.said() == [it.place(3, 2), it.place(3, 4)]


def test_a_table_without_a_checkpoint_begins_at_the_end_and_says_so(reading: Make) -> None:
    """Hudi's default; the place is committed, so that what comes next is not missed."""
    it = reading()
    it.topic.send(messages(range(3)))
    first = it.run({"auto.offset.reset": "latest"})
    assert (first.records_in, first.extra["checkpoint"]) == (0, it.place(3))
    it.topic.send(messages(range(3, 5)))
    assert it.run({"auto.offset.reset": "latest"}).inserts == 2
    assert sorted(it.rows()) == [3, 4]
    again = it.run(checkpoint=it.place(1))
    assert (again.inserts, again.updates, again.extra["checkpoint"]) == (2, 2, it.place(5))
    assert sorted(it.rows()) == [1, 2, 3, 4]
    assert it.run(checkpoint=it.place(1)).state is JobState.NOTHING_TO_DO  # the same order was followed already
    at_end = it.run(checkpoint=it.place(5))  # another order, which the table is told of though nothing is to be read
    assert (at_end.state, at_end.records_in, at_end.extra["checkpoint"]) == (JobState.COMPLETED, 0, it.place(5))
    assert it.run(checkpoint=it.place(5)).state is JobState.NOTHING_TO_DO
    line = HudiTable.open(str(it.path)).timeline
    metadata = line.commit_metadata(line.completed_commits()[-1], SYSTEM_CLOCK)
    assert metadata.extra_metadata[RESET_KEY] == it.place(5)


def test_a_table_may_begin_where_a_consumer_group_stands(reading: Make, tmp_path: Path) -> None:
    it = reading(2)
    it.topic.send(messages(range(3)), 0)
    it.topic.send(messages(range(3, 5)), 1)
    it.topic.commit("readers", {0: 1})
    done = it.run({"auto.offset.reset": "group"}, source_options={"kafka.group.id": "readers"})
    assert (done.inserts, done.extra["checkpoint"]) == (2, it.place(3, 2))
    assert sorted(it.rows()) == [1, 2]
    it.topic.forget({0: 2})
    it.path = tmp_path / "another"
    with pytest.raises(StorageError, match="partition 0 begins at offset 2, the consumer group's offset is 1"):
        it.run({"auto.offset.reset": "group"}, source_options={"kafka.group.id": "readers"})
    assert not it.path.exists()
    lenient = {"auto.offset.reset": "group", "hoodie.streamer.source.kafka.enable.failOnDataLoss": "false"}
    assert it.run(lenient, source_options={"kafka.group.id": "readers"}).extra["checkpoint"] == it.place(3, 2)
    assert sorted(it.rows()) == [2]


def test_a_batch_is_limited_and_new_partitions_are_read_from_their_start(reading: Make) -> None:
    it = reading()
    it.topic.send(messages(range(5)))
    first = it.run(source_limit=2, idempotency_key="one")
    assert (first.inserts, first.extra["checkpoint"]) == (2, it.place(2))
    assert it.run(source_limit=2, idempotency_key="one").instant == first.instant
    it.topic.grow(2)
    it.topic.send(messages(range(10, 12)), 1)
    assert it.run(source_limit=3).extra["checkpoint"] == it.place(4, 1)
    shown = it.run(dry_run=True)
    assert (shown.state, shown.extra["checkpoint"]) == (JobState.DRY_RUN, it.place(5, 2))
    assert it.run().inserts == 2
    assert sorted(it.rows()) == [0, 1, 2, 3, 4, 10, 11]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ('{"id": "one", "v": "x", "ts": 1}', "is no JSON of the schema"),
        (b"\xff\xfe", "is no JSON of the schema"),
        ("", "is no JSON of the schema"),
        ('{"id": 1, "v": "x", "ts": 1}\n{"id": 2, "v": "x", "ts": 1}', "is no JSON of the schema"),
        (None, "has no value (a tombstone)"),
    ],
)
def test_a_message_that_is_no_row_fails_the_run(reading: Make, bad: str | bytes | None, why: str) -> None:
    it = reading()
    it.topic.send([{"id": 0, "v": "x", "ts": 1}, bad])
    with pytest.raises(BadRecordError) as refused:
        it.run()
    message = failure_of(refused.value).message
    assert f"topic {it.topic.name}, partition 0, offset 1 {why}" in message
    assert not it.path.exists()


def test_messages_that_are_no_rows_go_to_the_error_table(reading: Make, tmp_path: Path) -> None:
    it = reading()
    it.topic.send([{"id": 0, "v": "x", "ts": 1}, "no JSON", None, {"id": 1, "v": "y", "ts": 1}])
    done = it.run(error_table=str(tmp_path / "errors"), source_options={"value.tombstones": "skip"})
    assert (done.inserts, done.extra["checkpoint"]) == (2, it.place(4))
    assert it.rows() == {0: "x", 1: "y"}
    kept = HudiTable.open(str(tmp_path / "errors")).scan().to_arrow().to_pylist()
    assert [one["place"] for one in kept] == [f"topic {it.topic.name}, partition 0, offset 1"]

    forget_newest(HudiTable.open(str(it.path)))
    it.topic.send(["no JSON", {"id": 2, "v": "z", "ts": 1}])
    again = it.run(error_table=str(tmp_path / "errors"), source_options={"value.tombstones": "skip"})
    assert (again.inserts, again.extra["checkpoint"]) == (3, it.place(6))
    kept = HudiTable.open(str(tmp_path / "errors")).scan().to_arrow().to_pylist()
    assert sorted(one["place"][-1] for one in kept) == ["1", "4"]
    assert {one["target_instant"] for one in kept} == {again.instant}


def test_lost_messages_fail_the_run_unless_told_otherwise(reading: Make) -> None:
    it = reading(2)
    it.topic.send(messages(range(2)))
    it.run()
    it.topic.send(messages(range(2, 6)))
    it.topic.forget({0: 4})
    before = digests(it.path)
    with pytest.raises(StorageError, match="partition 0 begins at offset 4, the checkpoint is 2"):
        it.run()
    assert digests(it.path) == before
    done = it.run({"hoodie.streamer.source.kafka.enable.failOnDataLoss": "false"})
    assert (done.inserts, done.extra["checkpoint"]) == (2, it.place(6, 0))
    assert sorted(it.rows()) == [0, 1, 4, 5]


def test_of_two_runs_that_read_the_same_messages_one_commits(reading: Make) -> None:
    """Inserts, which no key would keep apart: the second one's checkpoint is no longer the table's."""
    it = reading()
    it.topic.send(messages(range(2)))
    it.run(op=Operation.INSERT)
    it.topic.send(messages(range(2, 4)))

    def overtaken(*arguments: Any, **more: Any) -> JobResult:
        assert it.run(op=Operation.INSERT).inserts == 2
        return write_frame(*arguments, **more)

    options = it.options(op=Operation.INSERT).effective()
    with pytest.raises(WriteConflictError, match=f"moved meanwhile from {it.place(2)} to {it.place(4)}"):
        run_checkpointed(it.spark, options, Progress.silent("ingest"), overtaken, Lake())
    assert it.run(op=Operation.INSERT).state is JobState.NOTHING_TO_DO
    assert sorted(it.rows()) == [0, 1, 2, 3]


def test_other_forms_of_values(reading: Make, tmp_path: Path) -> None:
    """As text, with Hudi's columns of the place, which may tell the later of two messages of a key."""
    it = reading()
    it.topic.send(["a", "b"], key="k")
    done = it.run(
        {"hoodie.streamer.source.kafka.append.offsets": "true"},
        source_options={"value.format": "string"},
        record_key_fields=("key",),
        precombine_field="_hoodie_kafka_source_offset",
    )
    assert done.inserts == 1
    kept = HudiTable.open(str(it.path)).scan().to_arrow().to_pylist()[0]
    assert (kept["key"], kept["value"], kept["topic"], kept["offset"]) == ("k", "b", it.topic.name, 1)
    assert (kept["_hoodie_kafka_source_partition"], kept["_hoodie_kafka_source_key"]) == (0, "k")


def test_columns_of_the_place_that_the_table_has_already(reading: Make) -> None:
    it = reading()
    placed = {"hoodie.streamer.source.kafka.append.offsets": "true"}
    it.topic.send(messages(range(1)))
    it.run(placed)
    it.topic.send(messages(range(1, 2)))
    assert it.run(placed, source_schema=None).inserts == 1
    found = HudiTable.open(str(it.path)).scan(columns=["id", "_hoodie_kafka_source_offset"]).to_arrow().to_pylist()
    assert {one["id"]: one["_hoodie_kafka_source_offset"] for one in found} == {0: 0, 1: 1}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"source": ("no-such-topic",)}, "topic no-such-topic does not exist"),
        ({"source": ()}, "no topic is given"),
        ({"source_schema": None}, "the values of a topic need a schema, and the table has none yet"),
        ({"source_schema": None, "transformer_sql": "SELECT * FROM <SRC>"}, "what a transformer makes of them"),
        ({"source_options": {"startingOffsets": "earliest"}}, "--source-option startingOffsets is not yours to give"),
        ({"source_options": {"value.format": "xml"}}, "value.format=xml is not valid"),
        ({"checkpoint": "orders,0:1"}, "is of topic orders"),
        ({"checkpoint": "20260101000000000"}, "is no checkpoint of a topic"),
        ({"available_now": True, "continuous": True}, "give one of them"),
        ({"available_now": True, "op": Operation.INSERT_OVERWRITE}, "replaces with each batch"),
    ],
)
def test_wrong_options_are_refused(reading: Make, more: dict[str, Any], why: str) -> None:
    it = reading()
    with pytest.raises((ConfigError, StorageError), match=why):
        it.run(**more)
    assert not it.path.exists()


def test_values_in_avro(reading: Make, tmp_path: Path) -> None:
    """By a schema file: the table's schema does not say how they were written. Bytes that are no record are found."""
    it = reading()
    fields = [{"name": "id", "type": "long"}, {"name": "v", "type": ["null", "string"]}, {"name": "ts", "type": "long"}]
    schema = {"type": "record", "name": "r", "fields": fields}
    file = tmp_path / "schema.avsc"
    file.write_text(json.dumps(schema))
    conf = {"hoodie.deltastreamer.schemaprovider.source.schema.file": str(file)}
    told = {"source_schema": None, "source_options": {"value.format": "avro"}}
    it.topic.send([avro(schema, one) for one in messages(range(3))])
    assert it.run(conf, **told).inserts == 3
    assert it.rows() == {0: "x", 1: "x", 2: "x"}
    with pytest.raises(ConfigError, match="values in Avro need the Avro schema that they were written by"):
        it.run(**told)
    it.topic.send([avro(schema, messages(range(3, 4))[0]) + b"more"])
    with pytest.raises(BadRecordError) as refused:
        it.run(conf, **told)
    assert "offset 3 is no AVRO of the schema" in failure_of(refused.value).message


def avro(schema: dict[str, Any], record: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()
