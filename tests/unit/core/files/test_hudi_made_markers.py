"""Dead writes of Hudi's with all their files and markers (``tests/fixtures/make_marker_tables.py``), undone by us."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.files.markers import BATCHED, TYPE_FILE, marker_folder, read_markers
from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.storage import join
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.services.rollback.execute import requests_for_pending
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.validation.run import validate
from tests import hudi_tables
from tests.support.folder import Folder, file_at, read_parquet

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "marker_tables"
NAMES = pytest.mark.parametrize("name", ["direct_base", "direct_logs", "batched_base", "batched_logs"])


@pytest.fixture
def open_table(root: Folder) -> Callable[[str], HudiTable]:
    return lambda name: hudi_tables.unpack(f"marker_tables/{name}", root).table()


def dead_write(table: HudiTable) -> Instant:
    (found,) = table.timeline.pending_writes()
    return found


def markers_of(table: HudiTable) -> list[Marker]:
    found = read_markers(table.storage, table.base_path, dead_write(table).timestamp)
    assert found is not None
    return found


def data_files(table: HudiTable) -> set[str]:
    base = file_at(table.storage, table.base_path)
    found = (str(one.relative_to(base)) for one in base.walk())
    return {one for one in found if not one.startswith(".hoodie/") and ".hoodie_partition_metadata" not in one}


def planned_by_hudi(name: str) -> tuple[set[str], set[str]]:
    """Relative paths that Hudi's own rollback of this very write deleted, and of logs that it took blocks back from."""
    plan = json.loads((TABLES / f"{name}.rollback.json").read_text(encoding="utf-8"))
    return set(plan["deleted"]), set(plan["cancelled"])


def assert_hudis_answer(table: HudiTable, name: str) -> None:
    wanted = read_parquet(TABLES / f"{name}.snapshot.parquet")
    everything = table.scan().to_arrow().sort_by("_hoodie_record_key")
    assert set(everything.column_names) == set(wanted.column_names)
    found = everything.select(wanted.column_names)  # Hudi has the partition columns last
    assert found.schema.types == wanted.schema.types
    assert found.to_pylist() == wanted.to_pylist()
    assert found.num_rows == 10


@NAMES
def test_markers_name_the_files_of_the_dead_write(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    target, markers = dead_write(table), markers_of(table)
    assert target.state is State.INFLIGHT
    commits = table.timeline.completed_commits()
    stats = [stat for one in commits for stat in table.timeline.commit_metadata(one, table.clock).write_stats]
    marked = [one.data_path for one in markers]
    assert sorted(marked) == sorted(data_files(table) - written_paths(stats))
    kinds = {one.partition: one.kind for one in markers}
    update = MarkerType.APPEND if name.endswith("logs") else MarkerType.MERGE
    assert kinds == {"a": update, "b/c": MarkerType.MERGE, "new": MarkerType.CREATE}

    type_file = file_at(table.storage, marker_folder(table.base_path, target.timestamp), TYPE_FILE)
    assert type_file.is_file() == name.startswith("batched")
    assert not type_file.is_file() or type_file.read_text() == BATCHED


@NAMES
def test_nothing_of_the_dead_write_is_visible(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    assert_hudis_answer(table, name)
    bases = {one.base_file.relative_path for one in table.file_slices() if one.base_file is not None}
    assert len(bases) == 2
    assert not bases & {one.data_path for one in markers_of(table)}


@NAMES
def test_our_rollback_takes_what_hudis_took(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    settings = table.transaction_settings({"hoodie.write.lock.wait_time_ms": "2000"})
    target, before = dead_write(table), data_files(table)
    deleted, cancelled = planned_by_hudi(name)
    requests = requests_for_pending(settings, target)
    assert {join(one.partition, path) for one in requests for path in one.delete} == deleted
    assert {join(one.partition, path) for one in requests for path in one.cancel} == cancelled

    ((rolled_back, _),) = roll_back_failed_writes(settings)
    assert rolled_back == target.timestamp
    table = table.refreshed()
    assert before - data_files(table) == deleted
    commands = data_files(table) - before
    assert {path.rpartition("/")[0] for path in commands} == {path.rpartition("/")[0] for path in cancelled}
    assert len(commands) == len(cancelled)
    assert table.timeline.pending_writes() == ()
    assert not file_at(table.storage, marker_folder(table.base_path, target.timestamp)).exists()
    assert_hudis_answer(table, name)
    assert [str(one) for one in validate(table, deep=True)] == []
    assert roll_back_failed_writes(settings) == []
