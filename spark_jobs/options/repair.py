"""Options of ``repair.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.options.choices import Repair
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job
from spark_jobs.options.plan_hash import PlanHashOptions

SAFE_REPAIRS = (Repair.LEFTOVERS, Repair.METADATA_TABLE)
"""What is repaired when nothing is named: no row is given up by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairOptions(PlanHashOptions):
    """Mend what ``validate.py`` finds, and only that."""

    job: ClassVar[str] = "repair"

    only: Annotated[
        tuple[str, ...],
        flag(
            "--only",
            kind=Kind.NAMES,
            help="Which repairs, of leftovers, metadata-table, doubled-keys, logs; the first two without it. The last "
            "two decide between rows, or give rows up, and are done only when they are named.",
        ),
    ] = ()

    @property
    def repairs(self) -> frozenset[Repair]:
        """
        :raises OptionsError: a name that is none of a repair.
        """
        known = {one.value: one for one in Repair}
        unknown = [name for name in self.only if name not in known]
        if unknown:
            raise OptionsError(f"--only={unknown[0]} is not valid: give some of {', '.join(known)}")
        return frozenset(known[name] for name in self.only) or frozenset(SAFE_REPAIRS)


REPAIR = Job(
    name="repair",
    options=RepairOptions,
    runner="spark_jobs.services.repair.job:run_repair",
    operator="HudiRepairOperator",
)
