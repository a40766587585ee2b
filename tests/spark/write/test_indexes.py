"""Every index on every kind of table against a dict, with deletes and with records that change their partition."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from tests.spark.tables import COW, MOR, Jobs, Row, SparkJobs, digests, row, rows, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "4"}
BLOOM_OF_METADATA = {
    "hoodie.index.type": "BLOOM",
    "hoodie.bloom.index.use.metadata": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.column.stats.column.list": "_hoodie_record_key",
}
IN_PARTITION = {
    "simple": {"hoodie.index.type": "SIMPLE"},
    "bloom": {"hoodie.index.type": "BLOOM"},
    "bloom, metadata": BLOOM_OF_METADATA,
    "bloom, no ranges": {"hoodie.index.type": "BLOOM", "hoodie.bloom.index.prune.by.ranges": "false"},
    "bucket": BUCKETS,
}
ORDERED = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}


def global_index(kind: str, *, moves: bool) -> dict[str, str]:
    key = {"GLOBAL_SIMPLE": "simple", "GLOBAL_BLOOM": "bloom", "RECORD_INDEX": "record"}[kind]
    return {"hoodie.index.type": kind, f"hoodie.{key}.index.update.partition.path": str(moves).lower()}


GLOBAL = {
    "simple, moves": (global_index("GLOBAL_SIMPLE", moves=True), True),
    "simple, stays": (global_index("GLOBAL_SIMPLE", moves=False), False),
    "bloom, moves": (global_index("GLOBAL_BLOOM", moves=True), True),
    "bloom, stays": (global_index("GLOBAL_BLOOM", moves=False), False),
    "record, moves": (
        {**global_index("RECORD_INDEX", moves=True), "hoodie.metadata.record.index.enable": "true"},
        True,
    ),
    "record, not built": (global_index("RECORD_INDEX", moves=True), True),
}


@pytest.mark.parametrize(
    ("name", "table_type"),
    [("bloom", MOR), ("bloom, metadata", COW), ("bloom, no ranges", COW), ("bucket", COW), ("bucket", MOR)],
)
def test_indexes_of_partitions(spark: SparkSession, tmp_path: Path, name: str, table_type: str) -> None:
    """Invariant 2 with a partition as the scope: one record for each (partition, key)."""
    jobs = SparkJobs(
        spark=spark, path=tmp_path / "t", table_type=table_type, conf=IN_PARTITION[name], local_services=True
    )
    choose = random.Random(f"{name} {table_type}")
    model: dict[tuple[str, int], Row] = {}
    for ts, op in enumerate(["insert", "upsert", "delete", "upsert"], 1):
        batch = [row(choose.randrange(40), choose.choice("ab"), f"{ts}", ts) for _ in range(14)]
        one_each = list({(one["p"], one["id"]): one for one in batch}.values())
        jobs.write(op, one_each)
        for one in one_each:
            model.pop((one["p"], one["id"]), None)
            if op != "delete":
                model[(one["p"], one["id"])] = one
        expect(jobs, list(model.values()), f"{op} {ts}")
        assert not repeated(jobs, by_partition=True)
        if ts == 3 and table_type == MOR:
            jobs.compact()


@pytest.mark.parametrize(
    ("name", "table_type", "ordered"),
    [
        ("simple, moves", COW, False),
        ("simple, moves", MOR, True),
        ("simple, stays", MOR, False),
        ("bloom, moves", COW, True),
        ("bloom, moves", MOR, False),
        ("bloom, stays", COW, False),
        ("record, moves", COW, True),
        ("record, moves", MOR, False),
        ("record, not built", COW, False),
    ],
)
def test_global_indexes(spark: SparkSession, tmp_path: Path, name: str, table_type: str, ordered: bool) -> None:
    """Invariant 2 with the table as the scope: one record for each key, which moves with its partition or stays."""
    conf, moves = GLOBAL[name]
    payload = ORDERED if ordered else {}
    jobs = SparkJobs(
        spark=spark, path=tmp_path / "t", table_type=table_type, conf={**conf, **payload}, local_services=True
    )
    choose = random.Random(f"{name} {table_type} {ordered}")
    first = [row(key, choose.choice("ab"), "first", 10) for key in range(12)]
    jobs.write("bulk_insert", first)
    model = {one["id"]: (str(one["p"]), one) for one in first}  # by key: where the record is, and the record
    gone: dict[int, str] = {}  # where base files still have keys whose records logs removed
    for ts, op in enumerate(["upsert", "upsert", "delete", "upsert"], 11):
        batch = changes(choose, ts, late=ordered)
        jobs.write(op, batch)
        for one in batch:
            apply(model, gone, one, op, moves=moves, ordered=ordered)
        expect(jobs, [one for _, one in model.values()], f"{name} {op} {ts}")
        assert places(jobs) == {str(key): at for key, (at, _) in model.items()}, f"{name} {op} {ts}"
        if table_type == COW or ts == 12:
            gone.clear()
        if table_type == MOR and ts == 12:
            jobs.compact()


def test_what_moves_is_merged_with_what_was_stored(spark: SparkSession, tmp_path: Path) -> None:
    """A payload that chooses field by field does so over partitions too."""
    partial = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.PartialUpdateAvroPayload"}
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf={**GLOBAL["simple, moves"][0], **partial})
    jobs.write("upsert", [row(1, "a", "kept", 1), row(2, "a", "kept", 1)])
    jobs.write("upsert", [row(1, "b", None, 2)])
    assert places(jobs) == {"1": "b", "2": "a"}
    expect(jobs, [row(1, "b", "kept", 2), row(2, "a", "kept", 1)], "after the move")


def changes(choose: random.Random, ts: int, *, late: bool) -> list[Row]:
    """A record for each of some keys, old and new, in any partition; some are deletes, some late where that counts."""
    found = []
    for key in choose.sample(range(16), 8):
        when = ts - 5 if late and choose.random() < 0.3 else ts
        found.append(row(key, choose.choice("abc"), f"at {ts}", when, deleted=choose.random() < 0.2))
    return found


def apply(
    model: dict[int, tuple[str, Row]], gone: dict[int, str], one: Row, op: str, *, moves: bool, ordered: bool
) -> None:
    key, stored = one["id"], model.get(one["id"])
    if stored is not None and op == "upsert" and ordered and stored[1]["ts"] > one["ts"]:
        return
    if op == "delete" or one["_hoodie_is_deleted"]:
        if stored is not None:
            gone[key] = model.pop(key)[0]
        return
    at = one["p"] if moves else stored[0] if stored is not None else gone.get(key, one["p"])
    model[key] = (at, one)


@pytest.mark.parametrize("conf", [GLOBAL["simple, moves"][0], GLOBAL["bloom, stays"][0]], ids=["moves", "stays"])
def test_a_key_twice_in_a_batch_is_one_record(spark: SparkSession, tmp_path: Path, conf: dict[str, str]) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf=conf)
    jobs.write("upsert", [row(1, "a", "older", 1), row(1, "b", "newer", 2), row(2, "a", "alone", 1)])
    assert places(jobs) == {"1": "b", "2": "a"}
    assert [one["v"] for one in jobs.rows()] == ["newer", "alone"]


def test_a_record_that_comes_back_after_a_delete_in_a_log(spark: SparkSession, tmp_path: Path) -> None:
    """The base file of the old partition still has the key: it is no place of the record any more."""
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=GLOBAL["simple, moves"][0])
    jobs.write("bulk_insert", [row(1, "a", "first"), row(2, "a", "first")])
    jobs.write("upsert", [row(1, "b", "moved", 2)])
    jobs.write("upsert", [row(1, "b", "again", 3)])
    assert places(jobs) == {"1": "b", "2": "a"}
    jobs.write("upsert", [row(1, "a", "back", 4)])
    assert places(jobs) == {"1": "a", "2": "a"}
    assert not repeated(jobs, by_partition=False)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_operations_keep_to_the_buckets(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type, conf=BUCKETS)
    jobs.write("bulk_insert", [row(key, "a", "bulk") for key in range(20)])
    jobs.write("bulk_insert", [row(key, "a", "bulk") for key in range(20, 30)])
    jobs.write("insert", [row(key, "a", "insert") for key in range(30, 40)])
    jobs.write("upsert", [row(key, "a", "upsert", 2) for key in range(0, 40, 2)])
    groups = {one.file_id for one in jobs.table().file_slices("a")}
    assert sorted(file_id[:8] for file_id in groups) == [f"{bucket:08d}" for bucket in range(4)]
    expect(jobs, [row(key, "a", "upsert", 2) for key in range(0, 40, 2)] + stays(), "after an upsert")
    jobs.write("insert_overwrite", [row(100, "a", "alone")])
    assert {one.file_id for one in jobs.table().file_slices("a")}.isdisjoint(groups)
    expect(jobs, [row(100, "a", "alone")], "after an overwrite")


def stays() -> list[Row]:
    found = {"bulk": range(1, 30, 2), "insert": range(31, 40, 2)}
    return [row(key, "a", value) for value, keys in found.items() for key in keys]


def test_an_insert_that_drops_duplicates_looks_into_its_buckets(spark: SparkSession, tmp_path: Path) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf=BUCKETS)
    jobs.write("upsert", [row(key, "a", "first") for key in range(10)])
    conf = {**BUCKETS, "hoodie.datasource.write.insert.drop.duplicates": "true"}
    jobs.write("insert", [row(key, "a", "second") for key in range(5, 15)], hoodie_conf=tuple(conf.items()))
    wanted = [row(key, "a", "first") for key in range(10)] + [row(key, "a", "second") for key in range(10, 15)]
    expect(jobs, wanted, "after the insert")


def test_keys_that_stand_in_logs_alone_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """New keys of a bucket go to the log of its file group; another index has to find them there."""
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=BUCKETS)
    jobs.write("upsert", [row(key, "a", "first") for key in range(10)])
    jobs.write("upsert", [row(key, "a", "in a log") for key in range(10, 20)])
    for number, kind in enumerate(["SIMPLE", "BLOOM"], 2):
        batch = [row(key, "a", kind, number) for key in range(5, 20)]
        jobs.write("upsert", batch, hoodie_conf=(("hoodie.index.type", kind),))
        expect(jobs, [row(key, "a", "first") for key in range(5)] + batch, kind)
        assert not repeated(jobs, by_partition=True)


@pytest.mark.parametrize("kind", ["SIMPLE", "BLOOM"])
def test_a_key_that_logs_deleted_in_one_of_its_groups_goes_where_it_lives(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Also where it lives nowhere any more: a second place would make a second row."""
    conf = {"hoodie.index.type": kind, "hoodie.parquet.small.file.limit": "0"}
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=MOR, conf=conf)
    jobs.write("bulk_insert", [row(1, "a", "first"), row(2, "a", "first")])
    jobs.write("delete", [row(1, "a")])
    jobs.write("insert", [row(1, "a", "again", 2), row(3, "a", "again", 2)])
    assert len(jobs.table().file_slices("a")) == 2
    jobs.write("upsert", [row(key, "a", "upserted", 3) for key in (1, 2, 3)])
    expect(jobs, [row(key, "a", "upserted", 3) for key in (1, 2, 3)], "after an upsert")
    jobs.write("delete", [row(1, "a")])
    jobs.write("upsert", [row(1, "a", "back", 4)])
    expect(jobs, [row(1, "a", "back", 4), *(row(key, "a", "upserted", 3) for key in (2, 3))], "after it was gone")


