"""Faults that need a history: archived, restored, rolled back and half executed instants, made of Hudi's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import RESTORE_METADATA
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder
from tests.unit.services.validation.damage import data_files, findings, hasty, instant_file

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]


def archived(base: Folder, count: int) -> tuple[Instant, ...]:
    """The oldest completed writes, moved to the archive as a service does it."""
    table = base.table()
    instants = table.timeline.completed_commits()[:count]
    archive(table.timeline, table.base_path, instants)
    return instants


def without_listing(found: Sequence[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    return [one for one in found if one[0] != 9]


def test_a_table_stays_sound_when_instants_are_archived(unpack: Unpack) -> None:
    base = unpack("log_tables/logs_avro")
    archived(base, 2)
    assert findings(base, deep=True) == []


def test_archival_that_went_past_the_metadata_table(unpack: Unpack) -> None:
    """What its logs hold of an instant that is no longer on the active timeline does not count."""
    base = unpack("tables/cow_upserts")
    gone = {one.timestamp for one in archived(base, 2)}
    lost = [path for path in data_files(base) if any(time in path for time in gone)]
    assert findings(base, deep=True) == [(9, "ERROR", path) for path in sorted(lost)]


def test_a_file_of_an_archived_commit_that_readers_need(unpack: Unpack) -> None:
    """Only a deep validation reads what archived commits wrote."""
    base = unpack("tables/cow_upserts")
    first = archived(base, 1)[0].timestamp
    path = next(path for path in data_files(base) if first in path)
    (base / path).unlink()
    assert without_listing(findings(base)) == []
    assert without_listing(findings(base, deep=True)) == [(6, "ERROR", path)]


def test_an_archive_that_lost_the_commit_of_a_file(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    archived(base, 1)
    for one in base.glob(".hoodie/archived/.commits_.archive.*"):
        one.unlink()
    (found,) = [one for one in validate(str(base), lake=hasty(base)) if one.invariant == 8]
    assert found.path.startswith(".hoodie/")
    assert "is neither on the active nor on the archived timeline" in found.what


def test_two_base_files_of_an_archived_slice(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    first = archived(base, 1)[0].timestamp
    path = next(path for path in data_files(base) if first in path)
    file_id, _, rest = path.split("_")
    twin = f"{file_id}_9-9-9_{rest}"
    (base / path).copy_to(base / twin)
    assert (7, "WARNING", twin) in findings(base)
    assert [one for one in findings(base) if one[0] == 5] == []


def test_an_instant_that_was_archived_as_another(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    time = archived(base, 1)[0].timestamp
    (base / ".hoodie" / f"{time}.replacecommit.requested").touch()
    assert (3, "ERROR", f".hoodie/{time}.replacecommit") in findings(base)


def test_an_archived_entry_that_is_unreadable(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    archived(base, 1)
    file = next(base.glob(".hoodie/archived/.commits_.archive.*"))
    data = file.read_bytes()
    file.write_bytes(data.replace(b"UPSERT", b"UPSORT").replace(b"INSERT", b"INSORT"))
    assert (8, "ERROR", ".hoodie/archived") in findings(base, deep=True)


def test_archival_that_went_past_what_the_last_clean_retains(unpack: Unpack) -> None:
    base = unpack("tables/cow_clustered")
    table = base.table()
    (clean,) = table.timeline.completed(Action.CLEAN)
    retained = table.timeline.payload(clean, table.clock)["earliestCommitToRetain"]
    archived(base, sum(one.timestamp <= retained for one in table.timeline.completed_commits()))
    assert (8, "WARNING", ".hoodie/archived") in findings(base)


def test_files_of_what_a_restore_took_back_are_orphans(unpack: Unpack) -> None:
    """The restore says that the commit is gone; a file of it that is still there is no longer anyone's."""
    base = unpack("tables/cow_upserts")
    last = instant_file(base, ".commit").name.split(".")[0]
    for one in (*base.glob(f".hoodie/{last}.*"), *base.glob(f".hoodie/metadata/.hoodie/{last}.*")):
        one.unlink()
    raw: dict[str, Any] = {
        "startRestoreTime": "20991231000000000",
        "timeTakenInMillis": 1,
        "instantsToRollback": [last],
        "hoodieRestoreMetadata": {},
        "version": 1,
        "restoreInstantInfo": [],
    }
    (base / ".hoodie" / "20991231000000000.restore").write_bytes(encode_payload(RESTORE_METADATA, raw))
    for state in ("requested", "inflight"):
        (base / ".hoodie" / f"20991231000000000.restore.{state}").touch()
    orphans = [path for path in data_files(base) if last in path]
    assert orphans
    assert findings(base) == [(7, "WARNING", path) for path in sorted(orphans)]


def test_a_clean_that_nobody_can_read_excuses_nothing(unpack: Unpack) -> None:
    base = unpack("tables/cow_clustered")
    for name in (".clean", ".clean.requested"):
        instant_file(base, name).write_bytes(b"no Avro")
    found = findings(base)
    assert [one for one in found if one[:2] == (6, "ERROR")]
    assert [one for one in found if one[0] == 3 and one[2].endswith(".clean")]


def test_a_log_file_that_readers_take_for_archived(unpack: Unpack) -> None:
    """Its block is of an instant older than the active timeline, which the archive does not have."""
    base, other = unpack("tables/archived"), unpack("log_tables/logs_avro")
    path = data_files(other, ".log.")[0]
    live = base.table().view().latest_slices()[0]
    name = f".{live.file_id}_{live.base_instant}.log.9_0-1-1"
    (base / live.partition / name).write_bytes((other / path).read_bytes())
    assert (7, "ERROR", f"{live.partition}/{name}") in findings(base)


def test_a_partition_that_the_metadata_table_does_not_list(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    time = instant_file(base, ".commit").name.split(".")[0]
    folder, old = base / "new", data_files(base)[-1]
    folder.mkdir()
    (base / old.split("/")[0] / ".hoodie_partition_metadata").copy_to(folder / ".hoodie_partition_metadata")
    name = f"00000000-aaaa-0_0-1-1_{time}.parquet"
    (base / old).copy_to(folder / name)
    commit = instant_file(base, ".commit")
    raw = json.loads(commit.read_text())
    raw["partitionToWriteStats"]["new"] = [{"fileId": "00000000-aaaa-0", "path": f"new/{name}", "partitionPath": "new"}]
    commit.write_text(json.dumps(raw))
    assert findings(base) == [(9, "ERROR", ".hoodie/metadata/files"), (9, "ERROR", f"new/{name}")]


def test_rows_around_a_compaction_that_can_not_be_read(unpack: Unpack) -> None:
    base = unpack("tables/mor_logs")
    table = base.table()
    (compaction,) = table.timeline.completed(Action.COMMIT)
    stat = table.timeline.commit_metadata(compaction, table.clock).write_stats[0]
    (base / str(stat.path)).write_bytes(b"PAR1")
    found = {(one.invariant, one.path) for one in validate(str(base), deep=True, lake=hasty(base))}
    assert (1, stat.path) in found
    assert (5, stat.path) in found


def test_a_file_of_a_pending_clustering_is_gone(unpack: Unpack) -> None:
    """Hudi's finished clustering made pending again, its inputs cleaned."""
    base = unpack("tables/cow_clustered")
    instant_file(base, ".replacecommit").unlink()
    assert [one for one in findings(base) if one[:2] == (6, "ERROR")]
