"""Real Hudi and we write one table in turn by the same index: each has to find the records that the other put there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.index.buckets import bucket_of
from tests.interop.indexed import EVENT_TIME, InTurn
from tests.interop.real_hudi import RealHudi
from tests.spark.tables import COW, MOR, SparkJobs, row

pytestmark = pytest.mark.interop

BLOOM = {"hoodie.index.type": "BLOOM"}
BUCKET = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "3"}
GLOBAL_SIMPLE = {"hoodie.index.type": "GLOBAL_SIMPLE"}
GLOBAL_BLOOM = {"hoodie.index.type": "GLOBAL_BLOOM"}
STAYS = {"hoodie.bloom.index.update.partition.path": "false"}


@pytest.mark.parametrize("table_type", [COW, MOR])
@pytest.mark.parametrize("conf", [BLOOM, BUCKET], ids=["bloom", "bucket"])
def test_by_partition_in_turn(
    spark: SparkSession, real_hudi: RealHudi, tmp_path: Path, conf: dict[str, str], table_type: str
) -> None:
    """Invariant 2: (partition, key) is one record, whoever wrote it first."""
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type, conf=conf)
    both = InTurn(jobs=jobs, hudi=real_hudi, conf=conf)
    both.ours("upsert", [row(key, "ab"[key % 2], "ours", 1) for key in range(8)])
    both.hudis("upsert", [row(key, "ab"[key % 2], "Hudi's", 2) for key in range(4, 12)])
    both.ours("upsert", [row(key, "ab"[key % 2], "ours again", 3) for key in range(6, 14)])
    both.hudis("upsert", [row(key, "b", "Hudi's in b", 4) for key in range(9, 16)])
    both.ours("delete", [row(key, "b", None, 5) for key in range(0, 16, 3)])
    both.hudis("delete", [row(key, "a", "", 6) for key in range(0, 16, 4)])
    both.ours("upsert", [row(key, "ab"[key % 2], "back", 7) for key in range(10)])
    if conf is BUCKET:
        check_buckets(both)


def check_buckets(both: InTurn) -> None:
    """Each bucket of a partition is one file group, and ``insert`` keeps to them on both sides."""
    both.hudis("insert", [row(key, "c", "Hudi's", 8) for key in range(20, 23)])
    both.ours("insert", [row(key, "c", "ours", 9) for key in range(23, 29)])
    both.ours("bulk_insert", [row(key, "d", "ours in bulk", 10) for key in range(30, 34)])
    both.hudis("upsert", [row(key, "d", "Hudi's", 11) for key in range(32, 36)])
    for partition, listed in both.hudi.slices(both.jobs.path).items():
        buckets = [bucket_of(str(one["file_id"])) for one in listed]
        assert None not in buckets, partition
        assert len(buckets) == len(set(buckets)), partition


@pytest.mark.parametrize(
    ("table_type", "conf", "moves"),
    [
        (COW, GLOBAL_BLOOM, True),
        (MOR, {**GLOBAL_BLOOM, **STAYS}, False),
        (COW, {**GLOBAL_BLOOM, **STAYS}, False),
        (MOR, GLOBAL_SIMPLE, True),
        (MOR, {**GLOBAL_BLOOM, **EVENT_TIME}, True),
    ],
    ids=["bloom, moves", "bloom, stays in logs", "bloom, stays", "simple, moves in logs", "by event time in logs"],
)
def test_globally_in_turn(
    spark: SparkSession, real_hudi: RealHudi, tmp_path: Path, table_type: str, conf: dict[str, str], moves: bool
) -> None:
    """Invariant 2: a key is one record of the table; it goes where it comes from now, or stays where it was."""
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type, conf=conf)
    both = InTurn(jobs=jobs, hudi=real_hudi, conf=conf, moves=moves)
    both.hudis("upsert", [row(key, "ab"[key % 2], "Hudi's", 10) for key in range(8)])
    both.ours("upsert", [row(key, "b", "ours", 11) for key in range(2, 6)] + [row(9, "c", "ours", 11)])
    both.hudis("upsert", [row(key, "a", "Hudi's in a", 12) for key in range(3, 8)])
    late = 5 if EVENT_TIME.items() <= conf.items() else 13  # in logs the earlier of two loses anyway
    both.ours("upsert", [row(3, "b", "late", late), row(4, "c", "ours", 13), row(5, "c", None, 13, deleted=True)])
    both.hudis("upsert", [row(4, "a", "Hudi's", 14), row(9, "a", "late", late + 1), row(5, "b", "back", 14)])
    both.ours("delete", [row(6, "c", None, 15), row(0, "b", None, 15)])
    both.hudis("upsert", [row(key, "c", "all in c", 16) for key in range(8)])
    both.ours("upsert", [row(key, "a", "all in a", 17) for key in range(10)])
