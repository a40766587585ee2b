"""Carrying a restore out, so that a second run after a crash ends in the same state (Hudi: BaseRestoreActionExecutor).

No other writer may work meanwhile: a pending restore on the timeline keeps writers of this project and of Hudi out.
"""

from __future__ import annotations

from spark_jobs.core.files.markers import delete_markers
from spark_jobs.core.format.instant import WRITES, Action, Instant, State
from spark_jobs.core.timeline.plans.rollback import RequestedRestore
from spark_jobs.core.timeline.results import RollbackRecord, restore_payload
from spark_jobs.core.timeline.steps import complete
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.services.restore.plan import RestorePlan
from spark_jobs.services.rollback.execute import carry_out, remove_pending_files, reopen
from spark_jobs.services.rollback.work import RollbackWork


def execute_restore(
    settings: TransactionSettings,
    restore: Instant,
    plan: RestorePlan,
    planned: list[Instant],
    progress: Progress,
    engine: Engine,
) -> Instant:
    """Undo instant by instant, then complete the restore; the caller holds the table lock.

    :param restore: inflight.
    :param planned: all that the plan on the timeline has, also what an earlier run undid.
    """
    started = settings.clock.monotonic()
    done = {one.timestamp: RollbackRecord(by=restore.timestamp, target=one) for one in planned}
    with progress.phase("undo", len(plan.rollbacks)) as phase:
        for one in plan.rollbacks:
            done[one.target.timestamp] = _undo(settings, restore, one, engine)
            phase.advance()
    took = int((settings.clock.monotonic() - started) * 1000)
    payload = restore_payload(restore.timestamp, planned, done, took)
    with progress.phase("publish"):
        timeline = settings.load_timeline()
        settings.update_metadata_table(timeline, restore, payload)
        completed = complete(timeline, restore, payload, settings.clock)
        delete_markers(settings.storage, settings.base_path, restore.timestamp)
        _remove_rollbacks(settings, plan.goal)
    return completed


def _undo(settings: TransactionSettings, restore: Instant, one: RollbackWork, engine: Engine) -> RollbackRecord:
    """A rollback that is not published: the restore's metadata has it."""
    started = settings.clock.monotonic()
    timeline = settings.load_timeline()
    pending = reopen(timeline, one.target) if one.target.is_completed else one.target
    outcomes = carry_out(settings, restore, pending, one.requests, engine)
    remove_pending_files(timeline, pending, keep_plan=False)
    delete_markers(settings.storage, settings.base_path, pending.timestamp)
    settings.storage.delete(heartbeat_path(settings.base_path, pending.timestamp))
    took = int((settings.clock.monotonic() - started) * 1000)
    return RollbackRecord(by=restore.timestamp, target=one.target, outcomes=outcomes, took_ms=took)


def _remove_rollbacks(settings: TransactionSettings, goal: str) -> None:
    """Rollbacks after the goal, as Hudi removes them: what they undid is as if it had never been.

    The completed file goes last, so that after a crash none looks pending.
    """
    timeline = settings.load_timeline()
    for one in timeline.completed(Action.ROLLBACK):
        if one.follows(goal):
            for state in State:
                settings.storage.delete(timeline.path(one.at(state)))


def still_there(settings: TransactionSettings, plan: RequestedRestore) -> tuple[list[Instant], list[Instant]]:
    """The instants of a plan on the timeline: all of them, and those that are yet to be undone, in their order."""
    planned = [one.at(State.COMPLETED) for one in plan.rolled_back]
    timeline = settings.load_timeline()
    found = [[one for one in timeline.find(each.timestamp) if one.action in WRITES] for each in planned]
    return planned, [one for some in found for one in some]
