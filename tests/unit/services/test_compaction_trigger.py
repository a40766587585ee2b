"""When a compaction is due: literal timelines."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.keys.compact import CompactionTrigger
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.services.compaction.trigger import TriggerSettings, why_not_due
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

NUM, AFTER_REQUEST, TIME = (
    CompactionTrigger.NUM_COMMITS,
    CompactionTrigger.NUM_COMMITS_AFTER_LAST_REQUEST,
    CompactionTrigger.TIME_ELAPSED,
)
BOTH, EITHER = CompactionTrigger.NUM_AND_TIME, CompactionTrigger.NUM_OR_TIME
NOW = "20260101100000000"
"""Ten o'clock; the instants below are minutes past nine."""


@pytest.mark.parametrize(
    ("strategy", "instants", "commits", "seconds", "reason"),
    [
        (NUM, "", 1, 1, "the table has no delta commit"),
        (NUM, "01.deltacommit 02.deltacommit", 2, 1, None),
        (NUM, "01.deltacommit 02.deltacommit", 3, 1, "2 delta commit(s) since the last compaction, 3 make it due"),
        (NUM, "01.deltacommit 02.deltacommit.inflight", 2, 1, "1 delta commit(s) since the last compaction"),
        (NUM, "01.commit 02.deltacommit.inflight 03.deltacommit.requested", 1, 1, "0 delta commit(s) since the last"),
        (AFTER_REQUEST, "01.commit 02.compaction.requested 03.deltacommit.inflight", 1, 1, "0 delta commit(s) since"),
        (NUM, "01.deltacommit 02.commit 03.deltacommit", 2, 1, "1 delta commit(s) since the last compaction"),
        (NUM, "01.deltacommit 02.compaction.requested 03.deltacommit", 2, 1, None),
        (AFTER_REQUEST, "01.deltacommit 02.compaction.requested 03.deltacommit", 2, 1, "1 delta commit(s) since"),
        (AFTER_REQUEST, "01.deltacommit 02.commit 03.deltacommit 04.deltacommit", 2, 1, None),
        (AFTER_REQUEST, "01.deltacommit", 1, 1, None),
        (TIME, "30.deltacommit 50.deltacommit", 9, 1800, None),  # since the first; inclusive
        (TIME, "30.deltacommit 50.deltacommit", 9, 1801, "1800 second(s) since 20260101093000000 deltacommit"),
        (TIME, "10.deltacommit 50.commit 55.deltacommit", 1, 601, "600 second(s) since 20260101095000000 commit"),
        (BOTH, "30.deltacommit 50.deltacommit", 2, 1800, None),
        (BOTH, "30.deltacommit 50.deltacommit", 3, 1800, "2 delta commit(s)"),
        (BOTH, "30.deltacommit 50.deltacommit", 3, 1900, "make it due (hoodie.compact.inline.max.delta.seconds)"),
        (EITHER, "30.deltacommit 50.deltacommit", 3, 1800, None),
        (EITHER, "30.deltacommit 50.deltacommit", 2, 1900, None),
        (EITHER, "30.deltacommit 50.deltacommit", 3, 1900, "; 1800 second(s) since"),
    ],
)
def test_due(
    root: Folder, strategy: CompactionTrigger, instants: str, commits: int, seconds: int, reason: str | None
) -> None:
    for name in instants.split():
        (root / f"2026010109{name[:2]}00000{name[2:]}").touch()
    timeline = ActiveTimeline.load(root.storage, str(root), str(root / "archived"), format=VERSION_6)
    settings = TriggerSettings(strategy=strategy, delta_commits=commits, delta_seconds=seconds)
    found = why_not_due(timeline, settings, NOW)
    assert (found is None) == (reason is None), found
    assert (reason or "") in (found or "")
