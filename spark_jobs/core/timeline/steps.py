"""The steps of an instant from state to state, each a file that is made and never changed (Hudi: HoodieActiveTimeline's
createNewInstant and transition methods).
"""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import AlreadyExistsError, InstantStateError, InstantTakenError
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.format.order import latest
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.payloads.payload import Payload

Content = Payload | bytes
"""What a file gets: a payload in the form of its table; or bytes as they are, of another file or none."""
_BEFORE = {State.INFLIGHT: State.REQUESTED, State.COMPLETED: State.INFLIGHT}


def complete(timeline: ActiveTimeline, instant: Instant, content: Content, clock: Clock) -> Instant:
    """Write the file by which an inflight instant is completed; the caller holds the table lock. Where the table keeps
    when that was, it is later than all of the timeline.

    :raises InstantStateError: it is not inflight, by its own account or on storage.
    :raises InstantTakenError: another process completed it.
    """
    if not timeline.format.keeps_completion:
        return transition(timeline, instant, State.COMPLETED, content)
    if timeline.completion(instant).found(timeline.storage) is not None:
        raise _taken(timeline, instant)
    time = next_instant_time(clock.now(), timeline.zone, latest((timeline.last_moment, instant.timestamp)))
    return transition(timeline, instant, State.COMPLETED, content, time)


def transition(
    timeline: ActiveTimeline, instant: Instant, state: State, content: Content = b"", completed_at: str | None = None
) -> Instant:
    """Write the file of the next state; the file of the state before must be there.

    :param completed_at: when a completed one was, where its table keeps that: :func:`complete`.
    :raises InstantStateError: the instant is not in the state right before, by its own account or on storage.
    :raises InstantTakenError: another process made the same step.
    """
    if _BEFORE.get(state) is not instant.state:
        raise InstantStateError(
            f"{instant} can't become {state.value}: instants go from requested to inflight to completed, step by step",
            instant=instant.timestamp,
        )
    if timeline.storage.stat(timeline.path(instant)) is None:
        raise InstantStateError(
            f"{timeline.name_of(instant)} is gone, {instant} can't become {state.value}",
            todo="another process completed it or took it back: run it again",
            instant=instant.timestamp,
        )
    moved = replace(instant.at(state), completed_at=completed_at)
    _create(timeline, moved, content)
    return moved


def _create(timeline: ActiveTimeline, instant: Instant, content: Content, *, durable: bool = True) -> None:
    data = timeline.payloads.encode(content) if isinstance(content, Payload) else content
    try:
        timeline.storage.create(timeline.path(instant), data, durable=durable)
    except AlreadyExistsError as error:
        raise _taken(timeline, instant) from error


def _taken(timeline: ActiveTimeline, instant: Instant) -> InstantTakenError:
    return InstantTakenError(
        f"{timeline.name_of(instant)} is on the timeline already: another process was faster",
        todo="run it again",
        instant=instant.timestamp,
    )


def request(timeline: ActiveTimeline, timestamp: str, action: Action, content: Content = b"") -> Instant:
    """Put a new instant on the timeline; ``content`` is the plan where the action has one.

    :raises InstantStateError: a savepoint, which is never requested: :func:`open_savepoint`.
    :raises InstantTakenError: the instant is taken.
    """
    if action is Action.SAVEPOINT:
        raise InstantStateError(f"savepoint {timestamp} can't be requested: it starts inflight", instant=timestamp)
    instant = Instant(timestamp, action, State.REQUESTED)
    _create(timeline, instant, content)
    return instant


def begin_at_once(
    timeline: ActiveTimeline, timestamp: str, action: Action, *, plan: Content = b"", profile: Content = b""
) -> Instant:
    """Put a new instant on the timeline and move it on at once; the inflight one. Before this returns, what a loss of
    power may not take is forced to the disk: the plan, by which another run goes on without the inflight file; or, of
    an instant without a plan, that it is inflight, and in the same folder that it was requested.

    :raises InstantTakenError: the instant is taken.
    """
    requested = Instant(timestamp, action, State.REQUESTED)
    inflight = requested.at(State.INFLIGHT)
    has_plan = plan != b""
    _create(timeline, requested, plan, durable=has_plan)
    _create(timeline, inflight, profile, durable=not has_plan)
    return inflight


def open_savepoint(timeline: ActiveTimeline, timestamp: str) -> Instant:
    """The inflight savepoint of a completed write, the one action that is never requested.

    :raises InstantStateError: no write of this time is completed.
    :raises InstantTakenError: it is being saved already.
    """
    if not any(one.is_completed and one.action in COMMITS for one in timeline.find(timestamp)):
        raise InstantStateError(f"{timestamp} can't be saved: no completed write has this time", instant=timestamp)
    instant = Instant(timestamp, Action.SAVEPOINT, State.INFLIGHT)
    _create(timeline, instant, b"")
    return instant
