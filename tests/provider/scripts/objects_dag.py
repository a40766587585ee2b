"""Tasks on tables on S3 that a connection of Airflow's database reaches: jobs without Spark, sensors, a look of a task.

``PROBE_STORE`` has the options of the store, ``PROBE_BUCKET`` its bucket. ``PROBE_FOLDER`` gets what jobs were called
with.
"""

import json
import os
import sys
from pathlib import Path

from airflow.models import Connection
from airflow.sdk import DAG, get_current_context, task
from airflow.utils.session import create_session
from sqlalchemy import delete

from airflow_provider_pyhudi import (
    HudiCleanOperator,
    HudiCommitSensor,
    HudiCompactionOperator,
    HudiHook,
    HudiIngestOperator,
    HudiTableServiceSensor,
    HudiValidateOperator,
    hudi_asset,
)

BUCKET, FOLDER = os.environ["PROBE_BUCKET"], Path(os.environ["PROBE_FOLDER"])
SUBMIT = {"spark_binary": str(Path(__file__).parent / "submit_seen.py"), "hudi_conn_id": "objects"}

with DAG("on_objects") as dag:
    write = HudiIngestOperator(
        task_id="write",
        base_path="trips",
        table_name="trips",
        table_type="MERGE_ON_READ",
        op="upsert",
        engine="local",
        source_format="parquet",
        source=[f"{BUCKET}/landing/one.parquet"],
        props=f"{BUCKET}/conf/trips.properties",
        result_file=f"{BUCKET}/results/write.json",
        outlets=[hudi_asset(f"{BUCKET}/lake/trips")],
        **SUBMIT,
    )
    again = HudiIngestOperator(
        task_id="again",
        base_path="trips",
        op="upsert",
        engine="local",
        source_format="parquet",
        source=[f"{BUCKET}/landing/two.parquet"],
        props=f"{BUCKET}/conf/trips.properties",
        **SUBMIT,
    )
    wait = HudiCommitSensor(task_id="wait", base_path="trips", min_commits=2, hudi_conn_id="objects")
    due = HudiTableServiceSensor(
        task_id="due",
        base_path=f"{BUCKET}/lake/trips",
        service="compaction",
        storage_conn_id="keys",
        hoodie_conf={"hoodie.compact.inline.max.delta.commits": "1"},
        deferrable=True,
        poke_interval=1,
    )
    compact = HudiCompactionOperator(
        task_id="compact",
        base_path="trips",
        engine="local",
        hoodie_conf={"hoodie.compact.inline.max.delta.commits": "1"},
        **SUBMIT,
    )
    refused = HudiCleanOperator(
        task_id="refused", base_path="trips", storage_options={"aws_regoin": "x"}, engine="local", **SUBMIT
    )
    validate = HudiValidateOperator(
        task_id="validate",
        base_path=f"{BUCKET}/lake/trips",
        deep=True,
        engine="local",
        storage_conn_id="keys",
        spark_binary=SUBMIT["spark_binary"],
        trigger_rule="all_done",
    )

    @task(trigger_rule="all_done")
    def look() -> int:
        found: int = HudiHook("objects").open_table("trips").scan().to_arrow().num_rows
        context = get_current_context()
        xcoms = {name: context["ti"].xcom_pull(task_ids=name) for name in dag.task_ids}
        (FOLDER / "xcom.json").write_text(json.dumps(xcoms))
        return found

    write >> again >> wait >> due >> compact >> refused >> validate >> look()


def connect() -> None:
    options = json.loads(os.environ.pop("PROBE_STORE"))
    keys = Connection(
        conn_id="keys",
        conn_type="aws",
        login=options["access_key_id"],
        password=options["secret_access_key"],
        extra=json.dumps({"endpoint_url": options["endpoint"], "region_name": options["region"]}),
    )
    lake = {"base_path": f"{BUCKET}/lake", "storage_conn_id": "keys"}
    with create_session() as session:
        session.execute(delete(Connection).where(Connection.conn_id.in_(("keys", "objects"))))
        session.add_all([keys, Connection(conn_id="objects", conn_type="hudi", extra=json.dumps(lake))])


if __name__ == "__main__":
    connect()
    run = dag.test()
    print("states:", json.dumps({ti.task_id: str(ti.state) for ti in run.get_task_instances()}))
    sys.stdout.flush()
