"""Tables whose content leads out of their folder: nothing there is read, written or deleted (invariant 15)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.table_config import update_table_config
from spark_jobs.core.errors import OutsideTableError
from spark_jobs.core.metadata_table import scan
from spark_jobs.core.metadata_table.records import FileEntry
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import CLEANER_PLAN, ROLLBACK_PLAN
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, Where, as_folder, lake_of
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

DEAD, LATER = "20991231235958000", "20991231235959000"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound table of two partitions and two writes."""
    path = tmp_path_factory.mktemp("made") / "t"
    local.create(path, "COPY_ON_WRITE")
    for number in range(2):
        local.write(path, local.batch(0, 20, f"v{number}", number), f"k{number}")
    return path


def copied(made: Path, root: Folder) -> Folder:
    """A copy of it, beside a folder that is none of its business."""
    Folder(str(made)).copy_to(root / "t")
    (root / "victim").mkdir()
    (root / "victim" / "precious.txt").write_text("precious")
    return root / "t"


@pytest.fixture
def table(made: Path, root: Folder) -> Folder:
    return copied(made, root)


@pytest.fixture
def on_disk(made: Path, tmp_path: Path) -> Path:
    """Where there are links."""
    return copied(made, Folder(str(tmp_path))).local


def pending_write(table: Where) -> None:
    (table / ".hoodie" / f"{DEAD}.commit.requested").touch()
    (table / ".hoodie" / f"{DEAD}.inflight").touch()


def clean_plan(table: Where) -> None:
    plan = {
        "policy": "KEEP_LATEST_COMMITS",
        "filePathsToBeDeletedPerPartition": {
            "../victim": [{"filePath": "/x/precious.txt", "isBootstrapBaseFile": False}]
        },
        "partitionsToBeDeleted": ["../victim"],
    }
    (table / ".hoodie" / f"{LATER}.clean.requested").write_bytes(encode_payload(CLEANER_PLAN, plan))


def rollback_plan(table: Where) -> None:
    pending_write(table)
    request = {
        "partitionPath": "",
        "fileId": "x",
        "latestBaseInstant": "1",
        "filesToBeDeleted": ["../victim/precious.txt/.."],
    }
    plan = {"instantToRollback": {"commitTime": DEAD, "action": "commit"}, "RollbackRequests": [request]}
    (table / ".hoodie" / f"{LATER}.rollback.requested").write_bytes(encode_payload(ROLLBACK_PLAN, plan))


def markers(table: Where) -> None:
    pending_write(table)
    folder = table / ".hoodie" / ".temp" / DEAD
    folder.mkdir(parents=True)
    (folder / "MARKERS.type").write_text("TIMELINE_SERVER_BASED")
    (folder / "MARKERS0").write_text("../victim/precious.txt.marker.CREATE\n")


def linked_markers(table: Path) -> None:
    (table / ".hoodie" / ".temp").mkdir(exist_ok=True)
    (table / ".hoodie" / ".temp" / "20200101000000000").symlink_to(table.parent / "victim")


def link_in_markers(table: Path) -> None:
    pending_write(table)
    folder = table / ".hoodie" / ".temp" / DEAD
    folder.mkdir(parents=True)
    (folder / "a").symlink_to(table.parent / "victim")


def linked_partition(table: Path) -> None:
    shutil.move(table / "a", table.parent / "victim" / "a")
    (table / "a").symlink_to(table.parent / "victim" / "a")


def archive_folder(table: Where) -> None:
    one = as_folder(table).table()
    update_table_config(one.storage, one.base_path, {"hoodie.archivelog.folder": "../../victim"}, one.clock)


def write(table: Where) -> None:
    local.write(table, local.batch(0, 4, "n", 9), "n")


def archive(table: Where) -> None:
    run_archival(ArchiveOptions(base_path=str(table)), job_context(lake=lake_of(table)))


