"""The checkpoint of a source in commits that Hudi wrote and in ours: each goes on where the other stopped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.checkpoint import CHECKPOINT_KEY
from spark_jobs.engine.progress import Progress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.ingest import ingest
from tests.interop.real_hudi import RealHudi

OPTIONS = {
    "hoodie.table.name": "copied",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "p",
    "hoodie.datasource.write.precombine.field": "ts",
}
KEPT = "hoodie.datasource.write.commitmeta.key.prefix"


def rows(keys: Sequence[int], value: str, ts: int) -> pa.Table:
    count = len(keys)
    return pa.table({"id": pa.array(keys, pa.int64()), "p": ["a"] * count, "v": [value] * count, "ts": [ts] * count})


def values(table: pa.Table) -> dict[Any, Any]:
    return dict(zip(table["id"].to_pylist(), table["v"].to_pylist(), strict=True))


def test_we_go_on_at_the_checkpoint_of_a_commit_of_hudi_and_hudi_sees_ours(
    tmp_path: Path, real_hudi: RealHudi, spark: SparkSession
) -> None:
    """The source is Hudi's as well; a compaction of the target lies between the checkpoint and us."""
    source, target = tmp_path / "source", tmp_path / "target"
    real_hudi.write(source, rows([1, 2], "first", 1), "upsert", OPTIONS)
    first = HudiTable.open(str(source)).timeline.completed_commits()[-1].timestamp
    told = {
        **OPTIONS,
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "2",
    }
    real_hudi.write(target, rows([1, 2], "first", 1), "upsert", told)
    with_place = {**told, KEPT: "deltastreamer.checkpoint", CHECKPOINT_KEY: first}
    real_hudi.write(target, rows([1], "of Hudi", 1), "upsert", with_place)
    assert HudiTable.open(str(target)).timeline.completed_commits()[-1].action.value == "commit"
    real_hudi.write(source, rows([2, 3], "second", 2), "upsert", OPTIONS)
    done = ingest(
        spark,
        IngestOptions(base_path=str(target), source_format="hudi", source=(str(source),)),
        Progress.silent("ingest"),
    )
    last = HudiTable.open(str(source)).timeline.completed_commits()[-1].timestamp
    assert (done.records_in, done.extra["previous_checkpoint"], done.extra["checkpoint"]) == (2, first, last)
    assert values(real_hudi.read(target)) == {1: "of Hudi", 2: "second", 3: "second"}
    real_hudi.sql(f"create table copied using hudi location '{target}'")
    said = real_hudi.sql(f"call show_commit_extra_metadata(table => 'copied', metadata_key => '{CHECKPOINT_KEY}')")
    assert (said[0]["instant_time"], said[0]["metadata_value"]) == (done.instant, last)
    real_hudi.sql("drop table copied")
