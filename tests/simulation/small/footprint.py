"""Which calls of one process another one can have to do with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.small.schedule import Call
from tests.simulation.storage import CHANGES

_LISTINGS: Final = frozenset({"list", "list the rest"})
_WALKS: Final = frozenset({"walk", "walk the rest", "list_tree", "has_folder"})
_ALONE: Final = "while_alone"
_TOGETHER: Final = "only_while"
_OF_NOBODY: Final = frozenset({"clock_ms", "sync"})


@dataclass(slots=True)
class Footprint:
    """What a role has read, listed and changed; a lock's guard is a file that is changed by who has it alone."""

    changed: set[str] = field(default_factory=set)
    changed_in: set[str] = field(default_factory=set)
    """Folders of these files, and in :attr:`changed_below` all around them."""
    changed_below: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    listed: set[str] = field(default_factory=set)
    walked: set[str] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.changed) + len(self.read) + len(self.listed) + len(self.walked)

    def add(self, call: Call) -> None:
        if call.name in _OF_NOBODY:
            return
        if call.name in _LISTINGS:
            self.listed.add(call.path)
        elif call.name in _WALKS:
            self.walked.add(call.path)
        elif call.name == _TOGETHER:
            self.read.update((call.path, _guard(call)))
        elif call.name == _ALONE:
            self.changed.add(_guard(call))
        elif call.name not in CHANGES:
            self.read.add(call.path)
        elif call.path not in self.changed:
            self.changed.add(call.path)
            self.changed_in.add(call.path.rpartition("/")[0])
            self.changed_below.update(_around(call.path))

    def meets(self, call: Call) -> bool:
        """Whether the order of another's call and of one of these matters."""
        if call.name in _OF_NOBODY:
            return False
        if call.name in _LISTINGS:
            return call.path in self.changed_in
        if call.name in _WALKS:
            return call.path in self.changed_below
        if call.name == _TOGETHER:
            return call.path in self.changed or _guard(call) in self.changed
        if call.name == _ALONE:
            return _guard(call) in self.changed or _guard(call) in self.read
        if call.path in self.changed:
            return True
        if call.name not in CHANGES:
            return False
        return (
            call.path in self.read
            or call.path.rpartition("/")[0] in self.listed
            or any(folder in self.walked for folder in _around(call.path))
        )


def _guard(call: Call) -> str:
    return f"{call.path} alone"


def _around(path: str) -> Iterator[str]:
    while "/t/" in path or path.endswith("/t"):
        path = path.rpartition("/")[0]
        yield path
