"""A world as a picture: time downwards, a lane for each role, and beside the lanes what happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tests.simulation.storage import Step
from tests.simulation.story import is_told

WIDTH = 120
_INSTANT = re.compile(r"\d{13}(\d{4})(?=\D|$)")
_WHEN = re.compile(r" (before|after) it")
_ACTS, _WAITS, _SLEEPS, _DIES, _GONE = "o", "|", "z", "x", " "


def picture(steps: Iterable[Step]) -> Iterator[str]:
    """At most ``WIDTH`` wide. In a lane ``o`` acts, ``|`` waits, ``z`` is suspended, ``x`` dies; of an instant there
    are the last four digits.
    """
    told = [step for step in steps if is_told(step)]
    lanes = dict.fromkeys((_role(step) for step in told), _GONE)
    for step in told:
        role = _role(step)
        is_dead = step.what.startswith(("dies", "loses power"))
        drawn = "  ".join({**lanes, role: _DIES if is_dead else _ACTS}.values())
        yield f"{step.ms / 1000:8.3f} s  {drawn}  {role}: {_text(step)}"[:WIDTH].rstrip()
        is_over = is_dead or step.what.startswith(("has done", "could not"))
        lanes[role] = _GONE if is_over else _SLEEPS if step.what.startswith("is suspended") else _WAITS
        if step.what.startswith("loses power"):
            lanes = dict.fromkeys(lanes, _GONE)


def _role(step: Step) -> str:
    """Of whichever of its processes."""
    role, _, number = step.who.rpartition(" ")
    return role if number.isdigit() else step.who


def _text(step: Step) -> str:
    what = _short(step.what)
    if not step.call:
        return what
    call = f"{step.call} {_short(step.path.rpartition('/')[2])}"
    when = _WHEN.search(what)
    if when is None:
        return f"{call}: {what}" if what else call
    return _WHEN.sub(f" {when[1]} {call}", what)


def _short(text: str) -> str:
    return _INSTANT.sub(r"..\1", text)
