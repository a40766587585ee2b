"""A payload of one's own, shipped to the workers as ``--py-files`` does it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.tables import COW, Jobs, row

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

MODULE = """
import pyarrow.compute as pc


def longest(older, newer):
    keeps = pc.greater(pc.utf8_length(older["v"]), pc.utf8_length(newer["v"]))
    index = newer.schema.get_field_index("v")
    return newer.set_column(index, "v", pc.if_else(keeps, older["v"], newer["v"]))
"""


def test_a_function_decides_in_the_batch_and_over_base_files(spark: SparkSession, tmp_path: Path) -> None:
    module = tmp_path / "shipped_with_the_job.py"
    module.write_text(MODULE)
    spark.sparkContext.addPyFile(str(module))
    jobs = Jobs(spark=spark, path=tmp_path / "t", table_type=COW)
    function = {"payload_function": "shipped_with_the_job:longest"}
    jobs.write("upsert", [row(1, "a", "long one", 2), row(1, "a", "short", 3)], **function)
    jobs.write("upsert", [row(2, "a", "stays longest", 1)], **function)
    result = jobs.write(
        "upsert",
        [row(1, "a", "x", 1), row(2, "a", "y", 9), row(2, "a", None, 5, deleted=True), row(3, "b", "z", 1)],
        **function,
    )
    assert (result.inserts, result.updates) == (1, 2)
    assert [(one["id"], one["v"], one["ts"]) for one in jobs.rows()] == [
        (1, "long one", 1),
        (2, "stays longest", 9),
        (3, "z", 1),
    ]
