"""A rewrite that died goes on with what it had finished, and publishes nothing twice: at each changing storage call of
a first run, of a run that goes on with an earlier one, of a log compaction, and of taking a plan back.

``make all-faults`` breaks each call that reads too, and in every way.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.core.format.instant import Action
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rewriting.completion import FOLDER
from tests.faults import local_table as local
from tests.faults.broken_calls import (
    COW,
    FIRST,
    MOR,
    SECOND,
    THIRD,
    Case,
    small_files,
    two_commits,
    wrong_after_broken_calls,
)
from tests.faults.faulty_storage import DIED, Fault
from tests.support.deaths import in_another_process
from tests.support.engines import DiesAfter
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]


def log_compact(path: Folder) -> None:
    conf = {**local.AT_ONCE, "hoodie.log.compaction.blocks.threshold": "2"}
    options = CompactionOptions(base_path=str(path), hoodie_conf=conf, log_compaction=True)
    run_compaction(options, job_context(lake=path.lake))


def two_blocks(path: Folder) -> None:
    """In each slice; a log compaction leaves one, so that a second run has nothing to do."""
    two_commits(path)
    local.write(path, THIRD, "third")


def half_done(path: Folder, service: Callable[[LocalEngine], object]) -> None:
    assert in_another_process(lambda: service(DiesAfter(1, DIED))) == DIED
    assert len(list((path / FOLDER).glob("*/*.json"))) == 1


def half_compacted(path: Folder) -> None:
    two_commits(path)
    options = CompactionOptions(base_path=str(path), hoodie_conf=local.AT_ONCE)
    half_done(path, lambda engine: run_compaction(options, job_context(engine=engine, lake=path.lake)))


def half_clustered(path: Folder) -> None:
    small_files(path)
    options = ClusteringOptions(base_path=str(path), hoodie_conf=local.AT_ONCE)
    half_done(path, lambda engine: run_clustering(options, job_context(engine=engine, lake=path.lake)))


def take_back(path: Folder) -> None:
    """Until no plan is left: a crash in the middle of a rollback may leave the plan for another attempt."""
    pending = path.table().timeline.pending({Action.REPLACE_COMMIT})
    for one in pending:
        options = ClusteringOptions(
            base_path=str(path), hoodie_conf=local.AT_ONCE, mode="cancel", instant_time=one.timestamp
        )
        run_clustering(options, job_context(lake=path.lake))


CASES = {
    "log compaction": Case(table_type=MOR, prepare=two_blocks, act=log_compact, expected=(FIRST, SECOND, THIRD)),
    "compaction that goes on": Case(
        table_type=MOR, prepare=half_compacted, act=local.compact, expected=(FIRST, SECOND)
    ),
    "clustering that goes on": Case(
        table_type=COW, prepare=half_clustered, act=local.cluster, expected=(FIRST, local.batch(20, 10, "more", 2))
    ),
    "clustering that is taken back": Case(
        table_type=COW, prepare=half_clustered, act=take_back, expected=(FIRST, local.batch(20, 10, "more", 2))
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_after_a_death_at_any_change_a_rerun_gives_the_same(name: str, root: Folder) -> None:
    wrong = wrong_after_broken_calls(CASES[name], root, (Fault.DIE_BEFORE,), only_changes=True)
    assert not wrong, "\n".join(wrong)
