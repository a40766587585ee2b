"""Tables on S3, written and read by Spark's tasks, and jobs under spark-submit that are told of S3 as Hadoop is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import pyhudi
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake
from spark_jobs.query import read
from spark_jobs.services.validation.run import validate
from tests.java import QUICK
from tests.spark.tables import COW, MOR, Jobs, SparkJobs, row, shown
from tests.support.folder import Folder
from tests.support.s3 import S3_SERVER

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def bucket() -> str:
    return S3_SERVER.new_bucket().partition("://")[2]


@pytest.mark.parametrize(("table_type", "kind"), [(COW, Jobs), (MOR, SparkJobs)])
def test_a_table_through_its_life(
    spark: SparkSession, tmp_path: Path, bucket: str, table_type: str, kind: type[Jobs]
) -> None:
    path = Folder(f"s3://{bucket}/{table_type}", Lake().reached_by(S3_SERVER.options()))
    jobs = kind(spark=spark, path=path, table_type=table_type, sources=tmp_path / "sources")
    jobs.write("bulk_insert", [row(key, "ab"[key % 2]) for key in range(20)])
    jobs.write("upsert", [row(key, "ab"[key % 2], "new", 2) for key in range(15, 25)])
    jobs.write("delete", [row(3, "b", ts=3)])
    expected = [row(key, "ab"[key % 2], "new" if key >= 15 else "x", 2 if key >= 15 else 1) for key in range(25)]
    expected = [one for one in expected if one["id"] != 3]
    assert jobs.rows() == shown(expected)
    assert (jobs.compact() if table_type == MOR else jobs.cluster()).instant
    jobs.clean()
    assert jobs.rows() == shown(expected)
    frame = read(spark, str(path), lake=path.lake)
    assert sorted(frame.select("id", "v").collect()) == sorted((one["id"], one["v"]) for one in expected)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []


def test_frames_by_storage_options(spark: SparkSession, bucket: str) -> None:
    path, options = f"s3://{bucket}/frames", S3_SERVER.options()
    frame = spark.createDataFrame([(1, "a"), (2, "b")], "id long, v string")
    done = pyhudi.write(frame, path, table_name="frames", record_key_fields=["id"], storage_options=options)
    assert done.inserts == 2
    found = pyhudi.read(spark, path, storage_options=options)
    assert sorted(tuple(one) for one in found.select("id", "v").collect()) == [(1, "a"), (2, "b")]
    with pytest.raises(ConfigError, match="storage_option is no option of a read: give one of"):
        pyhudi.read(spark, path, storage_option="x")


def test_spark_submit_is_told_as_hadoop_is(bucket: str, tmp_path: Path) -> None:
    schema = tmp_path / "schema.avsc"
    schema.write_text('{"type": "record", "name": "made", "fields": [{"name": "id", "type": "long"}]}')
    settings = S3_SERVER.options()
    conf = {
        "spark.hadoop.fs.s3a.endpoint": settings["endpoint"],
        "spark.hadoop.fs.s3a.endpoint.region": settings["region"],
        "spark.hadoop.fs.s3a.access.key": settings["access_key_id"],
        "spark.hadoop.fs.s3a.secret.key": "hush-hush-hush",
        "spark.ui.enabled": "false",
    }
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[1]"]
    command += ["--driver-java-options", QUICK]
    command += [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    command += [str(ROOT / "spark_jobs" / "create_table.py"), "--base-path", f"s3a://{bucket}/made"]
    command += ["--table-name", "made", "--schema-file", str(schema), "--record-key-fields", "id"]
    variables = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        command, env={**variables, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "hush" not in done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "COMPLETED"
    lake = Lake().reached_by(settings)
    assert Folder(f"s3://{bucket}/made", lake).table().config.name == "made"
