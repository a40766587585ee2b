"""Two upserts at the same time whose records go to file groups of their own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.write import perform as perform_module
from tests.spark.tables import COW, MOR, Jobs, Row, SparkJobs, row, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

INDEX, RETRIES = "hoodie.index.type", "hoodie.write.num.retries.on.conflict.failures"


def upsert_around(jobs: Jobs, monkeypatch: pytest.MonkeyPatch, outer: list[Row], inner: list[Row]) -> None:
    """An upsert of ``outer`` that wrote its files, when all of an upsert of ``inner`` takes place before it goes on."""
    publish = perform_module.publish

    def beside(*arguments: Any) -> Any:
        monkeypatch.setattr(perform_module, "publish", publish)
        jobs.write("upsert", inner)
        return publish(*arguments)

    monkeypatch.setattr(perform_module, "publish", beside)
    jobs.write("upsert", outer)


@pytest.mark.parametrize("kind", [Jobs, SparkJobs])
@pytest.mark.parametrize(("table_type", "index"), [(COW, "SIMPLE"), (MOR, "GLOBAL_BLOOM")])
def test_a_key_that_both_insert_is_stored_once(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Jobs],
    table_type: str,
    index: str,
) -> None:
    jobs = kind(spark=spark, path=tmp_path / "t", table_type=table_type, conf={INDEX: index})
    jobs.write("upsert", [row(1, "a")])
    outer, inner = [row(2, "b", "outer", 2), row(3, "b")], [row(2, "b", "inner"), row(4, "b")]
    with pytest.raises(WriteConflictError, match=r"both inserted 1 key\(s\), such as '2'"):
        upsert_around(jobs, monkeypatch, outer, inner)
    assert jobs.rows() == shown([row(1, "a"), *inner])
    jobs.write("upsert", outer)
    assert jobs.rows() == shown([row(1, "a"), *outer, inner[1]])
    upsert_around(jobs, monkeypatch, [row(5, "c")], [row(6, "c")])
    assert jobs.rows() == shown([row(1, "a"), *outer, inner[1], row(5, "c"), row(6, "c")])
    again = [row(2, "b", "outer", 4), row(7, "b")]
    upsert_around(replace(jobs, conf={**jobs.conf, RETRIES: "1"}), monkeypatch, again, [row(7, "b", "inner", 0)])
    assert jobs.rows() == shown([row(1, "a"), again[0], outer[1], inner[1], row(5, "c"), row(6, "c"), again[1]])
