"""Cleaning beside live writers, and after cleans that died: of Hudi too, which writes its files in several steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.files.names import PARTITION_METAFILE
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.storage import Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import CLEANER_PLAN
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.cleaning.execute import remove_partition
from spark_jobs.services.cleaning.job import run_cleaning
from tests.support.folder import Folder, file_at
from tests.support.jobs import job_context
from tests.support.through import Through
from tests.unit.core.support import complete, new_table, next_time, start
from tests.unit.services.by_hand import overwrite

pytestmark = pytest.mark.unit


def clean(table: HudiTable, retained: int = 1) -> JobResult:
    conf = {"hoodie.cleaner.commits.retained": str(retained), "hoodie.clean.max.commits": "1"}
    return run_cleaning(CleanOptions(base_path=table.base_path, hoodie_conf=conf), job_context(lake=table.lake))


def delete_partition(table: HudiTable, partition: str) -> None:
    table = table.refreshed()
    time = next_time(table)
    old = tuple(one.file_id for one in table.view([partition]).latest_slices())
    work = start(table, time, Action.REPLACE_COMMIT)
    complete(table, work, [], OperationType.DELETE_PARTITION, {partition: old})


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    overwrite(made)
    return made


def test_a_partition_without_files_goes_with_its_directory(table: HudiTable) -> None:
    """Hudi leaves a checksum beside each file of a local disk, from where a table may have been copied."""
    overwrite(table, "q/1")
    file_at(table.storage, table.base_path, "q/1", f".{PARTITION_METAFILE}.crc").write_bytes(b"of Hudi")
    delete_partition(table, "q/1")
    overwrite(table)
    assert clean(table).state is JobState.COMPLETED
    assert table.refreshed().partitions() == ["p"]
    assert not file_at(table.storage, table.base_path, "q/1").exists()


class Overtaken(Through):
    """Another process's writer makes its file when the metafile of the partition was just deleted."""

    def __init__(self, inner: Storage, *, with_metafile: bool) -> None:
        super().__init__(inner)
        self.with_metafile = with_metafile

    def delete(self, path: str) -> bool:
        done = self.inner.delete(path)
        folder = file_at(self.inner, path).parent
        (folder / "g-0_0-1-1_9.parquet").write_bytes(b"rows")
        if self.with_metafile:
            ensure_partition_metafile(self.inner, str(folder.parent), folder.name, "9")
        return done


@pytest.mark.parametrize("with_metafile", [False, True])
def test_a_file_that_a_writer_makes_meanwhile_stays_with_its_partition(table: HudiTable, with_metafile: bool) -> None:
    ensure_partition_metafile(table.storage, table.base_path, "q", "8")
    overtaken = replace(table, storage=Overtaken(table.storage, with_metafile=with_metafile))
    remove_partition(overtaken, "q")
    assert file_at(table.storage, table.base_path, "q", "g-0_0-1-1_9.parquet").read_bytes() == b"rows"
    text = file_at(table.storage, table.base_path, "q", PARTITION_METAFILE).read_text()
    assert f"commitTime={9 if with_metafile else 8}" in text


def test_a_partition_with_files_is_not_touched(table: HudiTable) -> None:
    before = sorted(file_at(table.storage, table.base_path, "p").iterdir())
    remove_partition(table, "p")
    assert sorted(file_at(table.storage, table.base_path, "p").iterdir()) == before


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_completed_clean_that_is_empty_or_torn_does_not_block_the_next(table: HudiTable, share: float) -> None:
    overwrite(table)
    overwrite(table)
    assert clean(table).state is JobState.COMPLETED
    (done,) = table.refreshed().timeline.completed(Action.CLEAN)
    path = file_at(table.storage, table.timeline.path(done))
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert "0 commit(s) since the last clean" in str(clean(table).reason)
    overwrite(table)
    assert clean(table).state is JobState.COMPLETED


@pytest.mark.usefixtures("hasty")
def test_without_any_readable_clean_the_next_is_due(table: HudiTable) -> None:
    overwrite(table)
    overwrite(table)
    clean(table)
    (done,) = table.refreshed().timeline.completed(Action.CLEAN)
    for state in (State.REQUESTED, State.COMPLETED):
        file_at(table.storage, table.timeline.path(done.at(state))).write_bytes(b"")
    assert "no file group has a slice older" in str(clean(table).reason)


@pytest.mark.parametrize("state", [State.REQUESTED, State.INFLIGHT])
def test_a_pending_clean_without_a_plan_is_removed(table: HudiTable, state: State) -> None:
    overwrite(table)
    overwrite(table)
    line = table.refreshed().timeline
    left = request(line, "20240101000000009", Action.CLEAN)
    if state is State.INFLIGHT:
        transition(line, left, State.INFLIGHT, b"")
    assert clean(table).state is JobState.COMPLETED
    cleans = [one for one in table.refreshed().timeline.instants if one.action is Action.CLEAN]
    assert [one.state for one in cleans] == [State.COMPLETED]
    assert cleans[0].timestamp != "20240101000000009"
    assert not list(file_at(line.storage, line.folder).glob("20240101000000009*"))


def test_the_result_carries_what_the_plan_says_besides(table: HudiTable) -> None:
    overwrite(table)
    line = table.refreshed().timeline
    plan = {
        "earliestInstantToRetain": None,
        "lastCompletedCommitTimestamp": "",
        "policy": "KEEP_LATEST_COMMITS",
        "filesToBeDeletedPerPartition": {},
        "version": 2,
        "filePathsToBeDeletedPerPartition": {},
        "partitionsToBeDeleted": [],
        "extraMetadata": {"savepointed_timestamps": "20240101000000001"},
    }
    request(line, "20240101000000009", Action.CLEAN, encode_payload(CLEANER_PLAN, plan))
    finished = clean(table)
    assert (finished.state, finished.instant) == (JobState.COMPLETED, "20240101000000009")
    done = Instant("20240101000000009", Action.CLEAN, State.COMPLETED)
    assert table.refreshed().timeline.payload(done, SYSTEM_CLOCK)["extraMetadata"] == plan["extraMetadata"]


def test_a_table_that_is_not_written_is_not_cleaned(root: Folder) -> None:
    table = new_table(root / "t", properties={"hoodie.table.cdc.enabled": "true"})
    with pytest.raises(UnsupportedTableError, match=r"hoodie\.table\.cdc\.enabled=true, .*does not write"):
        run_cleaning(CleanOptions(base_path=table.base_path, dry_run=True), job_context(lake=root.lake))
