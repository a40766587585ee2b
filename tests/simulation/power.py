"""What a loss of power takes of a simulated disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.simulation.objects import Objects


@dataclass(slots=True)
class Unforced:
    """Files of which something was not forced to the disk, and what may be there instead: None for nothing."""

    _before: dict[str, bytes | None] = field(default_factory=dict)

    def add(self, path: str, before: bytes | None) -> None:
        self._before.setdefault(path, before)

    def force(self, path: str) -> None:
        """With its folder: others that are new there are there after a loss of power, if with less in them."""
        self._before.pop(path, None)
        for other, before in self._before.items():
            if before is None and other.rpartition("/")[0] == path.rpartition("/")[0]:
                self._before[other] = b""

    def lose(self, objects: Objects, random: Random, now_ms: float) -> None:
        """Each is there, or torn, or as it was before. What was deleted does not come back."""
        for path, before in self._before.items():
            now = objects.peek(path)
            left = random.choice((now, None if now is None else now[: len(now) // 2], before))
            if now is None or left == now:
                continue
            if left is None:
                objects.delete(path)
            else:
                objects.replace(path, left, now_ms)
        self._before.clear()
