"""Every format that Spark reads, into one table; Avro by the package that the job's defaults add."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro
import pyspark
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import StorageError
from spark_jobs.core.table import HudiTable
from spark_jobs.options.source_packages import packages_for
from tests.java import QUICK
from tests.spark.tables import Jobs

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[3]
COLUMNS = "id bigint, p string, v string, ts bigint"
FILES: list[tuple[str, dict[str, str]]] = [
    ("orc", {}),
    ("json", {}),
    ("csv", {"header": "true", "inferSchema": "true"}),
    ("xml", {"rowTag": "row"}),
]


@pytest.mark.parametrize(("name", "options"), FILES)
def test_files(spark: SparkSession, tmp_path: Path, name: str, options: dict[str, str]) -> None:
    jobs, folder = Jobs(spark=spark, path=tmp_path / "t"), str(tmp_path / name)
    written = spark.createDataFrame([(1, "a", name, 1), (2, "b", None, 1)], COLUMNS).write.options(**options)
    written.format(name).save(folder)
    given: dict[str, Any] = {"source_format": name, "source_options": options, "source": (folder,)}
    if name == "xml":
        given["source_schema"] = COLUMNS
    plan = jobs.write("bulk_insert", [], **given, dry_run=True).plan
    assert plan is not None
    assert plan["records_by_partition"] == {"a": 1, "b": 1}
    assert set(plan["columns"]) == {"id", "p", "v", "ts"}


def test_parquet_files_of_different_columns_by_the_keys_of_hudi_streamer(spark: SparkSession, tmp_path: Path) -> None:
    jobs, folder = Jobs(spark=spark, path=tmp_path / "t"), str(tmp_path / "in")
    for number, more in enumerate(("one", "two")):
        rows = spark.createDataFrame([(number, "a", more, 1)], f"id bigint, p string, {more} string, ts bigint")
        rows.coalesce(1).write.mode("append").parquet(folder)
    streamer = "hoodie.streamer.source."
    by_keys = {f"{streamer}dfs.root": folder, f"{streamer}parquet.dfs.merge_schema.enable": "true"}
    jobs.write("bulk_insert", [], source=(), hoodie_conf=by_keys)
    assert [(one["id"], one["one"], one["two"]) for one in jobs.rows()] == [(0, "one", None), (1, None, "two")]


def test_a_csv_column_without_a_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "unnamed.csv").write_text(",id,p,v,ts\n0,6,a,unnamed,1\n")
    jobs, path = Jobs(spark=spark, path=tmp_path / "t"), str(tmp_path / "unnamed.csv")
    options = {"header": "true", "inferSchema": "true"}
    planned = jobs.write("bulk_insert", [], source_format="csv", source_options=options, source=(path,), dry_run=True)
    assert (planned.plan or {})["columns"] == ["_c0", "id", "p", "v", "ts"]


def test_a_csv_header_of_too_few_columns_is_one_line(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "whole.csv").write_text("id,p,v,ts\n1,a,x,1\n")
    short = tmp_path / "short file.csv"
    short.write_text("id,p\n2,b\n")
    jobs, options = Jobs(spark=spark, path=tmp_path / "t"), {"header": "true"}
    with pytest.raises(
        StorageError, match=r"file file:\S+/short( |%20)file.csv can't be read \(.* CSV header"
    ) as raised:
        jobs.write("upsert", [], source_format="csv", source_options=options, source=(f"{tmp_path}/*.csv",))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "t").exists()


def test_lines_and_databases(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    (tmp_path / "lines.txt").write_text("a line\n")
    jobs.write(
        "bulk_insert",
        [],
        source_format="text",
        source=(str(tmp_path / "lines.txt"),),
        transformer_sql="SELECT 4L AS id, 'a' AS p, value AS v, 1L AS ts FROM <SRC>",
    )
    database = f"jdbc:derby:{tmp_path}/database"
    spark.createDataFrame([(5, "a", "jdbc", 1)], COLUMNS).write.jdbc(f"{database};create=true", "rows_of_it")
    query = {"url": database, "query": 'SELECT "id", "p", "v", "ts" FROM rows_of_it WHERE "id" > 4'}
    result = jobs.write("bulk_insert", [], source_format="jdbc", source_options=query, source=())
    assert (result.records_out, result.files_in) == (1, 0)
    assert [one["v"] for one in jobs.rows()] == ["a line", "jdbc"]


def test_avro_with_the_package_of_the_jobs_defaults(tmp_path: Path) -> None:
    """A process of its own: packages are for a Java that is yet to start."""
    schema = {
        "type": "record",
        "name": "row",
        "fields": [{"name": "id", "type": "long"}, {"name": "v", "type": ["null", "string"]}],
    }
    with open(tmp_path / "rows.avro", "wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), [{"id": 1, "v": "x"}, {"id": 2, "v": None}])
    done = ingest_avro(tmp_path)
    if "UNRESOLVED DEPENDENCIES" in done.stderr:  # mirrors of Maven Central lack the newest
        assert f"{packages_for('avro')[0].split(':')[1]};{pyspark.__version__}: not found" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("ingest: error: Java did not start with --packages")
        done = ingest_avro(tmp_path, "--packages org.apache.spark:spark-avro_2.13:4.1.1")
        if "UNRESOLVED DEPENDENCIES" in done.stderr:
            pytest.skip("no repository has Spark's Avro package")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["records_out"] == 2
    found = HudiTable.open(str(tmp_path / "t")).scan(columns=["id", "v"]).to_arrow()
    assert sorted(found.to_pylist(), key=lambda one: one["id"]) == [{"id": 1, "v": "x"}, {"id": 2, "v": None}]


def ingest_avro(folder: Path, more: str = "") -> subprocess.CompletedProcess[str]:
    words = ["--base-path", str(folder / "t"), "--table-name", "t", "--record-key-fields", "id", "--op", "bulk_insert"]
    words += ["--source-format", "avro", "--source", str(folder / "rows.avro")]
    settings = f"--conf spark.ui.enabled=false --conf spark.jars.ivy={ROOT / '.cache' / 'spark-packages'} {more}"
    arguments = f"--master local[1] {settings} --driver-java-options '{QUICK}' pyspark-shell"
    own = {"PYSPARK_SUBMIT_ARGS": arguments, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-m", "spark_jobs.ingest", *words],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        timeout=240,
    )