@pytest.mark.parametrize(
    ("spoil", "act", "says"),
    [
        (clean_plan, local.clean, rf"{LATER}\.clean\.requested names '\.\./victim'"),
        (rollback_plan, write, rf"{LATER}\.rollback\.requested names '\.\./victim/precious\.txt/\.\.'"),
        (markers, write, rf"\.temp/{DEAD}/MARKERS0 names '\.\./victim/precious\.txt'"),
        (archive_folder, archive, r"hoodie\.archivelog\.folder in .*hoodie\.properties names '\.\./\.\./victim'"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_what_leads_out_is_an_error(
    table: Folder, spoil: Callable[[Where], None], act: Callable[[Where], object], says: str
) -> None:
    leads_out(table, spoil, act, says)


@pytest.mark.parametrize(
    ("spoil", "act", "says"),
    [
        (linked_markers, write, r"\.temp/20200101000000000 is a link"),
        (link_in_markers, write, rf"\.temp/{DEAD}/a is a link"),
        (linked_partition, write, r"t/a is a link"),
        (linked_partition, local.clean, r"t/a is a link"),
        (linked_partition, local.rows_of, r"t/a is a link"),
    ],
    ids=lambda one: getattr(one, "__name__", None),
)
def test_a_link_that_leads_out_is_an_error(
    on_disk: Path, spoil: Callable[[Path], None], act: Callable[[Where], object], says: str
) -> None:
    leads_out(on_disk, spoil, act, says)


def leads_out(table: Any, spoil: Callable[[Any], None], act: Callable[[Where], object], says: str) -> None:
    spoil(table)
    victim = table.parent / "victim"
    before = sorted(victim.rglob("*"))
    with pytest.raises(OutsideTableError, match=says) as caught:
        act(table)
    assert caught.value.exit_code == 5
    assert "\n" not in str(caught.value)
    assert sorted(victim.rglob("*")) == before
    assert (victim / "precious.txt").read_text() == "precious"


def test_a_commit_that_names_files_elsewhere(table: Folder) -> None:
    commit = min((table / ".hoodie").glob("*.commit"))
    raw = json.loads(commit.read_text())
    stats = [stat for some in raw["partitionToWriteStats"].values() for stat in some]
    for stat in stats:
        stat["path"] = "../victim/" + stat["path"].rpartition("/")[2]
        stat["partitionPath"] = "../victim"
    raw["partitionToWriteStats"] = {"../victim": stats}
    commit.write_text(json.dumps(raw))
    timeline = table.table().timeline
    with pytest.raises(OutsideTableError, match=rf"^{commit.name} names '\.\./victim'"):
        timeline.commit_metadata(timeline.instants[0], SYSTEM_CLOCK)
    told = [one for one in validate(str(table), deep=True, lake=table.lake) if one.is_error]
    assert {one.path for one in told} >= {f".hoodie/{commit.name}"}
    assert any("'../victim', which is no path below the table" in one.what for one in told)


@pytest.mark.parametrize(
    ("key", "name"),
    [("__all_partitions__", "../victim"), ("__all_partitions__", "/"), ("../victim", "x"), ("a", "../x")],
)
def test_the_list_of_files_in_the_metadata_table(key: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The records as they come out of the files of the metadata table."""
    monkeypatch.setattr(scan, "read_records", lambda *arguments: {key: {name: FileEntry(1)}})
    with pytest.raises(OutsideTableError, match=r"^the list of files in the metadata table names "):
        scan.read_file_records(None)  # type: ignore[arg-type]


def test_a_table_in_a_linked_folder_is_sound(on_disk: Path) -> None:
    """Links above a table are its owner's."""
    link = on_disk.parent / "current"
    link.symlink_to(on_disk)
    before = len(local.rows_of(link))
    local.write(link, local.batch(100, 4, "n", 9), "n")
    assert len(local.rows_of(link)) == before + 4


@pytest.mark.parametrize("is_there", [True, False])
def test_a_guard_that_leads_out_empties_nothing(on_disk: Path, is_there: bool) -> None:
    """The file beside the lock in which a process names itself."""
    victim = on_disk.parent / "victim" / ("precious.txt" if is_there else "new")
    guard = on_disk / ".hoodie" / "lock.guard"
    guard.unlink(missing_ok=True)
    guard.symlink_to(victim)
    for act in (write, local.clean, archive):
        with pytest.raises(OutsideTableError, match=r"lock\.guard is a link") as caught:
            act(on_disk)
        assert caught.value.exit_code == 5
    assert [one.name for one in victim.parent.iterdir()] == ["precious.txt"]
    assert (victim.parent / "precious.txt").read_text() == "precious"


def test_a_guard_with_a_second_name_stays_as_it_is(on_disk: Path) -> None:
    victim, guard = on_disk.parent / "victim" / "precious.txt", on_disk / ".hoodie" / "lock.guard"
    guard.unlink(missing_ok=True)
    guard.hardlink_to(victim)
    write(on_disk)
    assert victim.read_text() == "precious"
