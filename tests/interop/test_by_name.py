"""Tables that we synced to a Hive metastore are Hudi tables to Spark 3.5 with Hudi's bundle: it selects by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dags_examples.demo.metastore import EmbeddedMetastore, start_metastore, stop_metastore
from spark_jobs.hive.job import run_hive_sync
from spark_jobs.options.hive_sync import HiveSyncOptions
from tests.interop.flights import Oracle, assert_same, by_key, delayed, flights, sample
from tests.interop.ours import Ours
from tests.interop.real_hudi import RealHudi
from tests.java import QUICK
from tests.support.jobs import job_context

DATABASE = "interop"


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    directory = tmp_path_factory.mktemp("metastore")
    yield start_metastore(directory, java_options=tuple(QUICK.split()))
    stop_metastore(directory)


def test_hudi_selects_both_tables_by_name(
    tmp_path: Path,
    ours: Ours,
    metastore: EmbeddedMetastore,
    another_hudi: Callable[[str | None], RealHudi],
) -> None:
    rows = flights()
    oracle = Oracle()
    oracle.upsert(rows)
    oracle.upsert(delayed(sample(rows, 0, 5), 1))
    for name, table_type in (("flights", "COPY_ON_WRITE"), ("flights_mor", "MERGE_ON_READ")):
        path = tmp_path / name
        ours.write(path, rows, "bulk_insert", table_type=table_type)
        ours.write(path, delayed(sample(rows, 0, 5), 1), "upsert")
        options = HiveSyncOptions(base_path=str(path), metastore_uris=metastore.uri, database=DATABASE, table=name)
        run_hive_sync(options, job_context())

    hudi = another_hudi(metastore.uri)
    for name in ("flights", "flights_mor_rt"):
        assert_same(by_key(hudi.select(f"select * from {DATABASE}.{name}")), oracle.rows, f"Hudi by the name {name}")
    by_name = by_key(hudi.select(f"select * from {DATABASE}.flights_mor_ro"))
    by_path = by_key(hudi.read(tmp_path / "flights_mor", "read_optimized"))
    assert_same(by_name, by_path, "Hudi by the name flights_mor_ro")
    february = hudi.sql(f"select count(*) n from {DATABASE}.flights where month = 2")[0]["n"]
    assert february == sum(row["month"] == 2 for row in oracle.rows.values())
