"""A DAG of the provider's operators on the probe job; run as a program, it tests itself and prints what came of it."""

import json
import os
import sys
from pathlib import Path

from airflow.sdk import DAG, get_current_context, task

from airflow_provider_pyhudi import HudiCompactionOperator, HudiIngestOperator, hudi_asset
from tests.java import QUICK

HERE = Path(__file__).parent
FOLDER = Path(os.environ["PROBE_FOLDER"])
JVM = {"spark.driver.extraJavaOptions": QUICK, "spark.ui.enabled": "false"}
WITH_SPARK = {"application": str(HERE / "probe.py"), "conf": JVM, "driver_memory": "512m", "base_path": str(FOLDER)}
# Runs the application with this Python, as spark-submit would, for tasks that are not about Spark.
WITHOUT_SPARK = {**WITH_SPARK, "spark_binary": str(HERE / "submit_without_spark.py")}

with DAG("finished") as finished, DAG("killed") as killed:
    pass

with finished:
    asset = hudi_asset(str(FOLDER))
    HudiIngestOperator(task_id="count", **WITH_SPARK, hoodie_conf={"hoodie.probe": "count"}, outlets=[asset])
    HudiIngestOperator(task_id="conflict", **WITH_SPARK, hoodie_conf={"hoodie.probe": "conflict"})
    HudiIngestOperator(task_id="bad_job", **WITHOUT_SPARK, hoodie_conf={"hoodie.probe": "bad"}, retries=3)
    HudiIngestOperator(task_id="bad_option", **WITHOUT_SPARK, op="{{ 'upsrt' }}", retries=3)
    HudiIngestOperator(
        task_id="nothing", **WITHOUT_SPARK, hoodie_conf={"hoodie.probe": "nothing"}, skip_on_nothing_to_do=True
    )
    for what in ("nothing", "repeated", "dry"):
        HudiIngestOperator(
            task_id=f"{what}_for_consumers",
            **WITHOUT_SPARK,
            hoodie_conf={"hoodie.probe": what},
            dry_run=what == "dry",
            outlets=[asset],
        )
    look = HudiCompactionOperator(task_id="look", **WITHOUT_SPARK, hoodie_conf={"hoodie.probe": "nothing"})
    HudiCompactionOperator(
        task_id="unseen", **WITHOUT_SPARK, plan_hash="{{ ti.xcom_pull('look', key='extra').get('plan_hash') }}"
    ).set_upstream(look)
    HudiIngestOperator(task_id="mistyped", **WITHOUT_SPARK, spark_conn_id="sprak_cluster", retries=3)
    plan = HudiCompactionOperator(task_id="plan", **WITHOUT_SPARK, mode="schedule")
    execute = HudiCompactionOperator(
        task_id="execute", **WITHOUT_SPARK, mode="execute", instant_time=plan.output["instant"]
    )
    mapped = HudiIngestOperator.partial(task_id="mapped", **WITHOUT_SPARK).expand(source=[["a"], ["b", "c"]])

    @task(trigger_rule="all_done")
    def collect() -> None:
        ti = get_current_context()["ti"]
        found = {name: ti.xcom_pull(task_ids=name) for name in ("count", "plan", "execute")}
        found["mapped"] = list(ti.xcom_pull(task_ids="mapped", map_indexes=[0, 1]))
        (FOLDER / "xcom.json").write_text(json.dumps(found))

    end = collect()
    for name in finished.task_ids:
        if name != "collect":
            finished.get_task(name) >> end

with killed:
    HudiIngestOperator(task_id="wait", **WITH_SPARK, hoodie_conf={"hoodie.probe": "wait"})

if __name__ == "__main__":
    run = {"finished": finished, "killed": killed}[sys.argv[1]].test()
    states = {f"{ti.task_id}[{ti.map_index}]": str(ti.state) for ti in run.get_task_instances()}
    print("\nstates:", json.dumps({name.removesuffix("[-1]"): state for name, state in states.items()}))
