"""Looking for some paths in a walk that goes from path to path in their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Final, TypeVar

Found = TypeVar("Found")
SOUGHT_FROM: Final = 10
"""Fewer paths are looked at one by one."""
_PAGE: Final = 1000
"""What comes by one request, which takes as long as ``SOUGHT_FROM`` looks."""


def folder_around(asked: Sequence[str]) -> str:
    """The deepest folder that has all of some sorted paths below it; empty where there is none."""
    first, last = (one.split("/")[:-1] for one in (asked[0], asked[-1]))
    return "/".join(part for part, _ in takewhile(lambda both: both[0] == both[1], zip(first, last, strict=False)))


def before(asked: Sequence[str]) -> str:
    """Behind which a walk that looks for sorted paths begins."""
    return asked[0][:-1]


def sought(asked: Sequence[str], walk: Iterable[tuple[str, Found]]) -> tuple[dict[str, Found], int]:
    """Those of sorted paths that a walk has, and how many of them it came past: it is broken off where a look at each
    would have cost less.
    """
    found: dict[str, Found] = {}
    passed, seen, most = 0, 0, len(asked) // SOUGHT_FROM * _PAGE
    for path, one in islice(walk, most):
        seen += 1
        while passed < len(asked) and asked[passed] < path:
            passed += 1
        if passed < len(asked) and asked[passed] == path:
            found[path] = one
            passed += 1
        if passed == len(asked):
            break
    return found, passed if seen == most else len(asked)
