"""What a repair does, chosen from the findings of a validation; pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.options.choices import Repair
from spark_jobs.services.validation.finding import Finding

READS_ROWS = frozenset({Repair.DOUBLED_KEYS, Repair.LOGS})
"""Repairs of what is only found when all rows are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SurplusRows:
    """The rows that a file slice gives up: another slice has a row of the same key that stays.

    :param keys: sorted.
    """

    file_slice: FileSlice
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """In this order: ``leftovers`` (relative path -> bytes) are deleted, each of ``logs`` is compacted from the blocks
    that are left, each of ``surplus`` loses its rows, and the metadata table is made anew where ``metadata_table`` says
    why it has to be.
    """

    leftovers: Mapping[str, int] = field(default_factory=dict)
    logs: tuple[FileSlice, ...] = ()
    surplus: tuple[SurplusRows, ...] = ()
    metadata_table: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.leftovers or self.logs or self.surplus or self.metadata_table)

    @property
    def facts(self) -> PlanFacts:
        slices = [*self.logs, *(one.file_slice for one in self.surplus)]
        return PlanFacts(
            service="repair",
            content=self.to_json(),
            files=len(self.leftovers) + sum(len(one.paths) for one in slices),
            bytes=sum(self.leftovers.values()) + sum(one.size for one in slices),
        )

    def to_json(self) -> dict[str, Any]:
        """For a person and for the hash; in JSON's own types."""
        return {
            Repair.LEFTOVERS.value: dict(self.leftovers),
            Repair.LOGS.value: [
                {"partition": one.partition, "file_id": one.file_id, "files": dict(one.sizes)} for one in self.logs
            ],
            Repair.DOUBLED_KEYS.value: [
                {
                    "partition": one.file_slice.partition,
                    "file_id": one.file_slice.file_id,
                    "files": dict(one.file_slice.sizes),
                    "keys": list(one.keys),
                }
                for one in self.surplus
            ],
            Repair.METADATA_TABLE.value: list(self.metadata_table),
        }

    def rest_of(self, begun: Mapping[str, Any]) -> RepairPlan:
        """What is left of a plan that a run began which was killed: of this one, made since, what is in that one too.

        :param begun: :meth:`to_json` of it.
        """
        leftovers, surplus = begun[Repair.LEFTOVERS.value], begun[Repair.DOUBLED_KEYS.value]
        logs = {(one["partition"], one["file_id"]) for one in begun[Repair.LOGS.value]}
        keys = {(one["partition"], one["file_id"]): frozenset(one["keys"]) for one in surplus}

        def is_begun(one: SurplusRows) -> bool:
            return keys.get((one.file_slice.partition, one.file_slice.file_id), frozenset()).issuperset(one.keys)

        return RepairPlan(
            leftovers={path: size for path, size in self.leftovers.items() if leftovers.get(path) == size},
            logs=tuple(one for one in self.logs if (one.partition, one.file_id) in logs),
            surplus=tuple(one for one in self.surplus if is_begun(one)),
            metadata_table=self.metadata_table if begun[Repair.METADATA_TABLE.value] else (),
        )

    def counts(self) -> dict[str, int]:
        """How much of each repair there is: files, file slices, rows, and findings of the metadata table."""
        return {
            Repair.LEFTOVERS.value: len(self.leftovers),
            Repair.LOGS.value: len(self.logs),
            Repair.DOUBLED_KEYS.value: sum(len(one.keys) for one in self.surplus),
            Repair.METADATA_TABLE.value: len(self.metadata_table),
        }


def paths_of(findings: Iterable[Finding], repair: Repair) -> tuple[str, ...]:
    """Relative paths at which a validation found what a repair mends, sorted, each once."""
    return tuple(sorted({one.path for one in findings if one.repair is repair}))


def refuse_changed(now: Iterable[FileSlice], planned: Iterable[FileSlice]) -> None:
    """
    :param now: the latest slices of the table.
    :raises WriteConflictError: one of the planned slices has other files by now.
    """
    sizes = {(one.partition, one.file_id): one.sizes for one in now}
    for one in planned:
        if sizes.get((one.partition, one.file_id)) != one.sizes:
            raise WriteConflictError(
                f"file group {one.file_id} in partition {one.partition!r} changed since it was looked at",
                todo="run it again",
                partition=one.partition,
                file_id=one.file_id,
            )


def why_nothing(findings: Sequence[Finding], repairs: AbstractSet[Repair]) -> Nothing:
    """Why nothing is repaired, with the numbers that decided, and what else would help."""
    unread = "" if repairs & READS_ROWS else "; rows are read only for --only doubled-keys or logs"
    if not findings:
        return Nothing(f"the table is sound: a validation finds nothing{unread}")
    named = ", ".join(sorted(one.value for one in repairs))
    words = [f"{len(findings)} finding(s), and none is one of {named}"]
    for other in sorted(set(Repair) - repairs):
        count = sum(one.repair is other for one in findings)
        if count:
            words.append(f"{count} would be mended by --only {other.value}")
    without = [one for one in findings if one.repair is None]
    if without:
        words.append(f"{len(without)} by no repair: the first is at {without[0].path} ({without[0].todo})")
    return Nothing("; ".join(words))
