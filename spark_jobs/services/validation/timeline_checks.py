"""Invariants 3, 8 and 12: the timeline by itself."""

from __future__ import annotations

from collections.abc import Iterator

from spark_jobs.core.config.keys.table import LAYOUT_VERSION
from spark_jobs.core.errors import CorruptTableError, HudiError, OutsideTableError
from spark_jobs.core.format.instant import COMMITS, WRITES, Action, Instant, State
from spark_jobs.core.format.instant_time import parse_instant_time
from spark_jobs.core.format.order import is_from, oldest_first, precedes
from spark_jobs.core.storage.times import now_ms as storage_now_ms
from spark_jobs.core.transaction.heartbeat import heartbeat_path, read_pulse
from spark_jobs.core.view.pending import replaced_by_plan
from spark_jobs.services.remedy import remedy_of
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning

_FIRST_MOMENT = "1"
"""Instants of a bootstrap, and those of a metadata table that was made with its table, begin with zeros: no moments."""
_PLANS = (Action.COMPACTION, Action.LOG_COMPACTION, Action.CLEAN, Action.ROLLBACK, Action.RESTORE, Action.INDEXING)
_RESTORE = "restore the file from a copy of the table"


def check_instants(evidence: Evidence) -> Iterator[Finding]:
    """Invariant 3: one action for each time, all states of it, readable."""
    states: dict[str, dict[Action, set[State]]] = {}
    for status in evidence.table.storage.list(evidence.timeline.folder):
        instant = None if status.is_directory else evidence.timeline.format.parse_instant(status.name)
        if instant is not None:
            actions = states.setdefault(instant.timestamp, {})
            actions.setdefault(instant.comparable_action, set()).add(instant.state)
    yield from _doubled(evidence, states)
    is_kept = LAYOUT_VERSION.of(evidence.table.config.properties) >= 1  # before it, one file went from state to state
    for instant in evidence.timeline.instants:
        stored = states.get(instant.timestamp, {}).get(instant.comparable_action)
        if stored is None:
            continue  # archived or undone since the timeline was loaded
        if not _is_moment(instant.timestamp):
            yield error(
                3,
                evidence.instant_path(instant),
                f"its time {instant.timestamp} is not in the calendar",
                "rename its files to a time that is, in all places that name it, or roll it back with Hudi",
            )
        if is_kept:
            yield from _states(evidence, instant, stored)
        yield from _payload(evidence, instant)
    evidence.commits  # noqa: B018  (what of them is unreadable is a finding)


def _doubled(evidence: Evidence, states: dict[str, dict[Action, set[State]]]) -> Iterator[Finding]:
    for time, actions in states.items():
        several = sorted(action for action in actions if action is not Action.SAVEPOINT)
        if len(several) > 1:
            yield error(
                3,
                evidence.instant_path(Instant(time, several[-1], State.COMPLETED)),
                f"instant {time} is taken by {len(several)} actions ({', '.join(several)})",
                "roll the pending one back, or restore the table to a savepoint before it",
            )
    if evidence.archived is None:
        return
    for instant in evidence.archived.instants:
        for action in states.get(instant.timestamp, {}):
            if Action.SAVEPOINT not in (action, instant.action) and action is not instant.comparable_action:
                yield error(
                    3,
                    evidence.instant_path(Instant(instant.timestamp, action, State.COMPLETED)),
                    f"instant {instant.timestamp} was archived as a {instant.action.value}, and is active as a "
                    f"{action.value}",
                    "remove the one that the table's files do not agree with",
                )


def _states(evidence: Evidence, instant: Instant, found: set[State]) -> Iterator[Finding]:
    wanted = {State.INFLIGHT} if instant.action is Action.SAVEPOINT else {State.REQUESTED, State.INFLIGHT}
    missing = {
        state for state in wanted - found if Instant(instant.timestamp, instant.action, state).rank < instant.rank
    }
    if not missing or (evidence.archived is not None and _is_archived(evidence, instant)):
        return  # pending files go first when an instant is archived
    names = " and ".join(sorted(state.value for state in missing))
    if instant.is_completed:
        yield warning(
            3,
            evidence.instant_path(instant),
            f"it is completed without its {names} file",
            "nothing that this project or Hudi reads needs it, but the archive will not have it",
        )
    else:
        yield error(
            3,
            evidence.instant_path(instant),
            f"it is {instant.state.value} without its {names} file",
            "roll it back with Hudi, or restore the file from a copy of the table",
        )


def _is_archived(evidence: Evidence, instant: Instant) -> bool:
    archived = evidence.archived.instants if evidence.archived is not None else ()
    return any(
        (one.timestamp, one.comparable_action) == (instant.timestamp, instant.comparable_action) for one in archived
    )


def _payload(evidence: Evidence, instant: Instant) -> Iterator[Finding]:
    """Results of services, and plans of pending ones; those of writes are read as evidence."""
    if instant.is_completed and instant.action in COMMITS:
        there = evidence.table.storage.stat(evidence.timeline.path(instant))  # else archived since
        if there is not None and there.size == 0 and instant.action is Action.REPLACE_COMMIT:
            what = "it is completed and empty: nothing says which file groups it replaced"
            yield error(3, evidence.instant_path(instant), what, _RESTORE)
        elif there is not None and there.size == 0:
            yield warning(3, evidence.instant_path(instant), "it is completed and empty: no write stats", _RESTORE)
        return
    line, clock = evidence.timeline, evidence.table.clock
    try:
        if instant.is_completed:
            line.payload(instant, clock)
        elif instant.action in _PLANS:
            line.plan(instant, clock)
        elif instant.action is Action.REPLACE_COMMIT:
            replaced_by_plan(line, instant, clock)
    except HudiError as failure:
        if evidence.table.storage.stat(line.path(instant)) is None:
            return  # archived or undone since the timeline was loaded
        if instant.is_completed and instant.action is Action.CLEAN and not line.has_content(instant):
            what = "it is completed and empty: its cleaner died while it wrote what it had done"
            yield warning(3, evidence.instant_path(instant), what, "its plan tells the same, and is read instead")
            return
        at = instant if instant.is_completed else instant.at(State.REQUESTED)
        yield error(3, evidence.instant_path(at), f"it is unreadable ({failure.what})", _RESTORE)


