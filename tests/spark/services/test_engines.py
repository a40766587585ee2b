"""Services that mostly work in their own process, with their many calls and reads on Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.spark import SparkEngine
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.restore import RestoreOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.rollback import RollbackOptions
from spark_jobs.options.validate import ValidateOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.validation.job import run_validation
from tests import hudi_tables
from tests.faults import local_table as local
from tests.support.jobs import job_context
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import overwrite

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CONF = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.max.commits": "1"}


def clean(spark: SparkSession, table: HudiTable, **options: int | bool) -> JobResult:
    given = CleanOptions(base_path=table.base_path, hoodie_conf=CONF, **options)  # type: ignore[arg-type]
    return run_cleaning(given, job_context(engine=SparkEngine(spark)))


def test_a_clean_in_parts_and_a_rollback(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(str(tmp_path / "t"), clock=SYSTEM_CLOCK)
    for _ in range(6):
        overwrite(table)
    planned = clean(spark, table, dry_run=True)
    part = clean(spark, table, max_bytes=planned.bytes_in * 5 // 8)  # four files whose sizes differ by some bytes
    assert (part.state, part.extra["engine"], part.extra["deleted_files"]) == (JobState.SCHEDULED, "spark", 2)
    done = clean(spark, table, max_seconds=600)
    assert (done.state, done.extra["engine"], done.extra["gone_before"]) == (JobState.COMPLETED, "spark", 2)
    assert len(list(tmp_path.glob("t/p/*.parquet"))) == 2
    overwrite(table)
    last = table.refreshed().timeline.completed_commits()[-1]
    rolled_back = run_rollback(
        RollbackOptions(base_path=table.base_path, instant_time=last.timestamp), job_context(engine=SparkEngine(spark))
    )
    assert (rolled_back.extra["engine"], rolled_back.extra["deleted_files"]) == ("spark", 1)
    assert len(list(tmp_path.glob("t/p/*.parquet"))) == 2
    assert validated(table.base_path, SparkEngine(spark)).extra["findings"] == []


def test_a_file_that_can_not_be_deleted_ends_the_job(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(str(tmp_path / "t"), clock=SYSTEM_CLOCK)
    for _ in range(4):
        overwrite(table)
    planned = clean(spark, table, dry_run=True)
    assert planned.plan is not None
    assert clean(spark, table, max_bytes=planned.bytes_in * 3 // 4).extra["left_files"] == 1
    (name,) = (name for name in planned.plan["deletions"]["p"] if (tmp_path / "t/p" / name).exists())
    (tmp_path / "t/p" / name).unlink()
    (tmp_path / "t/p" / name / "inside").mkdir(parents=True)
    with pytest.raises(Exception, match="can't be deleted") as failed:
        clean(spark, table)
    failure = failure_of(failed.value)
    assert failure.exit_code == 5
    assert failure.message.startswith(f"{tmp_path}/t/p/{name} can't be deleted")
    assert [one.action for one in table.refreshed().timeline.instants if not one.is_completed] == [Action.CLEAN]


def test_a_deep_validation(spark: SparkSession, tmp_path: Path) -> None:
    base = hudi_tables.unpack("metadata_tables/indexed_mor", tmp_path / "t")
    path = sorted(base.glob("*/*.parquet"))[0]
    path.write_bytes(path.read_bytes()[:-100])
    found, here = validated(str(base), SparkEngine(spark)), validated(str(base), None)
    assert (found.extra["engine"], here.extra["engine"]) == ("spark", "local")
    assert found.extra["findings"] == here.extra["findings"] != []


def test_a_restore_reads_its_rows_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    local.create(path, "MERGE_ON_READ")
    goal = local.write(path, local.batch(0, 20, "one", 1), "first")
    local.write(path, local.batch(0, 10, "two", 2), "second")
    options = RestoreOptions(base_path=str(path), instant_time=goal, verify="rows")  # type: ignore[arg-type]
    done = run_restore(options, job_context(engine=SparkEngine(spark)))
    assert (done.state, done.extra["engine"], len(done.extra["undone"])) == (JobState.COMPLETED, "spark", 1)
    assert local.rows_of(path) == local.expected_rows(local.batch(0, 20, "one", 1))


def validated(base_path: str, engine: SparkEngine | None) -> JobResult:
    return run_validation(ValidateOptions(base_path=base_path, deep=True), job_context(engine=engine))
