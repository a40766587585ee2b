"""One task of the ingest operator, run step by step as a scheduler would, each step told as `step: {...}`.

The steps are words: `first` makes the run; `lost` fails the task whose worker died, as a scheduler does that misses its
heartbeats; `clear` and `reprocess` clear it; `retry` is the next try; `retries=N` and `value=V` edit the DAG;
`probe=W` says what the job does after its commit.
"""

import json
import os
import sys
from pathlib import Path

from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance, clear_task_instances
from airflow.models.xcom import XComModel
from airflow.sdk import DAG
from airflow.sdk.definitions.dag import _run_task
from airflow.serialization.serialized_objects import DagSerialization
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState, TaskInstanceState
from sqlalchemy import func, select

from airflow_provider_pyhudi import HudiIngestOperator, hudi_asset
from tests.faults import local_table as local

HERE = Path(__file__).parent
TABLE = Path(os.environ["PROBE_FOLDER"]) / "t"
NAME = os.environ.get("PROBE_DAG", "generations")

with DAG(NAME) as dag:
    write = HudiIngestOperator(
        task_id="write",
        base_path=str(TABLE),
        op=os.environ.get("PROBE_OP", "upsert"),
        application=str(HERE / "generations_job.py"),
        spark_binary=str(HERE / "submit_without_spark.py"),
        hoodie_conf={"hoodie.probe": "end", "hoodie.probe.value": "one"},
        outlets=[hudi_asset(str(TABLE))],
        retries=1,
    )


def tell(step: str) -> None:
    with create_session() as session:
        ti = session.scalars(select(TaskInstance).where(TaskInstance.dag_id == NAME)).one()
        repeated = session.scalars(
            select(XComModel.value).where(XComModel.dag_id == NAME, XComModel.key == "repeated")
        ).first()
        events = session.scalar(select(func.count(AssetEvent.id)).where(AssetEvent.source_dag_id == NAME))
        said = {"state": str(ti.state), "try": ti.try_number, "repeated": repeated, "events": events}
    said["values"] = sorted(set(local.HudiTable.open(str(TABLE)).scan().to_arrow().column("v").to_pylist()))
    said["commits"] = len(local.HudiTable.open(str(TABLE)).timeline.completed_commits())
    print("\nstep:", json.dumps({"step": step, **said}))


def run_try() -> None:
    with create_session() as session:
        run = session.scalars(select(DagRun).where(DagRun.dag_id == NAME)).one()
        run.state = DagRunState.RUNNING
        ti = run.get_task_instances(session=session)[0]
        ti.try_number += 1
        ti.state = TaskInstanceState.SCHEDULED
        session.commit()
        ti.task = None
        session.expunge_all()
    _run_task(ti=ti, task=write)


def clear() -> None:
    with create_session() as session:
        clear_task_instances(session.scalars(select(TaskInstance).where(TaskInstance.dag_id == NAME)).all(), session)


def reprocess() -> None:
    """As a backfill with reprocessing does it."""
    with create_session() as session:
        run_id = session.scalars(select(DagRun.run_id).where(DagRun.dag_id == NAME)).one()
        made = DagSerialization.deserialize_dag(DagSerialization.serialize_dag(dag))
        made.clear(run_id=run_id, dag_run_state=DagRunState.QUEUED, session=session, dry_run=False)


def lost() -> None:
    with create_session() as session:
        ti = session.scalars(select(TaskInstance).where(TaskInstance.dag_id == NAME)).one()
        assert ti.state == TaskInstanceState.RUNNING
        ti.state = TaskInstanceState.FAILED


def edit_retries(number: int) -> None:
    """In the DAG, and as Airflow then has it for a task that is yet to be tried again."""
    write.retries = number
    with create_session() as session:
        session.scalars(select(TaskInstance).where(TaskInstance.dag_id == NAME)).one().max_tries = number


def step(word: str) -> None:
    name, _, value = word.partition("=")
    if name == "retries":
        edit_retries(int(value))
    elif name in ("value", "probe"):
        key = {"value": "hoodie.probe.value", "probe": "hoodie.probe"}[name]
        write.hoodie_conf = {**write.hoodie_conf, key: value}
    elif name == "lost":
        lost()
    elif name == "first":
        local.create(TABLE, "COPY_ON_WRITE")
        dag.test()
        tell(word)
    else:
        {"clear": clear, "reprocess": reprocess, "retry": lambda: None}[name]()
        run_try()
        tell(word)


if __name__ == "__main__":
    for word in sys.argv[1:]:
        step(word)
