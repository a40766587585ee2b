"""Log compaction: many blocks into one, which counts in the place of the newest that it stands for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.options.service import CompactionOptions
from spark_jobs.services.compaction.job import run_compaction
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.support import contents, new_table
from tests.unit.services.by_hand import AT_ONCE, CHANGES, Change, change, compact, everything, insert

pytestmark = pytest.mark.unit


def log_compact(table: HudiTable, blocks: int = 1, **options: Any) -> JobResult:
    conf = {**AT_ONCE, "hoodie.log.compaction.blocks.threshold": str(blocks)}
    given = CompactionOptions(base_path=table.base_path, hoodie_conf=conf, log_compaction=True, **options)
    return run_compaction(given, job_context(lake=table.lake))


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b", "c")
    return made


def test_the_blocks_of_a_slice_become_one(table: HudiTable) -> None:
    change(table, [("a", False)], 2)
    change(table, [("a", False), ("d", False)], 3)
    change(table, [("b", True)], 4)
    times = [one.timestamp for one in table.refreshed().timeline.completed(Action.DELTA_COMMIT)][1:]
    before = everything(table)
    assert "are 3, 4 make a log compaction due" in str(log_compact(table, 4).reason)
    done = log_compact(table, 3)
    assert (done.state, done.action, done.records_out, done.deletes) == (JobState.COMPLETED, "log compaction", 2, 1)
    assert everything(table) == before
    (one,) = table.refreshed().file_slices()
    assert len(one.log_files) == 4
    with table.storage.open_input(f"{table.base_path}/{one.log_files[-1].relative_path}") as file:
        blocks = list(read_blocks(file))
    assert {block.instant for block in blocks} == {done.instant}
    assert [block.compacted_instants for block in blocks] == [tuple(reversed(times))] * 2
    metadata = table.refreshed().timeline.commit_metadata(
        table.refreshed().timeline.completed(Action.DELTA_COMMIT)[-1], SYSTEM_CLOCK
    )
    assert (metadata.operation_type, metadata.compacted) == (OperationType.LOG_COMPACT, True)
    (stat,) = metadata.write_stats
    assert (stat.total_log_blocks, stat.total_log_files_compacted, stat.total_log_records) == (3, 3, 3)
    change(table, [("a", False)], 5)
    again = log_compact(table, 1)
    newest = table.refreshed().file_slices()[0].log_files[-1]
    with table.storage.open_input(f"{table.base_path}/{newest.relative_path}") as file:
        assert next(iter(read_blocks(file))).compacted_instants[1:] == (done.instant,)
    assert again.state is JobState.COMPLETED
    assert contents(table)[0][:2] == ("a", 5)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(CHANGES, min_size=1, max_size=3), st.lists(CHANGES, max_size=2), CHANGES)
def test_no_query_changes(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[list[Change]],
    second: list[list[Change]],
    last: list[Change],
) -> None:
    plain = new_table(tmp_path_factory.mktemp("plain"), clock=SYSTEM_CLOCK)
    served = new_table(tmp_path_factory.mktemp("served"), clock=SYSTEM_CLOCK)
    for table in (plain, served):
        insert(table, "a", "b", "c")
    ordering = 2
    for some in (first, second, [last]):
        for changes in some:
            ordering += 1
            for table in (plain, served):
                change(table, changes, ordering)
        before = everything(served)
        log_compact(served)
        assert everything(served) == before
    compact(served)
    keys = [[(key, stamp) for key, stamp, _ in contents(table)] for table in (plain, served)]
    assert keys[0] == keys[1]


def test_a_later_compaction_makes_it_void(table: HudiTable) -> None:
    change(table, [("a", False)], 2)
    planned = log_compact(table, mode="schedule")
    compact(table)
    stood = table.refreshed().timeline.instants
    with pytest.raises(WriteConflictError, match=r"is void, \d+ commit \(completed\) came after it"):
        log_compact(table, mode="execute")
    assert table.refreshed().timeline.instants == stood
    before = everything(table)
    log_compact(table, mode="cancel", instant_time=planned.instant)
    assert not table.refreshed().timeline.pending({Action.LOG_COMPACTION})
    assert everything(table) == before


def test_a_copy_on_write_table_has_no_logs(root: Folder) -> None:
    made = new_table(root / "t", clock=SYSTEM_CLOCK, merge_on_read=False)
    with pytest.raises(ConfigError, match="it has no logs for log compaction"):
        log_compact(made)