def places(jobs: Jobs) -> dict[str, str]:
    """The partition of each record key, by the folder where it is."""
    found: dict[str, str] = {}
    for partition in jobs.table().partitions():
        for one in jobs.table().file_slices(partition):
            for batch in jobs.table().scan().reader().read(one, [RECORD_KEY]):
                for key in batch.column(0).to_pylist():
                    assert key not in found, f"{key} is in {found[key]} and in {partition}"
                    found[key] = partition
    return found


def repeated(jobs: Jobs, *, by_partition: bool) -> list[object]:
    meta = jobs.table().scan([RECORD_KEY, PARTITION_PATH]).to_arrow().to_pylist()
    counts = Counter((one[RECORD_KEY], one[PARTITION_PATH] if by_partition else "") for one in meta)
    return [key for key, count in counts.items() if count > 1]


def expect(jobs: Jobs, records: list[Row], when: str) -> None:
    assert jobs.rows() == shown(records), when


def test_explain_tells_and_writes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf={"hoodie.metadata.record.index.enable": "true"})
    jobs.write("bulk_insert", [row(key, "a", "first") for key in range(10, 40)])
    jobs.write("insert", [row(key, "b", "first") for key in range(40, 70)])
    before = digests(tmp_path / "t")
    result = jobs.write("upsert", [row(20, "a", "new", 2), row(75, "a", "new", 2)], explain=True)
    assert digests(tmp_path / "t") == before
    assert result.state == "DRY_RUN"
    assert result.plan is not None
    facts, told = result.plan["facts"], {one["index"]: one for one in result.plan["indexes"]}
    assert (facts["records"], facts["partitions_touched"], facts["partitions"]) == (2, 1, 2)
    assert (facts["files"], facts["files_touched"], facts["record_index"]) == (2, 1, True)
    assert {name: one.get("files") for name, one in told.items()} == {
        "SIMPLE": 1,
        "BLOOM": 1,
        "BUCKET": None,
        "GLOBAL_SIMPLE": 2,
        "GLOBAL_BLOOM": 1,
        "RECORD_INDEX": told["RECORD_INDEX"]["files"],
    }
    assert told["BUCKET"]["reason"].startswith("file group ")
    assert told["BLOOM"]["opens"][0].startswith("a/")
    assert told["RECORD_INDEX"]["files"] > 0
    assert result.plan["index"] == "SIMPLE"
    assert result.plan["fits"] == "SIMPLE"
    assert result.plan["text"][0] == "2 records for 1 of 2 partitions (all keys looked at)"


def test_explain_tells_of_a_number_of_buckets_that_the_table_does_not_have(spark: SparkSession, tmp_path: Path) -> None:
    buckets = "hoodie.bucket.index.num.buckets"
    jobs = Jobs(spark=spark, path=tmp_path / "t", conf={"hoodie.index.type": "BUCKET", buckets: "4"})
    jobs.write("upsert", rows(range(40)))
    for asked, possible in (("4", True), ("3", False), ("2", False)):
        conf = {"hoodie.index.type": "BUCKET", buckets: asked}
        plan = jobs.write("upsert", rows(range(40)), explain=True, hoodie_conf=tuple(conf.items())).plan or {}
        assert [one["possible"] for one in plan["indexes"] if one["index"] == "BUCKET"] == [possible]


def test_explain_of_a_table_that_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", conf=BUCKETS)
    result = jobs.write("upsert", [row(1, "a", "new")], explain=True)
    assert not (tmp_path / "t").exists()
    assert result.plan is not None
    assert result.plan["fits"] == "BUCKET"
    assert result.plan["reasons"][0] == "the table has no files yet: nothing is looked up"
