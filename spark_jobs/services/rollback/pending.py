"""Rollbacks that were begun: those that a crash left pending, and what was done by the hash of a plan.

The record of a rollback has no room for a hash: it stands in the header of the Avro file, where no other reader looks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from spark_jobs.core.format.instant import COMMITS, Action, State
from spark_jobs.core.storage import join, resolve
from spark_jobs.core.storage.many import find_files
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rollback import RequestedRollback, RollbackRequest
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, digest_of
from spark_jobs.services.rollback.execute import has_plan
from spark_jobs.services.rollback.failed_writes import is_plan
from spark_jobs.services.rollback.work import RollbackWork

_INSTANTS_KEY = "_pyhudi.plan.instants"
"""Beside the hash: all writes that its plan undoes, of which each has a rollback of its own."""


def pending_rollbacks(settings: TransactionSettings, table: HudiTable) -> tuple[RollbackWork, ...]:
    """What finishing the pending rollbacks takes still; of those that are withdrawn instead, nothing."""
    return tuple(_pending_rollbacks(settings, table))


def _pending_rollbacks(settings: TransactionSettings, table: HudiTable) -> Iterator[RollbackWork]:
    timeline = table.timeline
    for pending in timeline.pending({Action.ROLLBACK}):
        if not has_plan(settings, timeline, pending):
            continue
        plan = RequestedRollback.read(timeline, pending, table.clock)
        named = plan.target
        if named is None:
            continue
        found = timeline.find(named.time)
        if any(one.is_completed and one.action in COMMITS for one in found):
            continue  # its writer was only thought dead
        left = [one for one in found if not one.is_completed]
        target = left[0] if left else named.at(State.INFLIGHT)
        yield RollbackWork(
            target=target,
            keep_plan=target.action.value == named.action and is_plan(settings, timeline, target),
            requests=plan.requests,
            sizes=sizes_of(settings, plan.requests),
            rollback=pending.timestamp,
        )


def sizes_of(settings: TransactionSettings, requests: Collection[RollbackRequest]) -> dict[str, int]:
    """Bytes by relative path of the files to delete that are there."""
    paths = {
        resolve(settings.base_path, path): path
        for path in (join(one.partition, name) for one in requests for name in one.delete)
    }
    found = find_files(settings.storage, paths)
    return {path: found[whole].size for whole, path in paths.items() if whole in found}


def note_for(asked: str, instants: Collection[str]) -> dict[str, str]:
    """What a rollback by a hash notes.

    :param instants: all writes that the plan of the hash undoes.
    """
    return {PLAN_HASH_KEY: digest_of(asked), _INSTANTS_KEY: ",".join(sorted(instants))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What an earlier run by a hash did: ``instants`` are all that its plan undoes, ``done`` maps those that are undone
    to their rollbacks.
    """

    instants: frozenset[str]
    done: Mapping[str, str]


def begun_by(table: HudiTable, asked: str) -> Begun | None:
    """What was begun by this hash; None where nothing was."""
    digest, timeline = digest_of(asked), table.timeline
    instants: set[str] = set()
    done: dict[str, str] = {}
    for rollback in timeline.instants:
        if rollback.action is not Action.ROLLBACK:
            continue
        # the completed file too: it may be by this hash that a rollback was finished which was begun without one
        for state in (State.REQUESTED, State.COMPLETED) if rollback.is_completed else (State.REQUESTED,):
            one = rollback.at(state)
            note = timeline.note(one)
            if note.get(PLAN_HASH_KEY) != digest:
                continue
            instants.update(note.get(_INSTANTS_KEY, "").split(","))
            if rollback.is_completed:
                rolled_back = timeline.rollback_result(rollback, table.clock).rolled_back
                done.update(dict.fromkeys(rolled_back, rollback.timestamp))
    return Begun(instants=frozenset(instants), done=done) if instants else None
