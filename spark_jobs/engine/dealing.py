"""Pieces of work dealt to tasks."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

TASKS_PER_SLOT = 4
"""Enough for the slots to end at about the same time."""
TASK_BYTES = 64 * 1024 * 1024
"""What reads less shares its task: to start one costs as much as to rewrite a megabyte."""


def tasks_for(sizes: Sequence[int], slots: int) -> int:
    """How many tasks do pieces that read so many bytes each: one for each large piece, and for small ones fewer."""
    return min(len(sizes), max(TASKS_PER_SLOT * slots, -(-sum(sizes) // TASK_BYTES)))


def dealt(sizes: Sequence[int], tasks: int) -> list[list[int]]:
    """The numbers of the pieces that each of so many tasks does, about the same bytes in each; fewer where there are
    fewer pieces.
    """
    shares: list[list[int]] = [[] for _ in range(min(max(1, tasks), len(sizes)))]
    loads = [(0, share) for share in range(len(shares))]
    for number in sorted(range(len(sizes)), key=lambda one: -sizes[one]):
        load, share = heapq.heappop(loads)
        shares[share].append(number)
        heapq.heappush(loads, (load + max(sizes[number], 1), share))
    return shares
