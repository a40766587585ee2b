"""What happened in worlds, in numbers."""

from __future__ import annotations

from collections import Counter

from tests.simulation.plan import HUDI
from tests.simulation.run import Outcome


def counted(outcome: Outcome) -> Counter[str]:
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
