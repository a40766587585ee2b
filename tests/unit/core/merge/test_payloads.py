"""Every payload on whole tables, against its class told record by record; and the settings that choose one."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, ConfigError, UnsupportedTableError
from spark_jobs.core.files.log_reader import LogData, LogDeletes
from spark_jobs.core.merge.changes import Changes, precombine
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.merge.payload import EVENT_TIME, OVERWRITE, Payload, payload_for_write, payload_of
from spark_jobs.core.merge.with_base import BaseMerge
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, IS_DELETED, PARTITION_PATH, RECORD_KEY
from tests.nightly import examples
from tests.unit.core.merge import hudi_payloads as hudi
from tests.unit.core.merge.hudi_payloads import Record

pytestmark = pytest.mark.unit

MODEL = "org.apache.hudi.common.model."
OWN = pa.schema(
    [
        ("ts", pa.int64()),
        ("text", pa.string()),
        ("tags", pa.list_(pa.string())),
        ("Op", pa.string()),
        (IS_DELETED, pa.bool_()),
    ]
)
BATCH = pa.schema([(RECORD_KEY, pa.string()), *OWN])
STORED = pa.schema([(COMMIT_TIME, pa.string()), (RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string()), *OWN])

RECORD = st.fixed_dictionaries(
    {
        RECORD_KEY: st.sampled_from("abcde"),
        "ts": st.integers(0, 3),
        "text": st.none() | st.sampled_from("xyz"),
        "tags": st.none() | st.lists(st.none() | st.sampled_from("pq"), max_size=2),
        "Op": st.none() | st.sampled_from("IUdD"),
        IS_DELETED: st.none() | st.booleans(),
    }
)
NAME = st.sampled_from(hudi.ALL)


def payload_named(name: str) -> Payload:
    found = payload_of(MODEL + name)
    assert pickle.loads(pickle.dumps(found)) == found
    return found


def table(records: list[Record], schema: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(records, schema=schema)


def plain(records: Any) -> list[Record]:
    """Rows without meta columns, by key."""
    meta = (COMMIT_TIME, PARTITION_PATH)
    rows = [{name: value for name, value in row.items() if name not in meta} for row in records]
    return sorted(rows, key=lambda row: str(row[RECORD_KEY]))


@settings(max_examples=examples(300), deadline=None)
@given(NAME, st.lists(RECORD, max_size=8))
def test_within_a_batch(name: str, records: list[Record]) -> None:
    told: dict[str, Record] = {}
    for record in records:
        key = record[RECORD_KEY]
        told[key] = hudi.pre_combine(name, told[key], record) if key in told else record
    found = precombine(table(records, BATCH), "ts", payload_named(name))
    assert plain(found.rows.to_pylist()) == plain(told.values())
    gone = {key for key, record in told.items() if hudi.is_delete(name, record)}
    assert set(found.deletes().column(RECORD_KEY).to_pylist()) == gone


@settings(max_examples=examples(300), deadline=None)
@given(NAME, st.lists(RECORD, max_size=8, unique_by=lambda one: one[RECORD_KEY]), st.lists(RECORD, max_size=8))
def test_incoming_against_a_base_file(name: str, stored: list[Record], incoming: list[Record]) -> None:
    payload = payload_named(name)
    base = [{**one, IS_DELETED: None, COMMIT_TIME: "1", PARTITION_PATH: "p"} for one in stored]
    changes = precombine(table(incoming, BATCH), "ts", payload)
    told: dict[str, Record] = {one[RECORD_KEY]: one for one in base}
    times = {one[RECORD_KEY]: "1" for one in base}
    for record in changes.rows.to_pylist():
        key = record[RECORD_KEY]
        before = told.pop(key, None)
        if before is not None:
            before = {field: before[field] for field in record}
        after = hudi.insert_value(name, record) if before is None else hudi.combine(name, before, record)
        if after is not None:
            told[key] = after
            times[key] = "1" if after is before else "2"
    stamped = [{**one, COMMIT_TIME: "2", PARTITION_PATH: "p"} for one in changes.rows.to_pylist()]
    merge = BaseMerge(Changes(table(stamped, STORED), changes.deleted), payload, "ts")
    merged = [merge.merge(batch) for batch in table(base, STORED).to_batches(max_chunksize=3)]
    found = [row for some in [*(one.rows for one in merged), *merge.unseen()] for row in some.to_pylist()]
    assert plain(found) == plain(told.values())
    assert {row[RECORD_KEY]: row[COMMIT_TIME] for row in found} == {key: times[key] for key in told}


LOG_EVENT = st.tuples(RECORD, st.sampled_from(["put", "put", "delete", "hard delete"]))


@settings(max_examples=examples(300), deadline=None)
@given(NAME, st.lists(st.lists(LOG_EVENT, max_size=4), max_size=5), st.lists(RECORD, max_size=5, unique_by=str))
def test_log_against_log_and_base(name: str, blocks: list[list[tuple[Record, str]]], stored: list[Record]) -> None:
    payload = payload_named(name)
    stored = list({one[RECORD_KEY]: {**one, IS_DELETED: None, "Op": "I"} for one in stored}.values())
    entries: list[LogData | LogDeletes] = []
    for number, block in enumerate(blocks):
        puts = [{**one, IS_DELETED: None, "Op": "I"} for one, kind in block if kind == "put"]
        drops = [(one, kind) for one, kind in block if kind != "put"]
        meta = {COMMIT_TIME: str(number), PARTITION_PATH: "p"}
        entries.append(LogData(instant="1", table=table([{**one, **meta} for one in puts], STORED)))
        for wanted in ("delete", "hard delete"):
            some = [one for one, kind in drops if kind == wanted]
            values = pa.array([one["ts"] for one in some], pa.int64())
            orderings = values if wanted == "delete" else pa.array([0] * len(some), pa.int32())
            keys = pa.array([one[RECORD_KEY] for one in some], pa.string())
            places = pa.array(["p"] * len(some), pa.string())
            entries.append(LogDeletes(instant="1", keys=keys, partitions=places, orderings=orderings))
    ordered = _told(name, blocks)
    changes = fold_log(entries, STORED, "ts", payload=payload)
    upserts, deletes = changes.upserts(), changes.deletes()
    assert plain(upserts.to_pylist()) == plain(one for one in ordered.values() if one is not None)
    assert set(deletes.column(RECORD_KEY).to_pylist()) == {key for key, one in ordered.items() if one is None}

    base = [{**one, COMMIT_TIME: "0", PARTITION_PATH: "p"} for one in stored]
    merge = BaseMerge(changes, payload, "ts", event_time_deletes=False)
    merged = [merge.merge(batch) for batch in table(base, STORED).to_batches()]
    found = [row for some in [*(one.rows for one in merged), *merge.unseen()] for row in some.to_pylist()]
    expected = {one[RECORD_KEY]: one for one in stored}
    for key, record in ordered.items():
        before = expected.pop(key, None)
        after = record if before is None or record is None else hudi.combine(name, before, record)
        if after is not None:
            expected[key] = after
    assert plain(found) == plain(expected.values())


def _told(name: str, blocks: list[list[tuple[Record, str]]]) -> dict[str, Record | None]:
    """What each key ends as: of every block the records, then the deletes that compare, then those that do not."""
    told: dict[str, tuple[int, Record | None]] = {}
    for block in blocks:
        for wanted in ("put", "delete", "hard delete"):
            for given_record, kind in block:
                if kind != wanted:
                    continue
                record = {**given_record, IS_DELETED: None, "Op": "I"}
                key = record[RECORD_KEY]
                ts, before = told.get(key, (0, None))
                if wanted == "put":
                    after = record if before is None else hudi.pre_combine(name, before, record, in_log=True)
                    told[key] = (after["ts"], after)
                elif before is None or wanted == "hard delete" or ts <= record["ts"]:
                    told[key] = (record["ts"], None)
    return {key: record for key, (_, record) in told.items()}


def test_many_versions_of_a_key_are_folded_one_after_the_other() -> None:
    """PartialUpdate is not associative: the order in which the nulls were filled shows."""
    versions = [
        {RECORD_KEY: "a", "ts": 1, "text": "x", "tags": None, "Op": "I", IS_DELETED: None},
        {RECORD_KEY: "a", "ts": 3, "text": None, "tags": ["t"], "Op": None, IS_DELETED: None},
        {RECORD_KEY: "a", "ts": 2, "text": "late", "tags": ["late"], "Op": "U", IS_DELETED: None},
        {RECORD_KEY: "a", "ts": 3, "text": None, "tags": None, "Op": "last", IS_DELETED: None},
    ]
    found = precombine(table(versions, BATCH), "ts", payload_named(hudi.PARTIAL))
    assert found.rows.to_pylist() == [
        {RECORD_KEY: "a", "ts": 3, "text": "x", "tags": ["t"], "Op": "last", IS_DELETED: None}
    ]


def test_a_partial_update_that_is_late_has_the_meta_columns_of_its_own_write() -> None:
    old = {COMMIT_TIME: "1", RECORD_KEY: "a", PARTITION_PATH: "p", "ts": 5, "text": "kept", "tags": None}
    new = {COMMIT_TIME: "2", RECORD_KEY: "a", PARTITION_PATH: "p", "ts": 1, "text": "late", "tags": ["filled"]}
    merge = BaseMerge(Changes(table([new], STORED), np.array([False])), payload_named(hudi.PARTIAL), "ts")
    merged = merge.merge(table([old], STORED).to_batches()[0])
    assert merged.rows.select([COMMIT_TIME, "ts", "text", "tags"]).to_pylist() == [
        {COMMIT_TIME: "2", "ts": 5, "text": "kept", "tags": ["filled"]}
    ]


def test_fields_at_their_schema_default_keep_what_is_stored() -> None:
    avro = {
        "fields": [
            {"name": "a", "type": ["null", "string"], "default": None},
            {"name": "b", "type": "int", "default": 7},
            {"name": "c", "type": ["long", "null"], "default": 0},
            {"name": "d", "type": "string", "default": "none"},
            {"name": "e", "type": ["string", "null"], "default": "none"},  # in a union Hudi compares other classes
            {"name": "f", "type": "double"},
        ]
    }
    schema = pa.schema(
        {"a": pa.string(), "b": pa.int32(), "c": pa.int64(), "d": pa.string(), "e": pa.string(), "f": pa.float64()}
    )
    stored = pa.table({"a": ["s"] * 2, "b": [1] * 2, "c": [1] * 2, "d": ["s"] * 2, "e": ["s"] * 2, "f": [1.0] * 2})
    incoming = pa.table(
        {"a": [None, "n"], "b": [7, 8], "c": [0, None], "d": ["none", ""], "e": ["none", None], "f": [None, 0.0]}
    )
    payload = payload_of(MODEL + hudi.NON_DEFAULTS, avro_schema=avro)
    rows = payload.combine(stored.cast(schema), incoming.cast(schema), np.zeros(2, bool), None).rows
    assert rows is not None
    assert rows.to_pylist() == [
        {"a": "s", "b": 1, "c": 1, "d": "s", "e": "none", "f": 1.0},
        {"a": "n", "b": 8, "c": None, "d": "", "e": None, "f": 0.0},
    ]


def test_a_delete_field_and_an_ordering_field_of_their_own() -> None:
    properties = {
        "hoodie.payload.delete.field": "Op",
        "hoodie.payload.delete.marker": "gone",
        "hoodie.payload.ordering.field": "revision",
    }
    payload = payload_of(MODEL + hudi.DEFAULT, properties)
    schema = pa.schema([("ts", pa.int64()), ("revision", pa.int64()), ("Op", pa.string()), (IS_DELETED, pa.bool_())])
    rows = table([{"ts": 1, "revision": 9, "Op": "gone"}, {"ts": 2, "Op": "x", IS_DELETED: True}], schema)
    assert payload.is_delete(rows).tolist() == [True, False]
    assert sorted(payload.columns(schema.names)) == ["Op", IS_DELETED, "revision"]
    later = table([{"ts": 9, "revision": 1}], schema)
    verdict = payload.combine(rows.slice(0, 1), later, np.array([False]), "ts")
    assert verdict.accepted.tolist() == [False]
    with pytest.raises(ConfigError, match=r"hoodie\.payload\.delete\.field=Op has no marker"):
        payload_of(MODEL + hudi.DEFAULT, {"hoodie.payload.delete.field": "Op"})


def test_dms_rows_need_their_column() -> None:
    with pytest.raises(BadRecordError, match="AWSDmsAvroPayload needs a column Op"):
        payload_named(hudi.AWS_DMS).is_delete(pa.table({RECORD_KEY: ["a"]}))


def test_payload_classes_by_name() -> None:
    assert payload_of(MODEL + hudi.OVERWRITE) is OVERWRITE
    assert payload_of(MODEL + "HoodieAvroPayload") is OVERWRITE
    assert payload_of(MODEL + hudi.DEFAULT) == EVENT_TIME
    assert payload_of("org.apache.hudi.payload.AWSDmsAvroPayload") == payload_of(MODEL + hudi.AWS_DMS)
    with pytest.raises(UnsupportedTableError, match=r"com\.example\.Mine is not supported .*: use one of Overwrite"):
        payload_of("com.example.Mine")
    for name in ("MySqlDebeziumAvroPayload", "PostgresDebeziumAvroPayload"):
        with pytest.raises(UnsupportedTableError, match=f"{name} is not supported .*EventTimeAvroPayload"):
            payload_of(MODEL + "debezium." + name)


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"hoodie.datasource.write.record.merger.impls": "org.apache.hudi.HoodieSparkRecordMerger"}, "HoodieSparkRec"),
        ({"hoodie.datasource.write.record.merger.strategy": "mine"}, "strategy=mine is the id of a record merger"),
        ({"hoodie.compaction.record.merger.strategy": "mine"}, "strategy=mine is the id of a record merger"),
    ],
)
def test_other_mergers_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        payload_for_write(MODEL + hudi.OVERWRITE, properties, None, merge_on_read=True)
    usual = {"hoodie.datasource.write.record.merger.impls": MODEL + "HoodieAvroRecordMerger"}
    assert payload_for_write(MODEL + hudi.OVERWRITE, usual, None, merge_on_read=True) is OVERWRITE
