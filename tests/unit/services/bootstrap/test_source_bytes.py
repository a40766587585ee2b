"""Plans over bootstrapped tables count the files that the rows are in, as long as they are read."""

from __future__ import annotations

import pytest

from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.services.bootstrap.tables_over import COW, FIRST, MOR, SECOND, is_sound, table_over

pytestmark = pytest.mark.unit

CONF = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.clustering.plan.strategy.max.bytes.per.group": "1",
}


def cluster(path: Folder, **options: int | str | bool | None) -> JobResult:
    given = ClusteringOptions(base_path=str(path), hoodie_conf=CONF, **options)  # type: ignore[arg-type]
    return run_clustering(given, job_context(lake=path.lake))


def compact(path: Folder, **options: int | str | bool | None) -> JobResult:
    given = CompactionOptions(base_path=str(path), hoodie_conf=CONF, **options)  # type: ignore[arg-type]
    return run_compaction(given, job_context(lake=path.lake))


def sizes(folder: Folder) -> int:
    return sum(one.size for one in folder.rglob("*.parquet") if "/.hoodie/" not in one.url)


def test_a_clustering_counts_and_budgets_the_source(root: Folder) -> None:
    path = table_over(root, "kept", COW)
    source, own = sizes(root / "source"), sizes(path)
    dry = cluster(path, dry_run=True)
    assert (dry.files_in, dry.bytes_in) == (4, source + own)
    assert dry.plan is not None
    listed = [file for group in dry.plan["groups"] for file in group["files"]]
    assert sorted(file["source"] for file in listed if "source" in file) == ["a/part-0.parquet", "b/part-0.parquet"]
    assert sum(file["bytes"] for file in listed) == dry.bytes_in == sum(one["bytes"] for one in dry.plan["groups"])
    assert dry.plan["estimate"]["bytes_out"] == dry.bytes_in
    nothing = cluster(path, max_bytes=max(one.size for one in path.glob("*/*.parquet")))
    assert nothing.state is JobState.NOTHING_TO_DO
    done = cluster(path, plan_hash=dry.extra["plan_hash"])
    assert (done.state, done.files_in, done.bytes_in) == (JobState.COMPLETED, 4, source + own)
    assert is_sound(path, FIRST)
    local.write(path, SECOND, "second")
    assert cluster(path, dry_run=True).files_in == 2  # whole base files by now


def test_a_compaction_counts_the_source(root: Folder) -> None:
    path = table_over(root, "both", MOR)  # the source of one partition was copied
    local.write(path, SECOND, "second")
    planned = compact(path, mode="schedule")
    logs = sum(one.size for one in path.glob("*/.*.log.*"))
    kept = sizes(root / "source/a")
    assert (planned.files_in, planned.bytes_in) == (5, kept + sizes(path) + logs)
    done = compact(path, mode="execute")
    assert (done.files_in, done.bytes_in) == (planned.files_in, planned.bytes_in)
    assert is_sound(path, FIRST, SECOND)
