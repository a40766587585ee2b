"""Health of tables that real Hudi wrote, and ``health.py`` as its caller sees it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.health import HealthOptions
from spark_jobs.services.health.facts import Health
from spark_jobs.services.health.job import run_health
from spark_jobs.services.health.measure import measure
from tests import hudi_tables
from tests.support.folder import Folder
from tests.unit.services.bootstrap.sources import bootstrap, make_source

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "tables"
Unpack = Callable[[str], Folder]


@pytest.fixture
def unpack(root: Folder) -> Unpack:
    return lambda name: hudi_tables.unpack(f"tables/{name}", root)


def look(base: Folder, lists_storage: bool = False, footers: bool = False, **properties: str) -> Health:
    table = base.table(lists_storage=lists_storage)
    given = {f"hoodie.{name.replace('_', '.')}": value for name, value in properties.items()}
    return measure(table, given, 24, Progress.silent("health"), footers=footers)


@pytest.mark.parametrize("name", ["cow_upserts", "cow_clustered", "mor_logs", "mor_pending_compaction", "archived"])
def test_counts_are_those_of_the_storage(name: str, unpack: Unpack) -> None:
    base = unpack(name)
    found = look(base)
    slices = base.table(lists_storage=True).file_slices()
    bases = [base / one.base_file.relative_path for one in slices if one.base_file]
    logs = [base / log.relative_path for one in slices for log in one.log_files]
    assert (found.groups, found.base_files, found.logs) == (len(slices), len(bases), len(logs))
    assert found.base_bytes == sum(one.size for one in bases)
    assert found.log_bytes == sum(one.size for one in logs)
    assert sum(one.files for one in found.sizes) == len(bases)
    data = [one for one in base.walk() if "/.hoodie/" not in one.url and not one.name.endswith((".crc", "_metadata"))]
    assert found.history_files == len(data) - len(bases) - len(logs)
    assert found.history_bytes == sum(one.size for one in data) - found.base_bytes - found.log_bytes
    assert look(base, lists_storage=True).base_bytes == found.base_bytes


def test_rows_that_stay_in_their_source_count_with_their_skeletons(root: Folder) -> None:
    source = make_source(root / "source", hive=False)
    bootstrap(root / "t", source)
    sources = sum(one.size for one in source.glob("[!.]*/*.parquet"))
    skeletons = sum(one.size for one in (root / "t").glob("*/*.parquet"))
    found = look(root / "t")
    assert (found.base_files, found.base_bytes, found.history_bytes) == (4, sources + skeletons, 0)
    assert (
        sum(one.bytes for one in found.sizes) == sum(one.bytes for one in found.largest_partitions) == found.base_bytes
    )


def test_rows_are_counted_when_footers_are_asked_for(unpack: Unpack) -> None:
    base = unpack("cow_upserts")
    assert look(base).rows is None
    assert look(base, footers=True).rows == pq.read_metadata(TABLES / "cow_upserts.snapshot.parquet").num_rows


def test_how_far_services_are_behind(unpack: Unpack) -> None:
    found = look(unpack("mor_pending_compaction"))
    assert (found.commits_since_compaction, found.limits.compact_after) == (4, 5)
    assert (found.commits_kept, found.clean_due, found.last_clean) == (4, 11, "")
    (one,) = found.pending
    assert (one.action, one.state, one.alive, one.overdue) == ("compaction", "requested", False, False)
    cleaned = look(unpack("cow_clustered"))
    assert cleaned.last_clean
    assert cleaned.commits_since_compaction is None


def test_limits_come_from_the_properties(unpack: Unpack) -> None:
    base = unpack("cow_upserts")
    assert look(base).small_files == 2
    limits = look(
        base,
        parquet_small_file_limit="1000",
        cleaner_commits_retained="1",
        keep_max_commits="3",
        keep_min_commits="2",
        cleaner_policy="KEEP_LATEST_FILE_VERSIONS",
        cleaner_fileversions_retained="2",
    )
    assert limits.small_files == 0
    assert (limits.limits.retained, limits.limits.keep_commits) == ("KEEP_LATEST_FILE_VERSIONS 2", 3)
    assert look(base, cleaner_commits_retained="1").cleanable_files > 0


def test_leftovers_of_data_are_looked_for_on_storage_alone(unpack: Unpack) -> None:
    base = unpack("cow_upserts")
    live = next(base.glob("1/*.parquet"))
    orphan = live.with_name(live.name.rsplit("_", 1)[0] + "_20991231000000000.parquet")
    orphan.write_bytes(live.read_bytes())
    markers = base / ".hoodie" / ".temp" / "20200101000000000"
    markers.mkdir()
    (markers / "x.parquet.marker.CREATE").touch()
    assert (look(base).leftovers.files, look(base).leftovers.marker_folders) == (None, 1)
    found = look(base, lists_storage=True).leftovers
    assert (found.files, found.bytes) == (1, live.size)
    assert f"1/{orphan.name}" in found.paths


def test_an_instant_past_its_deadline(unpack: Unpack) -> None:
    base = unpack("mor_pending_compaction")
    requested = next(base.glob(".hoodie/*.compaction.requested"))
    requested.date(requested.modified_ms - 25 * 3_600_000)
    assert look(base).pending[0].overdue


def test_a_damaged_metadata_table_is_a_finding_not_an_error(unpack: Unpack) -> None:
    base = unpack("cow_upserts")
    (base / ".hoodie" / "metadata" / ".hoodie").remove()
    found = look(base)
    assert found.metadata is not None
    assert found.metadata.fault


def test_the_job_leaves_the_table_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = hudi_tables.unpack("tables/mor_logs", tmp_path)
    before = digest(base)
    picture, result = tmp_path / "out" / "health.svg", tmp_path / "result.json"
    words = [f"--base-path={base}", f"--picture={picture}", f"--result-file={result}"]
    assert run_job(run_health, HealthOptions, words) == 0
    printed = capsys.readouterr()
    assert "mor_logs  MERGE_ON_READ" in printed.err
    found = json.loads(printed.out.splitlines()[-1])
    assert found == json.loads(result.read_text())
    assert found["extra"]["health"]["base_files"] == 2
    assert picture.read_text().startswith("<svg ")
    assert digest(base) == before
    picture.unlink()
    assert run_job(run_health, HealthOptions, [*words, "--dry-run"]) == 0
    printed = capsys.readouterr()
    shown = json.loads(printed.out.splitlines()[-1])
    assert (shown["state"], shown["plan"]) == ("DRY_RUN", {"text": True, "picture": str(picture)})
    assert (shown["extra"], picture.exists()) == (found["extra"], False)
    assert "MERGE_ON_READ" not in printed.err
    inside = base / ".hoodie" / "hoodie.properties"
    assert run_job(run_health, HealthOptions, [f"--base-path={base}", f"--picture={inside}"]) == 2
    assert digest(base) == before
    capsys.readouterr()
    assert run_job(run_health, HealthOptions, [*words, "--json"]) == 0
    assert "MERGE_ON_READ, version" not in capsys.readouterr().err


def test_no_table_ends_with_5(tmp_path: Path) -> None:
    assert run_job(run_health, HealthOptions, [f"--base-path={tmp_path}"]) == 5


def test_hours_below_zero_are_refused() -> None:
    with pytest.raises(OptionsError, match="--overdue-hours=-1 is not valid: give 0 or more"):
        HealthOptions(base_path="/t", overdue_hours=-1)


def test_an_empty_table(root: Folder) -> None:
    HudiTable.create(str(root / "t"), name="t", record_key_fields=["id"], lake=root.lake)
    found = look(root / "t")
    assert (found.partitions, found.groups, found.skew, found.log_share) == (0, 0, 1.0, 0.0)


def digest(path: Path) -> dict[str, str]:
    return {str(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in path.rglob("*") if one.is_file()}
