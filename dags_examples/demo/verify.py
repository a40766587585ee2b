"""The demo's last check, a Spark job of its own: do the synced tables answer as the original data does?

It knows nothing but the metastore: location and columns of each table come over Thrift, then every table is a view in
Spark SQL, and each question goes to Spark and to DuckDB. Any difference is printed and ends the job with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import spark_jobs.query as pyhudi
from dags_examples.demo.data import FLIGHTS_SCHEMA, REFERENCES, Sources
from dags_examples.demo.questions import QUESTIONS, Row, difference, expected_answers, normalised, remaining_flights
from spark_jobs.hive.client import ThriftMetastore

SYNCED = ("flights", "flights_mor", "flights_mor_ro", "flights_mor_rt")
"""What Hive sync registers: the copy-on-write table, and the views of the merge-on-read one."""

ASKED = ("flights", "flights_mor", "flights_mor_ro")
"""What is asked. ``flights_mor_rt`` is ``flights_mor`` by another name; after the compaction ``_ro`` has all rows."""

_HIVE_TYPES = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.timestamp("us", tz="UTC"): "timestamp",
}


def check_metastore(uris: str, database: str, base: str) -> list[str]:
    """What is wrong with location or columns in the metastore, a line each; a table lies in ``base`` under its name."""
    problems = []
    with ThriftMetastore.connect(uris) as metastore:
        for name in SYNCED:
            table = metastore.table(database, name)
            if table is None:
                problems.append(
                    f"{name}: not in the database {database} of {uris}; it has {metastore.tables(database)}"
                )
                continue
            place = f"{base}/{name.removesuffix('_ro').removesuffix('_rt')}"
            location = table.location.removeprefix("file:")
            if (location if "://" in place else location.replace("//", "/")) != place:
                problems.append(f"{name}: its location is {table.location}, not {place}")
            columns = {column.name: column.type for column in (*table.columns, *table.partition_keys)}
            wanted = {field.name: _HIVE_TYPES[field.type] for field in FLIGHTS_SCHEMA}
            problems += [
                f"{name}: column {column} is {columns.get(column, 'missing')}, not {kind}"
                for column, kind in wanted.items()
                if columns.get(column) != kind
            ]
    return problems


def check_answers(spark: SparkSession, tables: Iterable[str]) -> tuple[list[str], dict[str, int]]:
    """Differences in words, and how many rows of answers were compared by table."""
    problems: list[str] = []
    compared: dict[str, int] = {}
    expected = expected_answers()
    for table in tables:
        for question in QUESTIONS:
            actual: list[Row] = normalised(spark.sql(question.sql.format(flights=table)).collect())
            lines = difference(expected[question.title], actual)
            if lines:
                problems += [
                    f"{table}, {question.title}: Spark (+) and DuckDB over the original data (-) differ",
                    *lines,
                ]
            compared[table] = compared.get(table, 0) + len(actual)
        rows = spark.table(table).count()
        if rows != remaining_flights():
            problems.append(f"{table}: {rows} rows, not {remaining_flights()}")
    return problems, compared


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="verify", description=__doc__)
    parser.add_argument("--metastore-uris", required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--base", required=True, help="the folder of the tables")
    parser.add_argument("--sources", required=True, help="the folder of the prepared Parquet files")
    parser.add_argument("--result-file", required=True, type=Path)
    options = parser.parse_args(arguments)

    problems = check_metastore(options.metastore_uris, options.database, options.base)
    compared: dict[str, int] = {}
    if not problems:
        spark = SparkSession.builder.appName("flights_demo verify").getOrCreate()
        try:
            pyhudi.register_tables(spark, options.metastore_uris, options.database)
            sources = Sources(directory=Path(options.sources))
            for name in REFERENCES:
                spark.read.parquet(str(sources.reference(name))).createOrReplaceTempView(name)
            problems, compared = check_answers(spark, ASKED)
        finally:
            spark.stop()
    options.result_file.write_text(
        json.dumps({"questions": len(QUESTIONS), "answers_compared": compared, "problems": problems})
    )
    for table, rows in compared.items():
        print(f"{table}: {len(QUESTIONS)} questions, {rows} rows of answers")
    for line in problems:
        print(line, file=sys.stderr)
    if problems:
        print(f"verify: error: {problems[0]} (all differences above)", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
