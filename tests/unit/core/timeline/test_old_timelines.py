"""Timelines as releases before 0.14 leave them: 14 digits, one file an instant, plans in the folder ``.aux``."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import COMPACTION_PLAN
from spark_jobs.core.view.pending import read_pending_services
from tests.support.folder import Folder
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

PLAN = {
    "operations": [
        {
            "baseInstantTime": "20180101000000",
            "fileId": "f",
            "partitionPath": "2018/01/01",
            "deltaFilePaths": ["/t/2018/01/01/x"],
        }
    ],
    "version": 1,
}


@pytest.fixture
def folder(root: Folder) -> Folder:
    """In the oldest layout the file of an instant is renamed from state to state."""
    for name in (
        "20180101000000.commit",
        "20180101000100.deltacommit",
        "20180101000200.clean",
        "20180101000300.compaction.inflight",
        "20180101000400.deltacommit.inflight",
        "20180101000500.inflight",
        "20180101000600.rollback",
        "20180101000100.savepoint",
        "20180101000700.restore.inflight",
        "hoodie.properties",
        ".20180101000000.commit.crc",
        "20180101000800.commit.tmp",
    ):
        (root / name).touch()
    (root / ".aux").mkdir()
    return root


def load(folder: Folder) -> ActiveTimeline:
    return ActiveTimeline.load(folder.storage, str(folder), str(folder / "archived"), format=VERSION_6)


def test_every_name_is_understood(folder: Folder) -> None:
    assert [str(one) for one in load(folder).instants] == [
        "20180101000000 commit (completed)",
        "20180101000100 deltacommit (completed)",
        "20180101000100 savepoint (completed)",
        "20180101000200 clean (completed)",
        "20180101000300 compaction (inflight)",
        "20180101000400 deltacommit (inflight)",
        "20180101000500 commit (inflight)",
        "20180101000600 rollback (completed)",
        "20180101000700 restore (inflight)",
    ]


def test_the_plan_of_a_compaction_is_found_where_its_requested_file_was_renamed(folder: Folder) -> None:
    (folder / ".aux" / "20180101000300.compaction.requested").write_bytes(encode_payload(COMPACTION_PLAN, PLAN))
    timeline = load(folder)
    assert read_pending_services(timeline, HandClock()).compaction == {("2018/01/01", "f"): "20180101000300"}


def test_the_timeline_comes_before_the_copy(folder: Folder) -> None:
    (folder / "20180101000300.compaction.requested").write_bytes(encode_payload(COMPACTION_PLAN, PLAN))
    (folder / ".aux" / "20180101000300.compaction.requested").write_bytes(b"an older copy")
    instant = Instant("20180101000300", Action.COMPACTION, State.INFLIGHT)
    assert load(folder).plan(instant, HandClock())["operations"][0]["fileId"] == "f"


def test_a_plan_that_is_nowhere_is_an_error(folder: Folder) -> None:
    instant = Instant("20180101000300", Action.COMPACTION, State.INFLIGHT)
    with pytest.raises(StorageError, match=r"20180101000300\.compaction\.requested"):
        load(folder).plan(instant, HandClock())


def test_an_archive_beside_the_timeline_counts(folder: Folder) -> None:
    assert load(folder).start == ""
    (folder / ".commits_.archive.1").touch()
    assert load(folder).start == "20180101000000"
