"""Writes that meet a pending clustering, and services inside a writer."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.conflict import Baseline, candidates
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.services.clustering.updates import settle_updates
from spark_jobs.services.inline import run_inline_services
from tests.faults import local_table as local
from tests.support.folder import Folder, file_at
from tests.unit.core.support import new_table
from tests.unit.services.by_hand import AT_ONCE, compact, everything, insert
from tests.unit.services.planned import cluster, update

pytestmark = pytest.mark.unit

ALLOW = {
    "hoodie.clustering.updates.strategy": "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
}
TAKE_BACK = {**ALLOW, "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "true"}


@pytest.fixture
def table(root: Folder) -> HudiTable:
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b")
    insert(made, "c")
    return made


def test_an_update_of_a_pending_clustering_is_rejected_allowed_or_takes_it_back(table: HudiTable) -> None:
    planned = cluster(table, mode="schedule").instant or ""
    now, told = table.refreshed(), list[str]()
    touched = [("p", one.file_id) for one in now.file_slices()]
    with pytest.raises(WriteConflictError, match=rf"is part of the pending clustering {planned} \(2 such file group"):
        settle_updates(now, AT_ONCE, touched, told.append)
    settle_updates(now, AT_ONCE, [("p", "another")], told.append)
    settle_updates(now, {**AT_ONCE, **ALLOW}, touched, told.append)
    assert [one.timestamp for one in table.refreshed().timeline.pending({Action.REPLACE_COMMIT})] == [planned]
    settle_updates(now, {**AT_ONCE, **TAKE_BACK}, touched, told.append)
    assert not table.refreshed().timeline.pending({Action.REPLACE_COMMIT})
    assert "gives way to this write" in told[0]


def test_a_clustering_that_was_overtaken_is_refused_before_it_works(table: HudiTable) -> None:
    planned = cluster(table, mode="schedule").instant or ""
    update(table, "a", 2)
    before = everything(table)
    stood = table.refreshed().timeline.instants
    for _ in range(3):
        with pytest.raises(WriteConflictError, match=rf"--mode cancel --instant-time {planned}"):
            cluster(table, mode="execute")
    assert table.refreshed().timeline.instants == stood  # requested still, and no rollback for each try
    assert everything(table) == before
    assert not [one for one in file_at(table.storage, table.base_path, "p").iterdir() if planned in one.name]
    cluster(table, mode="cancel", instant_time=planned)
    assert cluster(table).extra["groups"] == 2
    assert everything(table) == before


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_clustering_that_was_planned_beside_an_older_write_is_refused(
    root: Folder, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write is placed before the plan is made, and completed after it."""
    path = root / "t"
    made = local.create(path, kind)
    local.write(path, local.batch(0, 8, "old", 1), "first")
    planned = list[str]()
    to_inflight = Transaction.to_inflight

    def plan_first(transaction: Transaction, data: bytes = b"") -> None:
        monkeypatch.setattr(Transaction, "to_inflight", to_inflight)
        planned.append(cluster(made, mode="schedule").instant or "")
        to_inflight(transaction, data)

    monkeypatch.setattr(Transaction, "to_inflight", plan_first)
    monkeypatch.setattr(local, "AT_ONCE", {**local.AT_ONCE, **ALLOW})
    newer = local.batch(0, 4, "new", 2)
    older = local.write(path, newer, "second")
    assert older < planned[0]
    for _ in range(2):
        with pytest.raises(WriteConflictError, match=rf"{planned[0]} was planned without what {older} wrote .*cancel"):
            cluster(made, mode="execute")
    expected = local.expected_rows(local.batch(0, 8, "old", 1), newer)
    assert local.rows_of(path) == expected
    cluster(made, mode="cancel", instant_time=planned[0])
    cluster(made)
    assert local.rows_of(path) == expected


def test_who_yields(root: Folder) -> None:
    for name in ("1.deltacommit", "2.replacecommit.requested", "4.compaction.requested"):
        (root / name).touch()
    timeline = ActiveTimeline.load(root.storage, str(root), str(root / "archived"), format=VERSION_6)
    own, baseline = Instant("3", Action.DELTA_COMMIT, State.INFLIGHT), Baseline(frozenset({"1"}), frozenset())
    assert [one.timestamp for one in candidates(timeline, own, baseline)] == ["2", "4"]
    assert [one.timestamp for one in candidates(timeline, own, baseline, yields_to_clusterings=False)] == ["4"]
    for properties, expected in ((AT_ONCE, True), (ALLOW, False)):
        assert new_table(root / str(expected)).transaction_settings(properties).rules.yields_to_clusterings is expected


def test_services_inside_a_writer(table: HudiTable, capsys: pytest.CaptureFixture[str]) -> None:
    def run(**asked: str) -> None:
        conf = {**AT_ONCE, "hoodie.clustering.inline.max.commits": "1", **asked}
        engine, progress = LocalEngine(SYSTEM_CLOCK), Progress("ingest")
        run_inline_services(engine, table, {name.replace("_", "."): value for name, value in conf.items()}, progress)

    def found() -> list[str]:
        return [str(one)[18:] for one in table.refreshed().timeline.instants if one.action is not Action.DELTA_COMMIT]

    update(table, "a", 2)
    before = everything(table)
    run()
    assert found() == []
    run(hoodie_compact_schedule_inline="true")
    assert found() == ["compaction (requested)"]
    run(hoodie_compact_inline="true", hoodie_clustering_schedule_inline="true")
    assert found() == ["commit (completed)", "replacecommit (requested)"]
    run(hoodie_clustering_inline="true", hoodie_log_compaction_inline="true")
    assert found() == ["commit (completed)", "replacecommit (completed)"]
    assert "no log compaction after the commit: none of 0 file slices with logs is free" in capsys.readouterr().err
    update(table, "a", 3)
    compact(table, mode="schedule")
    assert everything(table) != before