def _is_moment(time: str) -> bool:
    if precedes(time, _FIRST_MOMENT) or len(time) < 14:
        return True
    try:
        parse_instant_time(time)
    except CorruptTableError:
        return False
    return True


def check_archive(evidence: Evidence) -> Iterator[Finding]:
    """Invariant 8: what is named by files and results is on one of the timelines; archival left what is needed."""
    if evidence.archived is None:
        return
    folder = evidence.relative(evidence.archived.place.folder)
    missing = {time: by for time, by in _referenced(evidence).items() if time not in evidence.done | evidence.pending}
    for time, by in sorted(missing.items()):
        if time in evidence.rolled_back:
            continue
        yield error(
            8,
            folder if evidence.timeline.has_archive else evidence.instant_path_of(time),
            f"instant {time} is named by {by}, and is neither on the active nor on the archived timeline",
            "restore its timeline files, or the archive file that had it, from a copy of the table",
        )
    yield from _archived_too_far(evidence, folder)


def _referenced(evidence: Evidence) -> dict[str, str]:
    """The instants that completed writes go back to, and the one who says so.

    Files on storage are not asked: one of an unknown instant is an orphan, unless something else knows the instant.
    """
    found: dict[str, str] = {}
    for path, one in evidence.written.items():
        if one.previous.isdigit():
            found.setdefault(one.previous, f"the write stats of {one.instant} ({path})")
        base = evidence.format.parse_base_file(one.base_file)
        if base is not None:
            found.setdefault(base.instant, f"the write stats of {one.instant} ({path})")
    for savepoint in evidence.timeline.completed(Action.SAVEPOINT):
        found.setdefault(savepoint.timestamp, f"savepoint {savepoint.timestamp}")
    for clean in evidence.timeline.completed(Action.CLEAN)[-1:]:
        try:
            result = evidence.timeline.clean_result(clean, evidence.table.clock)
        except (CorruptTableError, OutsideTableError):
            continue
        named = {
            "earliestCommitToRetain": result.retained_from,
            "lastCompletedCommitTimestamp": result.last_completed,
        }
        for name, time in named.items():
            if time.isdigit():
                found.setdefault(time, f"clean {clean.timestamp} ({name})")
    return found


def _archived_too_far(evidence: Evidence, folder: str) -> Iterator[Finding]:
    assert evidence.archived is not None
    gone = oldest_first(evidence.archived_done - {one.timestamp for one in evidence.timeline.completed_commits()})
    if not gone:
        return
    line = evidence.timeline
    for pending in line.filter(lambda one: not one.is_completed and one.action in WRITES):
        if pending.precedes(gone[-1]):
            yield error(
                8,
                folder,
                f"commit {gone[-1]} was archived, although {pending} is older and pending",
                f"finish {pending.timestamp} or roll it back before anything else is archived",
            )
    for savepoint in line.completed(Action.SAVEPOINT):
        if savepoint.timestamp in gone:
            yield error(
                8,
                folder,
                f"the commit of savepoint {savepoint.timestamp} was archived",
                f"delete the savepoint (`savepoint.py --mode delete --instant-time {savepoint.timestamp}`), as where a "
                "deletion died on its way; or, to keep it, restore the commit's timeline files from a copy",
            )
    for clean in line.completed(Action.CLEAN)[-1:]:
        try:
            retained = line.clean_result(clean, evidence.table.clock).retained_from
        except (CorruptTableError, OutsideTableError):
            continue
        if retained and is_from(gone[-1], retained):
            yield warning(
                8,
                folder,
                f"commit {gone[-1]} was archived, although clean {clean.timestamp} retains from {retained} on",
                "clean before archival: a clean that looks only at newer commits misses what that commit left",
            )


def check_deadlines(evidence: Evidence, overdue_hours: int) -> Iterator[Finding]:
    """Invariant 12: pending instants that no living process executes."""
    table, line = evidence.table, evidence.timeline
    now_ms = storage_now_ms(table.storage, table.timeline.folder, table.clock)
    for instant in line.filter(lambda one: not one.is_completed):
        if instant.action is Action.SAVEPOINT or instant.timestamp not in evidence.pending:
            continue
        beat = heartbeat_path(table.base_path, instant.timestamp)
        has_heart = table.storage.stat(beat) is not None
        if (
            has_heart
            and read_pulse(table.storage, table.base_path, instant.timestamp, table.heartbeats, table.clock).alive
        ):
            continue
        hours = (now_ms - line.moved_ms[instant]) / 3_600_000
        if has_heart:
            what = f"its writer is dead: its heartbeat stopped, and it became {instant.state.value} {hours:.1f} h ago"
        elif hours >= overdue_hours:
            what = f"it has been {instant.state.value} for {hours:.1f} h, and no process executes it"
        else:
            continue
        yield warning(12, evidence.instant_path(instant), what, remedy_of(line, instant, table.clock).todo)
