"""Tables that this project wrote and served, sound after every step; what only our services leave behind, harmed."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import AT_ONCE as CONF
from tests.unit.services.by_hand import ENGINE
from tests.unit.services.validation.damage import rewrite
from tests.unit.services.validation.written import change, insert

pytestmark = pytest.mark.unit


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b", "c")
    insert(made, "d")
    change(made, "b")
    return made


def test_every_step_leaves_it_sound(table: HudiTable) -> None:
    base = table.base_path
    assert validate(table, deep=True) == []
    change(table, "c", delete=True)
    run_compaction(CompactionOptions(base_path=base, hoodie_conf=CONF), job_context(engine=ENGINE, lake=table.lake))
    assert validate(table, deep=True) == []
    run_clustering(ClusteringOptions(base_path=base, hoodie_conf=CONF), job_context(engine=ENGINE, lake=table.lake))
    assert validate(table, deep=True) == []
    run_cleaning(CleanOptions(base_path=base, hoodie_conf=CONF), job_context(lake=table.lake))
    assert validate(table, deep=True) == []


def test_a_clustering_that_changed_a_row(table: HudiTable) -> None:
    options = ClusteringOptions(base_path=table.base_path, hoodie_conf=CONF)
    run_clustering(options, job_context(engine=ENGINE, lake=table.lake))
    opened = table.refreshed()
    (done,) = opened.timeline.completed(Action.REPLACE_COMMIT)
    stat = opened.timeline.commit_metadata(done, SYSTEM_CLOCK).write_stats[0]
    assert stat.path is not None
    assert not [one for one in validate(table, deep=True) if one.invariant == 4]
    rewrite(file_at(table.storage, table.base_path, stat.path), lambda found: found.slice(1))
    (found,) = [one for one in validate(table, deep=True) if one.invariant == 4]
    assert found.path == stat.path
    assert f"{done} did not keep the rows: 4 rows went in and 3 came out" in found.what


def test_a_row_of_a_log_that_belongs_elsewhere(table: HudiTable) -> None:
    change(table, "c", partition="elsewhere")
    assert validate(table) == []
    found = [one for one in validate(table, deep=True) if one.invariant == 2]
    assert [".log.2" in one.path and "has _hoodie_partition_path 'elsewhere'" in one.what for one in found] == [True]
