"""Health names the job that helps: with the numbers that the job itself goes by, and on damaged tables too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.v6.file_names import parse_log_file_name
from spark_jobs.core.format.v6.instant_names import parse_instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rewriting import requested_overwrite
from spark_jobs.engine.job import run_job
from spark_jobs.engine.progress import Progress
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.health import HealthOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.health.advice import Advice, advise
from spark_jobs.services.health.facts import Health
from spark_jobs.services.health.job import run_health
from spark_jobs.services.health.measure import measure
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.remedy import remedy_of
from spark_jobs.services.validation.run import validate
from tests import hudi_tables
from tests.faults import local_table as local
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.support.payloads import stored

pytestmark = pytest.mark.unit

QUIET = Progress.silent("health")
OLD = "20991231000000000"
Unpack = Callable[[str], Folder]


@pytest.fixture
def unpack(root: Folder) -> Unpack:
    return lambda name: hudi_tables.unpack(name, root / name.split("/")[1])


def look(base: Folder, lists_storage: bool = False, **conf: str) -> tuple[Health, tuple[Advice, ...]]:
    properties = {f"hoodie.{name.replace('_', '.')}": value for name, value in conf.items()}
    found = measure(base.table(lists_storage=lists_storage), properties, 1, QUIET)
    return found, advise(found)


@pytest.fixture(scope="module")
def seven_commits(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """On the local disk, for all that look at it."""
    base = Folder(str(tmp_path_factory.mktemp("health"))) / "t"
    local.create(base, "COPY_ON_WRITE")
    for number in range(7):
        local.write(base, local.batch(0, 4, f"v{number}", number), f"key{number}")
    at_once = {"hoodie.metadata.compact.max.delta.commits": "1"}  # what it needs would be in the way else
    maintain_metadata_table(base.table().transaction_settings(at_once), at_once, print)
    return base


@pytest.mark.parametrize(("retained", "most", "is_due"), [("1", 3, True), ("6", 8, False)])
def test_archival_is_advised_where_the_job_would_archive(
    seven_commits: Folder, retained: str, most: int, is_due: bool
) -> None:
    """Cleaning that retains more raises both limits; what else is in the way counts too."""
    conf = {"cleaner_commits_retained": retained, "keep_min_commits": "2", "keep_max_commits": "3"}
    found, advice = look(seven_commits, **conf)
    given = tuple((f"hoodie.{name.replace('_', '.')}", value) for name, value in conf.items())
    done = run_archival(
        ArchiveOptions(base_path=str(seven_commits), hoodie_conf=given, dry_run=True),
        job_context(lake=seven_commits.lake),
    )
    assert found.archivable == done.extra.get("archived", 0)
    assert any(one.service == "archival" for one in advice) == bool(found.archivable) == is_due
    assert found.limits.keep_commits == most


def pending(base: Folder, name: str, content: bytes = b"") -> Folder:
    path = base / ".hoodie" / name
    path.write_bytes(content)
    path.date(1_577_836_800_000)
    return path


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("name", "service", "job"),
    [
        ("restore.requested", "restore", "restore.py"),
        ("indexing.requested", "indexing", "index.py"),
        ("rollback.requested", "rollback", "rollback.py"),
        ("commit.requested", "rollback", "rollback.py"),
        ("clean.requested", "cleaning", "clean.py"),
        ("compaction.requested", "compaction", "compact.py"),
        ("replacecommit.requested", "rollback", "rollback.py"),
    ],
)
def test_who_ends_what_is_pending(unpack: Unpack, name: str, service: str, job: str) -> None:
    base = unpack("tables/cow_upserts")
    content = stored(requested_overwrite()) if name.startswith("replace") else b""
    path = pending(base, f"{OLD}.{name}", content)
    line = base.table().timeline
    instant = parse_instant(path.name)
    assert isinstance(instant, Instant)
    found = remedy_of(line, instant, SYSTEM_CLOCK)
    assert (found.service, found.job.file) == (service, job)
    told = {one.todo for one in validate(str(base), overdue_hours=1, lake=base.lake) if one.invariant == 12}
    assert told == {found.todo}


def test_an_overwrite_that_died_is_no_clustering(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    pending(base, f"{OLD}.replacecommit.requested", stored(requested_overwrite()))
    _, (first, *_) = look(base)
    assert (first.service, first.job, first.urgent) == ("rollback", "rollback.py", True)


def test_a_clustering_that_is_pending(unpack: Unpack) -> None:
    base = unpack("tables/cow_clustered")
    line = base.table().timeline
    done = next(one for one in line.instants if one.action.value == "replacecommit")
    plan = (base / ".hoodie" / f"{done.timestamp}.replacecommit.requested").read_bytes()
    pending(base, f"{OLD}.replacecommit.requested", plan)
    found = look(base)[0].pending[0]
    assert (found.service, found.job) == ("clustering", "cluster.py")


def test_orphan_logs_count_where_the_storage_is_asked_for(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    log = sorted(base.glob("1/.*.log.*"))[-1]
    name = parse_log_file_name(log.name)
    assert name is not None
    stray = log.with_name(log.name.replace(f".log.{name.version}_", ".log.9_"))
    log.copy_to(stray)
    assert look(base)[0].leftovers.files in (0, None)
    found, advice = look(base, lists_storage=True)
    assert (found.leftovers.files, found.leftovers.bytes) == (1, stray.size)
    assert [(one.service, one.job) for one in advice if one.service == "leftovers"] == [("leftovers", "validate.py")]


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("table", "ending"),
    [
        ("tables/mor_pending_compaction", "compaction.requested"),
        ("tables/archived", "savepoint"),
        ("tables/cow_clustered", "replacecommit"),
    ],
)
@pytest.mark.parametrize("lists_storage", [False, True])
def test_a_file_that_is_unreadable_does_not_end_the_report(
    unpack: Unpack, table: str, ending: str, lists_storage: bool
) -> None:
    base = unpack(table)
    path = sorted((base / ".hoodie").glob(f"*.{ending}"))[-1]
    path.write_bytes(b"garbage")
    found, advice = look(base, lists_storage)
    assert found.base_files > 0
    assert path.name in found.faults[0]
    assert advice[0].job == "validate.py"


@pytest.mark.usefixtures("hasty")
def test_the_job_tells_of_an_unreadable_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = hudi_tables.unpack("tables/mor_pending_compaction", tmp_path)
    plan = next((base / ".hoodie").glob("*.compaction.requested"))
    plan.write_bytes(b"garbage")
    assert run_job(run_health, HealthOptions, [f"--base-path={base}"]) == 0
    assert f"{plan.name} is not an Avro container file" in capsys.readouterr().err


def test_who_only_reads_makes_no_settings_of_a_writer(root: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    base = root / "t"
    local.create(base, "MERGE_ON_READ")
    local.write(base, local.batch(0, 4, "one", 1), "first")
    local.begin_and_leave(base, local.batch(0, 4, "two", 2))

    def refuse(*given: object) -> None:
        raise AssertionError("a reader takes no lock and beats no heart")

    monkeypatch.setattr(HudiTable, "transaction_settings", refuse)
    health, _ = look(base, lists_storage=True)
    assert [one.alive for one in health.pending] == [True]
    assert validate(str(base), deep=True, lake=base.lake) == []
