"""``python -m tests.simulation SEED`` replays one seed, shrinks it where it fails, and prints its steps; ``FIRST-LAST``
runs many, and prints which fail.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from tests.simulation.bugs import BUGS
from tests.simulation.picture import picture
from tests.simulation.plan import HUDI
from tests.simulation.planted import Bug, plant
from tests.simulation.run import Outcome, run_seed
from tests.simulation.shrink import shrunk
from tests.simulation.story import is_told, story

Tell = Callable[[Bug, "Outcome | int"], str]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", help="one seed, or FIRST-LAST")
    parser.add_argument("--whole", action="store_true", help="print every call, and don't shrink")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other seed after so long")
    parser.add_argument("--from", type=int, default=0, dest="begin", metavar="N", help="with --bugs: after N of them")
    parser.add_argument("--bug", default="", metavar="WORDS", help="plant the first bug whose description has these")
    parser.add_argument("--bugs", action="store_true", help="plant each bug in turn, and look for a seed that finds it")
    parser.add_argument("--table", action="store_true", help="with --bugs: rows of Markdown, with the steps of each")
    options = parser.parse_args()
    first, _, last = options.seeds.partition("-")
    seeds = range(int(first), int(last or first) + 1)
    if options.bugs:
        tell = _row if options.table else _line
        return _each_bug(BUGS[options.begin :], seeds, options.seconds, tell)
    with ExitStack() as bugs:
        if options.bug:
            bugs.enter_context(plant(next(one for one in BUGS if options.bug in one.what)))
        return _many(seeds, options.seconds) if last else _one(seeds[0], whole=options.whole)


def _one(seed: int, *, whole: bool) -> int:
    outcome = run_seed(seed)
    if outcome.wrong and not whole:
        outcome = shrunk(outcome)
    print("\n".join(map(str, outcome.steps) if whole else story(outcome)))
    if outcome.wrong:
        print("\n".join(("", *picture(outcome.steps), "")))
    print(f"seed {seed}, {len(outcome.steps)} steps, {outcome.digest}: {'; '.join(outcome.wrong) or 'sound'}")
    return 1 if outcome.wrong else 0


def _many(seeds: range, seconds: float) -> int:
    began, counts = time.monotonic(), Counter[str]()
    for outcome in _outcomes(seeds, seconds):
        counts += _counted(outcome)
        if outcome.wrong:
            print(f"seed {outcome.seed}: {outcome.wrong[0]}", flush=True)
    facts = ", ".join(f"{number} {name}" for name, number in counts.items())
    print(f"{facts}; {counts['failed']} failed; {counts['seeds'] / (time.monotonic() - began):.1f} seeds per second")
    return 1 if counts["failed"] else 0


def _each_bug(bugs: Sequence[Bug], seeds: range, seconds: float, tell: Tell) -> int:
    """
    :param seconds: for each.
    """
    missed = 0
    for bug in bugs:
        with plant(bug):
            found = _first_wrong(seeds, seconds)
            print(tell(bug, found), flush=True)
        missed += isinstance(found, int) and not bug.hidden_by
    return 1 if missed else 0


def _first_wrong(seeds: range, seconds: float) -> Outcome | int:
    """Or how many there were."""
    looked_at = 0
    for looked_at, outcome in enumerate(_outcomes(seeds, seconds), 1):  # noqa: B007
        if outcome.wrong:
            return outcome
    return looked_at


def _line(bug: Bug, found: Outcome | int) -> str:
    """
    :param found: by it; or how many seeds did not find it.
    """
    if isinstance(found, int):
        return f"none of {found:4}  {bug.what}{f' (hidden: {bug.hidden_by})' if bug.hidden_by else ''}"
    return f"seed {found.seed:5}  {bug.what}: {found.wrong[0].splitlines()[0][:100]}"


def _row(bug: Bug, found: Outcome | int) -> str:
    if isinstance(found, int):
        return f"| {bug.what} | none of {found} | | {bug.hidden_by} |"
    small = shrunk(found)
    wrong = re.sub(r"(instant |[a-z]*)\d{17}", r"\1...", small.wrong[0].splitlines()[0])[:90].replace("|", "/")
    return f"| {bug.what} | {found.seed} | {sum(map(is_told, small.steps))} | {wrong} |"


def _outcomes(seeds: range, seconds: float) -> Iterator[Outcome]:
    ends = time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > ends:
            return
        yield run_seed(seed)


def _counted(outcome: Outcome) -> Counter[str]:
    said = [step.what for step in outcome.steps]
    return Counter(
        {
            "seeds": 1,
            "failed": bool(outcome.wrong),
            "steps": len(outcome.steps),
            "crashes": sum(one.startswith("dies") for one in said),
            "suspensions": sum(one.startswith("is suspended") for one in said),
            "lost answers": sum(one.startswith("gets no answer") for one in said),
            "power losses": sum(one.startswith("loses power") for one in said),
            "clocks set": sum(one.startswith("has its clock set") for one in said),
            "refused calls": sum(one == "is refused" for one in said),
            "tasks run twice": sum(one == "begins its attempt" for one in said) // 2,
            "writes of Hudi": sum(
                one.who.startswith(f"{HUDI} ") and one.what.startswith("has done") for one in outcome.steps
            ),
            "tasks done": sum(one.startswith("has done") and not one.endswith("attempt") for one in said),
        }
    )


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # sets of texts have the same order then
        environment = {**os.environ, "PYTHONHASHSEED": "0"}
        os.execve(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]], environment)
    sys.exit(main())
