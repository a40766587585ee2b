"""Transformers on the way from a source to a table, in writes, dry runs and explanations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import HudiError
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.job import run_job
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.ingest import ingest
from spark_jobs.write.job import misfit
from tests.spark.tables import Jobs, digests, row, rows
from tests.words import all_words

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

MODULE = """
from pyspark.sql import functions as F

def doubled(rows, properties):
    return rows.withColumn("ts", F.col("ts") * int(properties.get("factor", "2")))

def without_key(rows, properties):
    return rows.drop("id")

def nothing(rows, properties):
    return None

def broken(rows, properties):
    raise ValueError("no such day")

def of_no_column(rows, properties):
    return rows.select("nowhere")
"""


@pytest.fixture(scope="module", autouse=True)
def _module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "own_transformers.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))
    sys.modules.pop("own_transformers", None)


@pytest.fixture(scope="module")
def jobs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Jobs:
    made = Jobs(spark=spark, path=tmp_path_factory.mktemp("transformed") / "t")
    made.write("bulk_insert", rows(range(4)))
    return made


def test_queries_and_functions_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    file = tmp_path / "rows.sql"
    file.write_text(
        "-- twice; a comment\nCREATE OR REPLACE TEMPORARY VIEW pyhudi_more AS SELECT *, ';' AS mark FROM <SRC>;\n"
        "SELECT id, p, concat(v, mark) AS v, ts + 1 AS ts FROM pyhudi_more;\n"
    )
    result = jobs.write(
        "upsert",
        [row(1, "a", "x", 1), row(2, "a", "x", 10)],
        transformer_sql="SELECT * FROM <SRC> WHERE id > 1",
        transformer_sql_file=str(file),
        transformer="own_transformers:doubled",
    )
    assert jobs.rows() == [{"id": 2, "p": "a", "v": "x;", "ts": 22}]
    assert result.extra["source_reader"] == "spark, because of --transformer-sql"
    jobs.write(
        "upsert",
        [row(3, "a", "x", 10)],
        hoodie_conf={
            "hoodie.deltastreamer.transformer.sql": "SELECT id, p, v, ts + 1 AS ts FROM <SRC>",
            "factor": "3",
        },
        transformer="own_transformers:doubled,org.apache.hudi.utilities.transform.SqlQueryBasedTransformer",
    )
    assert {one["id"]: one["ts"] for one in jobs.rows()} == {2: 22, 3: 31}
    assert [view for view in spark.catalog.listTables() if view.name.startswith("pyhudi_src_")] == []
    spark.catalog.dropTempView("pyhudi_more")


def test_in_dry_runs_and_explanations(jobs: Jobs) -> None:
    batch, query = [row(1), row(9, "c")], "SELECT *, 1.5D AS extra FROM <SRC> WHERE id > 5"
    planned = jobs.write("upsert", batch, transformer_sql=query, dry_run=True)
    assert planned.state is JobState.DRY_RUN
    assert planned.plan is not None
    assert planned.plan["records_by_partition"] == {"c": 1}
    assert {one["name"]: one["fit"] for one in planned.plan["schema"]} == {
        **dict.fromkeys(["id", "p", "v", "ts", "_hoodie_is_deleted"], "same"),
        "extra": "new",
    }
    assert planned.plan["table_after"]["extra"] == "double"
    assert jobs.write("upsert", batch, transformer_sql=query, explain=True).records_in == 1


def test_a_dry_run_tells_what_does_not_fit(jobs: Jobs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "SELECT id, p, v = 'x' AS v, int(ts) AS ts, 1 AS extra FROM <SRC>"
    options = jobs.options("upsert", [row(1)], transformer_sql=query, dry_run=True, result_file=f"{tmp_path}/result")
    before = digests(jobs.path)

    def body(options: IngestOptions, context: JobContext) -> JobResult:
        return ingest(jobs.spark, options, context.progress)

    assert run_job(body, IngestOptions, all_words(options), verdict=misfit) == 2
    told = capsys.readouterr().err.splitlines()
    assert [line.removeprefix("ingest: ") for line in told if line.startswith("ingest:   ")] == [
        "  id: same (long)",
        "  p: same (string)",
        "  v: refused (string in the table, boolean in the source)",
        "  ts: narrower (int in the source becomes long)",
        "  extra: new (int)",
        "  _hoodie_is_deleted: missing: refused (boolean)",
    ]
    assert told[-1].startswith("ingest: error: the source has no column _hoodie_is_deleted, which the table has")
    result = JobResult.from_json((tmp_path / "result").read_text())
    assert result.state is JobState.DRY_RUN
    assert result.plan is not None
    assert result.plan["fits"] is False
    assert {"name": "v", "fit": "refused", "source": "boolean", "table": "string"} in result.plan["schema"]
    assert digests(jobs.path) == before


REFUSED = [
    ({"transformer_sql": "SELECT id, v FROM <SRC>"}, "--transformer-sql drops column p, by which the table's records"),
    ({"transformer_sql": "SELECT 1 AS id"}, "--transformer-sql is no query over <SRC>: give for instance"),
    ({"transformer_sql": "SELECT nowhere FROM <SRC>"}, "nowhere"),
    ({"transformer_sql": "SELEKT * FROM <SRC>"}, "--transformer-sql failed ("),
    ({"transformer_sql_file": "/nowhere/rows.sql"}, "--transformer-sql-file /nowhere/rows.sql can't be read"),
    ({"transformer": "sql"}, "--transformer names sql: give --transformer-sql too"),
    ({"transformer": "doubled"}, "--transformer doubled is no module:function"),
    ({"transformer": "no_module:f"}, "transformer no_module:f: module no_module can't be imported"),
    ({"transformer": "own_transformers:f"}, "module own_transformers has no function f"),
    ({"transformer": "own_transformers:nothing"}, "own_transformers:nothing returned NoneType: let it return"),
    ({"transformer": "own_transformers:broken"}, "own_transformers:broken failed (ValueError: no such day)"),
    ({"transformer": "own_transformers:of_no_column"}, "nowhere"),
    ({"transformer": "own_transformers:without_key"}, "own_transformers:without_key drops column id"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_refused(jobs: Jobs, given: dict[str, Any], said: str) -> None:
    before = jobs.rows_with_meta()
    with pytest.raises(HudiError) as raised:
        jobs.write("upsert", [row(1)], **given)
    message = failure_of(raised.value).message
    assert said in message
    assert "pyhudi_src" not in message
    assert jobs.rows_with_meta() == before
