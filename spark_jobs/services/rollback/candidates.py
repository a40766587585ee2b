"""What is rolled back before a service does its work, for its dry run; nothing is done here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.services.rollback.failed_writes import abandoned_writes, late_files
from spark_jobs.services.rollback.job import rollback_work_of
from spark_jobs.services.rollback.pending import pending_rollbacks
from spark_jobs.services.rollback.work import RollbackWork


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecedingRollbacks:
    """Rollbacks in their order, and by relative path the bytes of files that tasks made which outlived their write."""

    rollbacks: tuple[RollbackWork, ...] = ()
    late: Mapping[str, int] = field(default_factory=dict)

    @property
    def deletions(self) -> dict[str, int]:
        """Bytes by relative path of all files that go; no reader sees them."""
        by_rollbacks: dict[str, int] = {
            path: one.sizes.get(path, 0) for one in self.rollbacks for path in one.deletions
        }
        return {**by_rollbacks, **self.late}

    @property
    def instants(self) -> list[str]:
        return [one.target.timestamp for one in self.rollbacks]

    def to_json(self) -> list[dict[str, Any]]:
        return [one.to_json() for one in self.rollbacks]

    def lines(self) -> Iterator[str]:
        """The same as text."""
        for one in self.rollbacks:
            cancelled = sum(len(request.cancel) for request in one.requests)
            yield (
                f"{one.target} is rolled back first: {len(one.deletions)} file(s) of {one.bytes} bytes go, "
                f"{cancelled} log file(s) have blocks that are taken back"
            )
        for path, size in self.deletions.items():
            yield f"  deleted: {path} ({size} bytes)"

    def and_then(self, other: PrecedingRollbacks) -> PrecedingRollbacks:
        return PrecedingRollbacks(rollbacks=(*self.rollbacks, *other.rollbacks), late={**self.late, **other.late})


def failed_writes_to_roll_back(settings: TransactionSettings, table: HudiTable) -> PrecedingRollbacks:
    """What ``roll_back_failed_writes`` finishes, undoes and deletes, in its order."""
    if table.timeline.pending({Action.RESTORE}):
        return PrecedingRollbacks()
    finishes = pending_rollbacks(settings, table)
    after = table.without([one.target for one in finishes if not one.keep_plan])
    dead = [rollback_work_of(settings, after, one) for one in abandoned_writes(settings, after.timeline)]
    late = {path: status.size for path, status in late_files(settings, table.timeline)}
    return PrecedingRollbacks(rollbacks=(*finishes, *dead), late=late)


def plans_to_roll_back(
    settings: TransactionSettings, table: HudiTable, plans: Iterable[Instant], *, keep: bool
) -> PrecedingRollbacks:
    """Plans that are rolled back with all that an execution left of them.

    :param keep: they go back to requested instead of vanishing.
    """
    rollbacks = (replace(rollback_work_of(settings, table, one), keep_plan=keep) for one in plans)
    return PrecedingRollbacks(rollbacks=tuple(rollbacks))
