"""Parsing a DAG loads neither Spark nor Arrow nor the table format."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.provider

PARSE = """
import sys
from importlib.abc import MetaPathFinder

class Block(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j"):
            raise ImportError(f"{name} must not be imported here")

sys.meta_path.insert(0, Block())
before = set(sys.modules)
import airflow.sdk
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
airflow_alone = set(sys.modules)
import spark_jobs.options
import airflow_provider_pyhudi as pyhudi
from airflow.sdk import DAG

with DAG("d"):
    write = pyhudi.HudiIngestOperator(task_id="i", base_path="/t", source="s", op="{{ params.op }}")
    plan = pyhudi.HudiCompactionOperator(task_id="p", base_path="/t", mode="schedule")
    pyhudi.HudiCompactionOperator(task_id="e", base_path="/t", mode="execute", instant_time=plan.output["instant"])
    pyhudi.HudiClusteringOperator(task_id="k", base_path="/t")
    pyhudi.HudiCleanOperator(task_id="c", base_path="/t")
    pyhudi.HudiAlterTableOperator(task_id="l", base_path="/t", ddl="alter table t drop column a")
    pyhudi.HudiArchiveOperator(task_id="a", base_path="/t")
    pyhudi.HudiRollbackOperator(task_id="r", base_path="/t", instant_time=write.output["instant"])
    pyhudi.HudiSavepointOperator(task_id="v", base_path="/t")
    pyhudi.HudiRepairOperator(task_id="m", base_path="/t")
    pyhudi.HudiRestoreOperator(task_id="b", base_path="/t", savepoint="{{ params.savepoint }}")
    pyhudi.HudiBootstrapOperator(task_id="o", base_path="/t", source="s")
    pyhudi.HudiIndexingOperator(task_id="x", base_path="/t", index_types="COLUMN_STATS")
    pyhudi.HudiValidateOperator(task_id="w", base_path="/t")
    pyhudi.HudiHealthOperator(task_id="f", base_path="/t")
    pyhudi.HudiHiveSyncOperator(task_id="h", base_path="/t", database="d")
    pyhudi.HudiCommitSensor(task_id="s", base_path="/t", after_instant=write.output["instant"], deferrable=True)
    pyhudi.hudi_asset("/t")

for name in pyhudi.__all__:
    getattr(pyhudi, name)
heavy = ("pyarrow", "numpy", "pandas", "fastavro", "pyspark", "pymetastore", "spark_jobs.core", "spark_jobs.engine")
loaded = sorted(name for name in set(sys.modules) - airflow_alone if name.startswith(heavy))
print("loaded:", loaded)
"""


def test_a_dag_of_all_operators_parses_without_spark_arrow_or_core() -> None:
    run = subprocess.run([sys.executable, "-c", PARSE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "loaded: []"


def test_options_need_the_standard_library_alone() -> None:
    program = (
        "import sys, spark_jobs.options;"
        "print([n for n in sys.modules if not (n.startswith('spark_jobs') or n.split('.')[0] in sys.stdlib_module_names"
        " or n.startswith('_')) ], 'spark_jobs.core' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(root)}
    )
    assert run.stdout == "[] False\n"
