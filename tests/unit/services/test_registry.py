"""The registry names each job once, and what it names is there."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import airflow_provider_pyhudi
from airflow_provider_pyhudi.get_provider_info import get_provider_info
from spark_jobs.engine.context import JobContext
from spark_jobs.options import JobOptions, PlanHashOptions, ServiceOptions
from spark_jobs.options.job import Job, function_named
from spark_jobs.options.registry import JOBS, SENSED

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]
ENTRY = "from spark_jobs.engine.job import run_job"


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_all_jobs_have_one_shape(job: Job) -> None:
    function = function_named(job.runner)
    taken = inspect.signature(function, eval_str=True).parameters
    assert [one.annotation for one in taken.values()] == [job.options, JobContext]
    assert (ROOT / "spark_jobs" / job.file).is_file()
    if job.judge:
        assert callable(function_named(job.judge))


DRIVERS = {"run_service", "run_at_once", "run_in_steps"}
WITHOUT_DRIVER = {"alter table", "create table", "ingest"}
"""Two statements, and a write: no services."""


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_services_go_by_a_driver(job: Job) -> None:
    module = sys.modules[function_named(job.runner).__module__]
    assert bool(DRIVERS & vars(module).keys()) == (job.name not in WITHOUT_DRIVER)


def _below(kind: type) -> Iterator[type]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)


def test_each_entry_point_and_each_kind_of_options_is_registered_once() -> None:
    files = {one.name for one in (ROOT / "spark_jobs").glob("*.py") if ENTRY in one.read_text()}
    assert sorted(one.file for one in JOBS) == sorted(files)
    kinds = {kind.__name__ for kind in _below(JobOptions) if kind.__module__.startswith("spark_jobs.")}
    assert {one.options.__name__ for one in JOBS} == kinds - {PlanHashOptions.__name__, ServiceOptions.__name__}
    assert len({one.name for one in JOBS}) == len(JOBS)
    assert {one.sensor for one in JOBS if one.sensor} == set(SENSED)


def test_each_operator_of_the_provider_is_that_of_a_job() -> None:
    """Where Airflow looks for operators is known without an import of them."""
    exported = {name for name, home in airflow_provider_pyhudi._HOMES.items() if home.startswith("operators.")}
    assert {one.operator for one in JOBS if one.operator} == exported
    (operators,) = get_provider_info()["operators"]
    for name in exported:
        assert f"airflow_provider_pyhudi.{airflow_provider_pyhudi._HOMES[name]}" in operators["python-modules"]


def test_who_names_a_job_imports_the_options_alone() -> None:
    code = (
        "import sys\nfrom spark_jobs.options.registry import JOBS\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & {'pyarrow', 'numpy', 'pyspark', 'fastavro'}))\n"
        "print(sorted(name for name in sys.modules if name.startswith(('spark_jobs.core', 'spark_jobs.engine'))))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n[]\n"
