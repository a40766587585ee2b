"""The whole life of two Hudi tables: the flights that left New York City in 2013.

``flights`` is COPY_ON_WRITE, ``flights_mor`` is MERGE_ON_READ; both are partitioned by month. The schedule is loaded
at once, then each quarter's actuals are upserted, and flights that never left are deleted in the same batch. Table
services and Hive sync follow, and a last Spark job checks the tables against the original data.

Every write has an idempotency key, so a retried task, or a second run of the DAG, adds nothing. ``pyhudi-demo`` runs
this DAG with an Airflow of its own; elsewhere, set the variables below. A Spark connection ``spark_default``, where
there is one, takes the place of the local master.
"""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, chain, get_current_context, task

from airflow_provider_pyhudi import (
    HudiCleanOperator,
    HudiClusteringOperator,
    HudiCommitSensor,
    HudiCompactionOperator,
    HudiHiveSyncOperator,
    HudiIngestOperator,
    HudiSparkSubmitHook,
)

HOME = Path(os.environ.get("FLIGHTS_DEMO_DIRECTORY", "demo-data")).absolute()
LAKE = os.environ.get("FLIGHTS_DEMO_LAKE") or str(HOME)
METASTORE = os.environ.get("FLIGHTS_DEMO_METASTORE", "thrift://localhost:9083")
DATABASE = "flights_demo"

SOURCES = HOME / "sources"
TABLES = {"flights": "COPY_ON_WRITE", "flights_mor": "MERGE_ON_READ"}
QUARTERS = (1, 2, 3, 4)

RETENTION = {
    "flights": {"hoodie.cleaner.policy": "KEEP_LATEST_COMMITS", "hoodie.cleaner.commits.retained": "2"},
    "flights_mor": {"hoodie.cleaner.policy": "KEEP_LATEST_FILE_VERSIONS", "hoodie.cleaner.fileversions.retained": "1"},
}

SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    # Jobs of seconds: what Java's second compiler would gain later, its work takes from them now.
    "spark.driver.extraJavaOptions": "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2 -XX:TieredStopAtLevel=1",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}

with DAG(
    dag_id="flights_demo",
    description="Ingest, compact, cluster, clean and sync two Hudi tables of flights, then check them",
    schedule=None,
    catchup=False,
    max_active_tasks=1,
    tags=["hudi", "example"],
    default_args={"conf": SPARK, "retries": 2, "retry_delay": timedelta(seconds=15)},
) as dag:

    @task
    def prepare_data() -> None:
        """Write the Parquet files that the ingestion reads."""
        from dags_examples.demo.data import prepare, upload

        upload(prepare(SOURCES), f"{LAKE}/sources")

    @task
    def verify() -> None:
        """Ask Spark SQL over the synced tables and DuckDB over the original data the same questions."""
        places = {
            "metastore-uris": METASTORE,
            "database": DATABASE,
            "base": f"{LAKE}/tables",
            "sources": SOURCES,
            "result-file": HOME / "verification.json",
        }
        HudiSparkSubmitHook(
            job="verify",
            conf=SPARK,
            application_args=[f"--{name}={place}" for name, place in places.items()],
        ).submit(str(Path(__file__).parent / "demo" / "verify.py"))

    @task
    def report() -> None:
        """Collect what the tasks handed on by XCom, for the demo's summary."""
        context = get_current_context()
        found = {name: context["ti"].xcom_pull(task_ids=name) for name in dag.task_ids}
        results = {name: result for name, result in found.items() if isinstance(result, dict) and "state" in result}
        (HOME / "results.json").write_text(json.dumps(results, indent=2))

    def base_path(name: str) -> str:
        return f"{LAKE}/tables/{name}"

    def write(name: str, op: str, source: str) -> HudiIngestOperator:
        """One write of one source file into one table."""
        verb = "load" if op == "bulk_insert" else "upsert"
        batch = "" if op == "bulk_insert" else f"_{source.rpartition('_')[2]}"
        return HudiIngestOperator(
            task_id=f"{verb}_{name}{batch}",
            base_path=base_path(name),
            table_name=name,
            table_type=TABLES[name],
            op=op,
            source_format="parquet",
            source=[f"{LAKE}/sources/{source}.parquet"],
            record_key_fields=["year", "month", "day", "carrier", "flight", "origin"],
            partition_path_fields=["month"],
            precombine_field="updated",
            hoodie_conf={"hoodie.datasource.write.hive_style_partitioning": "true"},
            idempotency_key=f"flights-demo/{op}/{name}{batch}",
        )

    def writes(name: str) -> list[HudiIngestOperator]:
        """The schedule, then what happened in each quarter."""
        return [
            write(name, "bulk_insert", "schedule"),
            *(write(name, "upsert", f"actuals_q{quarter}") for quarter in QUARTERS),
        ]

    def clean(name: str) -> HudiCleanOperator:
        return HudiCleanOperator(
            task_id=f"clean_{name}",
            base_path=base_path(name),
            table_name=name,
            hoodie_conf=RETENTION[name],
        )

    def sync(name: str) -> HudiHiveSyncOperator:
        return HudiHiveSyncOperator(
            task_id=f"sync_{name}",
            base_path=base_path(name),
            table_name=name,
            database=DATABASE,
            metastore_uris=METASTORE,
            partitioned_by=["month"],
            support_timestamp=True,
        )

    written = {name: writes(name) for name in TABLES}

    cluster_flights = HudiClusteringOperator(
        task_id="cluster_flights",
        base_path=base_path("flights"),
        table_name="flights",
        mode="scheduleAndExecute",
        hoodie_conf={"hoodie.clustering.plan.strategy.sort.columns": "carrier,tailnum"},
    )

    wait_for_commit = HudiCommitSensor(
        task_id="wait_for_commit",
        base_path=base_path("flights_mor"),
        actions=["deltacommit"],
        min_commits=1 + len(QUARTERS),
        poke_interval=5,
        timeout=600,
    )
    plan_compaction = HudiCompactionOperator(
        task_id="plan_compaction",
        base_path=base_path("flights_mor"),
        table_name="flights_mor",
        mode="schedule",
        hoodie_conf={"hoodie.compact.inline.max.delta.commits": "1"},
    )
    # Where nothing was due, the instant is None, and this takes up a plan that an earlier run left behind, if any.
    compact = HudiCompactionOperator(
        task_id="compact",
        base_path=base_path("flights_mor"),
        table_name="flights_mor",
        mode="execute",
        instant_time="{{ ti.xcom_pull('plan_compaction', key='instant') }}",
    )

    data, checked = prepare_data(), verify()
    chain(data, *written["flights"], cluster_flights, clean("flights"), sync("flights"), checked)
    chain(
        data,
        *written["flights_mor"],
        wait_for_commit,
        plan_compaction,
        compact,
        clean("flights_mor"),
        sync("flights_mor"),
        checked,
        report(),
    )
