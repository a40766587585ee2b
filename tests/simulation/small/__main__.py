"""``python -m tests.simulation.small disk`` lives through each pair of roles at a table on a disk, in every order of
their calls up to a bound; a schedule that it prints is told step by step with ``--replay``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests.simulation.ordered_sets import with_ordered_sets
from tests.simulation.picture import picture
from tests.simulation.small.explore import Explored, Explorer
from tests.simulation.small.schedule import How, Preemption, Schedule
from tests.simulation.small.worlds import NAMES, TABLES, SmallWorld, live, pairs


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.small", description=__doc__)
    parser.add_argument("table", choices=sorted(TABLES))
    parser.add_argument("--roles", default="", help="what two or three do, such as upsert,clean; else each pair")
    parser.add_argument("--bound", type=int, default=1, help="most preemptions of a schedule")
    parser.add_argument("--most", type=int, default=1_000_000, help="schedules of each pair")
    parser.add_argument("--part", default="1/1", metavar="N/OF", help="the N-th of so many parts of the pairs")
    parser.add_argument("--replay", default=None, metavar="ab:8W>b,9L>a", help="one schedule, as it was printed")
    options = parser.parse_args()
    roles = tuple(options.roles.split(",")) if options.roles else ()
    one = SmallWorld(TABLES[options.table], roles, has_leftover="roll back" in roles)
    if options.replay is not None:
        return _replay(one, options.replay)
    number, _, parts = options.part.partition("/")
    worlds = [one] if roles else pairs(options.table)[int(number) - 1 :: int(parts)]
    failed = 0
    print("| Roles | Schedules | Of all | Failed | |\n|---|---|---|---|---|", flush=True)
    for small in worlds:
        begun = time.monotonic()
        found = Explorer(small, options.bound, options.most).explore()
        _tell(found, time.monotonic() - begun)
        failed += len(found.failed)
    return 1 if failed else 0


def _tell(found: Explored, seconds: float) -> None:
    is_whole = "all that differ" if found.is_whole else "some"
    lived, failed = f"{found.lived} ({is_whole})", len(found.failed)
    print(f"| {', '.join(found.small.does)} | {lived} | {found.all} | {failed} | {seconds:.0f} s |", flush=True)
    for roles, lived in found.failed[:5]:
        print(f"  {_name(found.small, roles, lived.schedule)}: {lived.wrong[0].splitlines()[0][:300]}", flush=True)


def _name(small: SmallWorld, roles: Sequence[str], schedule: Schedule) -> str:
    """Who begins, and at which call of all what happens, and who goes on."""
    letters = dict(zip(small.roles, NAMES, strict=False))
    steps = ",".join(f"{one.at}{one.how.name[0]}>{letters[one.then]}" for one in schedule)
    return f"{''.join(letters[role] for role in roles)}:{steps}"


def _schedule(small: SmallWorld, name: str) -> tuple[list[str], Schedule]:
    named = dict(zip(NAMES, small.roles, strict=False))
    hows = {how.name[0]: how for how in How}
    order, _, steps = name.partition(":")
    found = [one.partition(">") for one in steps.split(",") if one]
    return [named[letter] for letter in order], tuple(
        Preemption(int(at[:-1]), hows[at[-1]], named[then]) for at, _, then in found
    )


def _replay(small: SmallWorld, name: str) -> int:
    roles, schedule = _schedule(small, name)
    lived = live(small, roles, schedule)
    print("\n".join((*map(str, lived.steps), "", *picture(lived.steps), "")))
    print("; ".join(lived.wrong) or "sound")
    return 1 if lived.wrong else 0


if __name__ == "__main__":
    with_ordered_sets("tests.simulation.small")
    sys.exit(main())
