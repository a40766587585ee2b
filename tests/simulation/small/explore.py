"""All orders of the calls of a small world up to a number of preemptions, but for those that nobody can tell apart.

As CHESS has it (Musuvathi and Qadeer, "Iterative context bounding", PLDI 2007): the world is lived through again and
again, each time with one more preemption, at one of the calls that were seen. One before a call that no other role has
to do with is the same as one before the next call that some other has, and is left out. Who has to do with what is seen
on the way, and looked at again until nothing is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations

from tests.simulation.small.footprint import Footprint
from tests.simulation.small.schedule import Call, How, Preemption, Schedule
from tests.simulation.small.worlds import Lived, SmallWorld, live
from tests.simulation.storage import CHANGES

Roles = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explored:
    """``lived`` schedules of ``all`` that there are up to the bound, ``failed`` of them; ``is_whole`` where the others
    are each the same as one of these.
    """

    small: SmallWorld
    lived: int
    all: int
    failed: tuple[tuple[Roles, Lived], ...]
    is_whole: bool


@dataclass(slots=True)
class _Node:
    """A world that was lived through, and those with one preemption more."""

    roles: Roles
    schedule: Schedule
    calls: tuple[Call, ...] = ()
    left_at: dict[str, int] = field(default_factory=dict)
    children: dict[Preemption, _Node] = field(default_factory=dict)


class Explorer:
    """
    :param bound: most preemptions of a schedule, of which one may be a death, or a suspension for longer than leases.
    :param most: schedules, after which it stops.
    """

    def __init__(self, small: SmallWorld, bound: int, most: int) -> None:
        self._small = small
        self._bound = bound
        self._most = most
        self._lived = 0
        self._failed: list[tuple[Roles, Lived]] = []
        self._footprints: dict[str, Footprint] = defaultdict(Footprint)

    def explore(self) -> Explored:
        roots = [_Node(roles, ()) for roles in permutations(self._small.roles)]
        for root in roots:
            self._live(root)
        nodes, is_new = list(roots), True
        while is_new and self._lived < self._most:
            is_new = False
            for node in nodes:  # which grow meanwhile
                for preemption, _ in self._followed_by(node):
                    if preemption not in node.children and self._lived < self._most:
                        is_new = True
                        child = node.children[preemption] = _Node(node.roles, (*node.schedule, preemption))
                        self._live(child)
                        if len(child.schedule) < self._bound:
                            nodes.append(child)
        return Explored(
            small=self._small,
            lived=self._lived,
            all=sum(map(self._size, roots)),
            failed=tuple(self._failed),
            is_whole=self._lived < self._most,
        )

    def _live(self, node: _Node) -> None:
        lived = live(self._small, node.roles, node.schedule)
        self._lived += 1
        for call in lived.calls:
            self._footprints[call.role].add(call)
        if lived.wrong:
            self._failed.append((node.roles, lived))
        elif len(node.schedule) < self._bound:
            node.calls, node.left_at = lived.calls, lived.left_at

    def _size(self, node: _Node) -> int:
        """Of schedules, with all that were left out."""
        return 1 + sum(
            alike * self._size(node.children[preemption])
            for preemption, alike in self._followed_by(node)
            if preemption in node.children
        )

    def _followed_by(self, node: _Node) -> Iterator[tuple[Preemption, int]]:
        """What the next preemption may be, and how many are the same as it."""
        first = node.schedule[-1].at + 1 if node.schedule else 1
        may_fail = all(one.how is How.WAIT for one in node.schedule)
        alike = {How.WAIT: 1, How.LAPSE: 1, How.DIE: 1}
        for at, call in enumerate(node.calls[first:], first):
            before = node.calls[at - 1]
            others = [role for role in node.roles if role != call.role and node.left_at.get(role, at + 1) > at]
            if before.role != call.role:
                alike = dict.fromkeys(alike, 1)
            for how in How if may_fail else (How.WAIT,):
                if self._matters(how, call, before, others):
                    yield from ((Preemption(at, how, role), alike[how]) for role in others)
                    alike[how] = 1
                else:
                    alike[how] += 1

    def _matters(self, how: How, call: Call, before: Call, others: list[str]) -> bool:
        is_change = call.name in CHANGES
        if how is How.DIE:
            return is_change or (before.role == call.role and before.name in CHANGES)
        if how is How.LAPSE and is_change and not self._small.table.guarded:
            return False  # such a storage promises that none takes so long
        return any(self._footprints[role].meets(call) for role in others)
