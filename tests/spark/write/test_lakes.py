"""Writes of Spark to a table in a lake of its own: its tasks, too, open files in what the driver handed them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark import cloudpickle

import tests.support.object_store
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage import LocalStorage
from spark_jobs.options.result import JobState
from spark_jobs.services.validation.run import validate
from tests.spark.tables import COW, MOR, Jobs, ordered, row, rows
from tests.support.folder import Folder
from tests.support.object_store import SCHEME, new_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def workers_know_the_store() -> Iterator[None]:
    """They have not the tests on their path: its class goes to them by value."""
    cloudpickle.register_pickle_by_value(tests.support.object_store)
    yield
    cloudpickle.unregister_pickle_by_value(tests.support.object_store)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_table_in_a_store_of_objects(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    """Tasks read the source: what Spark reads by itself has to be of a scheme that Hadoop knows."""
    lake = Lake(storages={"file": LocalStorage(), SCHEME: new_store(tmp_path)})
    path = Folder(f"{SCHEME}://lake/t", lake)
    jobs = Jobs(spark=spark, path=path, table_type=table_type, sources=tmp_path / "sources")
    jobs.write("insert", rows(range(20)))
    jobs.write("upsert", rows(range(10, 25), "two", 2))
    jobs.write("delete", [row(0)])
    jobs.write("bulk_insert", rows(range(30, 34)))
    expected = ordered([*rows(range(1, 10)), *rows(range(10, 25), "two", 2), *rows(range(30, 34))])
    expected = [{name: value for name, value in one.items() if name != "_hoodie_is_deleted"} for one in expected]
    assert jobs.rows() == expected
    done = jobs.compact() if table_type == MOR else jobs.cluster()
    assert done.state is JobState.COMPLETED
    jobs.clean()
    assert jobs.rows() == expected
    assert validate(path.url, deep=True, lake=lake) == []
