"""Rows that don't fit: told with their number, or kept in an error table; what Spark makes of text files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.result import JobResult
from tests.spark.tables import Jobs, row
from tests.support.deaths import forget_newest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

CSV = "id,p,v,ts\n1,a,x,1\n2,a,y\n3,a,z,soon\n4,../up,w,4\n,a,v,5\n6,b,u,6\n"
GIVEN = {
    "source_format": "csv",
    "source_options": {"header": "true"},
    "source_schema": "id int, p string, v string, ts int",
}


def stored(path: Path) -> list[dict[str, Any]]:
    return HudiTable.open(str(path)).scan().to_arrow().to_pylist()


def source(folder: Path, text: str, name: str = "rows.csv") -> tuple[str]:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return (str(folder),)


def refused(jobs: Jobs, **more: Any) -> str:
    before = jobs.rows() if (jobs.path / ".hoodie").exists() else None
    with pytest.raises(Exception, match=r"\w") as raised:  # in whatever Spark wraps it
        jobs.write("upsert", [], **more)
    assert (jobs.rows() if (jobs.path / ".hoodie").exists() else None) == before
    return failure_of(raised.value).message


def test_rows_that_do_not_fit_fail_the_write_or_go_to_the_error_table(spark: SparkSession, tmp_path: Path) -> None:
    jobs, errors = Jobs(spark=spark, path=tmp_path / "t"), tmp_path / "errors"
    given = {**GIVEN, "source": source(tmp_path / "in", CSV), "idempotency_key": "k"}
    message = refused(jobs, **given)
    assert message.startswith("2 rows don't fit; the first (2,a,y of file:")
    assert not (tmp_path / "t").exists()

    with pytest.raises(BadRecordError, match=r"4 rows don't fit, and --max-errors=3 may go"):
        jobs.write("upsert", [], **given, error_table=str(errors), max_errors=3)
    assert not (tmp_path / "t").exists()
    assert not errors.exists()

    planned = jobs.write("upsert", [], **given, error_table=str(errors), dry_run=True)
    assert (planned.plan or {})["error_rows"] == 4
    assert not errors.exists()

    done: JobResult = jobs.write("upsert", [], **given, error_table=str(errors), max_errors=4)
    assert [one["id"] for one in jobs.rows()] == [1, 6]
    assert done.extra["error_rows"] == 4
    assert done.extra["errors_by_reason"] == {"CORRUPT_RECORD": 2, "RECORD_CREATION": 2}
    found = {one["row"]: one for one in stored(errors)}
    assert set(found) >= {"2,a,y", "3,a,z,soon"}
    path = next(one for one in found.values() if one["column"] == "p")
    assert json.loads(path["row"]) == {"id": 4, "p": "../up", "v": "w", "ts": 4}
    assert "a value of partition column p" in path["message"]
    assert {one["target_instant"] for one in found.values()} == {done.instant}
    assert {one["idempotency_key"] for one in found.values()} == {"k"}
    assert len({one["error_id"] for one in stored(errors)}) == 4

    forget_newest(jobs.table())
    again = jobs.write("upsert", [], **given, error_table=str(errors))
    assert again.instant != done.instant
    assert [one["id"] for one in jobs.rows()] == [1, 6]
    assert len(stored(errors)) == 4


def test_text_becomes_the_type_of_the_table_value_by_value(spark: SparkSession, tmp_path: Path) -> None:
    jobs, errors = Jobs(spark=spark, path=tmp_path / "t"), tmp_path / "errors"
    jobs.write("bulk_insert", [row(0)])
    text = "id,p,v,ts,_hoodie_is_deleted\n1,a,x,1,false\n2,a,y,1.5,false\nthree,a,z,3,false\n4,a,z,4,\n"
    given = {"source_format": "csv", "source_options": {"header": "true"}, "source": source(tmp_path / "in", text)}
    done = jobs.write("upsert", [], **given, error_table=str(errors))
    assert [one["id"] for one in jobs.rows()] == [0, 1, 4]
    assert done.extra["errors_by_reason"] == {"INVALID_RECORD_SCHEMA": 2}
    assert {one["column"]: one["message"].partition(":")[0] for one in stored(errors)} == {
        "ts": "a value of column ts is no bigint, which the table has there",
        "id": "a value of column id is no bigint, which the table has there",
    }


def test_what_spark_would_lose_unseen(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    lines = '{"id": 1, "p": "a", "v": "x", "ts": 1}\n{"id": 2, "p": "a", "v": "x", "ts": \n'
    by_json = {"source_format": "json", "source": source(tmp_path / "json", lines, "rows.json")}
    message = refused(jobs, **by_json)
    assert message.startswith('1 row doesn\'t fit; the first ({"id": 2, "p": "a", "v": "x", "ts": of file:')

    objects = [f'{{"id": {number}, "p": "a", "v": "x", "ts": 1}}' for number in range(3)]
    by_json["source"] = source(tmp_path / "two", f"{objects[0]}{objects[1]}\n\n{objects[2]}\n")
    message = refused(jobs, **by_json)
    assert message.startswith('1 row doesn\'t fit; the first ({"id": 0, "p": "a", "v": "x", "ts": 1}{"id": 1,')
    assert "a line goes on behind its JSON value" in message
    errors = tmp_path / "errors"
    kept = Jobs(spark=spark, path=tmp_path / "kept")
    kept.write("upsert", [], **by_json, error_table=str(errors))
    assert ([one["id"] for one in kept.rows()], len(stored(errors))) == ([0, 2], 1)
    by_file = {**by_json, "source_options": {"multiLine": "true"}}
    by_file["source"] = source(tmp_path / "lines", "\n".join(objects))
    assert "(from line 2 on, of 3 lines of file:" in refused(jobs, **by_file)
    by_file["source"] = source(tmp_path / "pretty", "[\n" + ",\n".join(objects) + "\n]\n")
    kept.write("upsert", [], **by_file)
    assert [one["id"] for one in kept.rows()] == [0, 1, 2]

    folder = tmp_path / "headers"
    source(folder, "id,p,v,ts\n1,a,x,1\n", "1.csv")
    turned = source(folder, "id,v,p,ts\n2,x,a,1\n", "2.csv")
    assert "header" in refused(jobs, source_format="csv", source_options={"header": "true"}, source=turned).lower()

    drops = {**GIVEN, "source_options": {"header": "true", "mode": "dropmalformed"}}
    assert "mode=DROPMALFORMED drops rows unseen" in refused(jobs, **drops, source=source(tmp_path / "in", CSV))
    fails = {**GIVEN, "source_options": {"header": "true", "mode": "FAILFAST"}}
    assert "MALFORMED" in refused(jobs, **fails, source=source(tmp_path / "in", CSV)).upper()

    own = {**GIVEN, "source_options": {"header": "true", "columnNameOfCorruptRecord": "bad"}}
    own["source_schema"] = f"{GIVEN['source_schema']}, bad string"
    kept = jobs.write("upsert", [], **own, source=source(tmp_path / "in", "id,p,v,ts\n2,a,y\n"), precombine_field=None)
    assert kept.records_out == 1
    assert [one["bad"] for one in jobs.rows()] == ["2,a,y"]


def test_a_transformer_neither_hides_nor_doubles_them(spark: SparkSession, tmp_path: Path) -> None:
    lines = '{"id": 1, "p": "a", "v": "x", "ts": 1}\n{"id": 2, "p": "a", "v": "x", "ts": \n'
    by_json = {"source_format": "json", "source": source(tmp_path / "json", lines, "rows.json")}
    chosen = {"source": source(tmp_path / "csv", "id,p,v,ts\n1,a,x,1\n2,a,y,soon\n")}
    for given, wanted in ((by_json, "ts > 0"), (by_json, "id = 1"), ({**GIVEN, **chosen}, "id = 1")):
        query = f"SELECT * FROM <SRC> WHERE {wanted}"  # Spark's reader would look at it before what is wrong
        message = refused(Jobs(spark=spark, path=tmp_path / "hidden"), **given, transformer_sql=query)
        assert message.startswith("1 row doesn't fit; the first")

    query = "SELECT id, p, v, 7 AS ts FROM <SRC>"  # leaves out what is wrong
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    result = jobs.write("upsert", [], **GIVEN, **chosen, transformer_sql=query, error_table=str(tmp_path / "errors"))
    assert [one["id"] for one in jobs.rows()] == [1]
    assert [one["row"] for one in stored(tmp_path / "errors")] == ["2,a,y,soon"]
    assert result.extra["error_rows"] == 1


WRONG = [
    ({"max_errors": 3}, "--max-errors is for an error table: give --error-table too"),
    ({"hoodie_conf": {"hoodie.errortable.enable": "true"}}, "hoodie.errortable.enable=true says not where"),
    ({"hoodie_conf": {"hoodie.errortable.enable": "maybe"}}, "hoodie.errortable.enable=maybe is not valid"),
    ({"source_schema": "id number"}, "--source-schema id number is not valid"),
    ({"source_schema": "id bigint, v varchar(3)"}, "has a char or varchar"),
    ({"source_format": "jdbc"}, "is not for jdbc: give --source-option url=jdbc:"),
    (
        {"source_format": "avro"},
        "--source-format avro is not known to Spark: add --packages org.apache.spark:spark-avro",
    ),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_wrong_options(spark: SparkSession, tmp_path: Path, given: dict[str, Any], said: str) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    with pytest.raises(ConfigError) as raised:
        jobs.write("upsert", [row(1)], **given)
    assert said in failure_of(raised.value).message


def test_columns_that_differ_by_case_alone(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "p": ["a"], "v": ["x"], "V": ["y"], "ts": [1]}), tmp_path / "rows.parquet")
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    with pytest.raises(ConfigError, match=r"rows\.parquet has two columns whose names differ by case alone.*`v`"):
        jobs.write("upsert", [], source=(str(tmp_path / "rows.parquet"),))


def test_an_error_table_inside_the_table(spark: SparkSession, tmp_path: Path) -> None:
    jobs = Jobs(spark=spark, path=tmp_path / "t")
    with pytest.raises(ConfigError, match="lie in each other"):
        jobs.write("upsert", [row(1)], error_table=str(tmp_path / "t" / "errors"))
