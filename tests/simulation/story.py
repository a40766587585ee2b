"""What happened in a world, for a person: who did what in turn, and what went wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tests.simulation.run import Outcome
from tests.simulation.storage import Step


def story(outcome: Outcome) -> Iterator[str]:
    """A line for each fault, for what a role says, for each step of the timeline, and for the changes in between."""
    yield from _heading(outcome)
    quiet: list[Step] = []
    for step in outcome.steps:
        if quiet and (step.who != quiet[-1].who or is_told(step)):
            yield from _summary(quiet)
            quiet = []
        if is_told(step):
            yield str(step)
        else:
            quiet.append(step)
    yield from _summary(quiet)


def _heading(outcome: Outcome) -> Iterator[str]:
    table = outcome.plan.table
    yield f"{table.kind}, {table.index} index, {'with' if table.has_metadata else 'without'} a metadata table"
    yield "on a storage like a local disk" if table.guarded else "on a store of objects"
    for role, host in outcome.plan.hosts.items():
        if role in outcome.plan.roles:
            yield f"{role} on host {host}, whose clock is {outcome.plan.skews_ms[role]} ms ahead"


def is_told(step: Step) -> bool:
    """Whether it is a fault, what a role says, or a change of the timeline or of its lock."""
    folder, _, name = step.path.rpartition("/")
    on_timeline = folder == ".hoodie" and name[:17].isdigit()
    return not step.call or bool(step.what) or (step.is_change and (on_timeline or "lock" in name))


def _summary(steps: list[Step]) -> Iterator[str]:
    changes = [one for one in steps if one.is_change]
    if changes:
        last = changes[-1]
        more = f" ({len(changes)} changes)" if len(changes) > 1 else ""
        yield f"{last.number:6} {last.ms / 1000:10.3f} s  {last.who:22} ... {last.call} {last.path}{more}"
