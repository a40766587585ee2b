"""Sort modes of bulk inserts, as their files show them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.base_file import open_base_file
from tests.spark.tables import SMALL, Jobs, Row, row, shown

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

MODE = "hoodie.bulkinsert.sort.mode"
TASKS = "hoodie.bulkinsert.shuffle.parallelism"
COLUMNS = "hoodie.bulkinsert.user.defined.partitioner.sort.columns"


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Jobs:
    return Jobs(spark=spark, path=tmp_path / "t")


def records() -> list[Row]:
    """Forty records of four partitions, keys and values in no order."""
    return [row(100 + number * 7 % 40, "abcd"[number * 3 % 4], f"v{number * 11 % 40:02d}") for number in range(40)]


def bulk_insert(jobs: Jobs, **conf: str) -> dict[str, list[pa.Table]]:
    """The files by partition, in the order of the tasks that wrote them."""
    jobs.write("bulk_insert", records(), hoodie_conf=tuple({**SMALL, **conf}.items()))
    assert jobs.rows() == shown(records())
    table = jobs.table()
    found: dict[str, list[tuple[int, pa.Table]]] = {}
    for one in table.file_slices():
        assert one.base_file is not None
        token = one.base_file.name.write_token
        rows = open_base_file(table.storage, f"{table.base_path}/{one.base_file.relative_path}").read()
        found.setdefault(one.partition, []).append((int(token.split("-")[0]), rows))
    return {
        partition: [rows for _, rows in sorted(files, key=lambda each: each[0])]
        for partition, files in sorted(found.items())
    }


def tasks_of(jobs: Jobs) -> set[str]:
    return {one.name.write_token.split("-")[0] for one in jobs.table().view().latest_base_files()}


def column(rows: pa.Table, name: str) -> list[str]:
    return [str(value) for value in rows.column(name).to_pylist()]


def test_global_sort_gives_every_file_a_range_of_keys(jobs: Jobs) -> None:
    files = bulk_insert(jobs, **{MODE: "GLOBAL_SORT"})
    for in_partition in files.values():
        keys = [column(rows, "_hoodie_record_key") for rows in in_partition]
        assert [key for some in keys for key in some] == sorted(key for some in keys for key in some)
    order = [rows for in_partition in files.values() for rows in in_partition]
    assert all(column(one, "p")[0] <= column(other, "p")[0] for one, other in pairwise(order))


def test_partition_sort_sorts_what_each_task_has(jobs: Jobs) -> None:
    for in_partition in bulk_insert(jobs, **{MODE: "PARTITION_SORT"}).values():
        for rows in in_partition:
            assert column(rows, "_hoodie_record_key") == sorted(column(rows, "_hoodie_record_key"))


@pytest.mark.parametrize("mode", ["PARTITION_PATH_REPARTITION", "PARTITION_PATH_REPARTITION_AND_SORT"])
def test_repartition_gives_each_partition_to_one_task(jobs: Jobs, mode: str) -> None:
    files = bulk_insert(jobs, **{MODE: mode, TASKS: "3"})
    assert {partition: len(in_partition) for partition, in_partition in files.items()} == dict.fromkeys("abcd", 1)
    assert tasks_of(jobs) <= {"0", "1", "2"}


def test_sort_columns_take_the_place_of_the_mode(jobs: Jobs) -> None:
    files = bulk_insert(jobs, **{COLUMNS: "v", TASKS: "1"})
    assert {partition: len(in_partition) for partition, in_partition in files.items()} == dict.fromkeys("abcd", 1)
    for (rows,) in files.values():
        assert column(rows, "v") == sorted(column(rows, "v"))
    assert tasks_of(jobs) == {"0"}
    with pytest.raises(ConfigError, match="names nothing, which the source does not have"):
        bulk_insert(jobs, **{COLUMNS: "nothing"})
    with pytest.raises(ConfigError, match="GLOBAL_SORT, PARTITION_SORT"):
        bulk_insert(jobs, **{MODE: "SORTED"})


def test_one_record_of_each_key_where_that_is_asked_for(jobs: Jobs) -> None:
    given = [row(1, "a", "old", 1), row(1, "a", "new", 2), row(1, "b", "other", 1), row(2, "a", "x", 1)]
    conf = {**SMALL, "hoodie.combine.before.insert": "true"}
    jobs.write("bulk_insert", given, hoodie_conf=tuple(conf.items()))
    assert jobs.rows() == shown(given[1:])
    with pytest.raises(Exception, match="no value in the precombine field ts"):
        jobs.write("bulk_insert", [{**row(3), "ts": None}], hoodie_conf=tuple(conf.items()))
    assert jobs.rows() == shown(given[1:])
