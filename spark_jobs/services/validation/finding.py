"""What is wrong with a table: one value for each fault."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.options.choices import Repair as Repair


class Severity(StrEnum):
    """``ERROR``: rows are missing, wrong or doubled, or the next reader or service will go wrong. ``WARNING``: the rows
    are right, and something waits for upkeep.
    """

    ERROR = "ERROR"
    WARNING = "WARNING"


INVARIANTS = {
    1: "a query at a retained instant gives its rows",
    2: "a record key is in one file group, and meta columns tell the truth",
    3: "instants are unique and go from requested to inflight to completed",
    4: "compaction and clustering keep the rows",
    5: "live files exist, are whole, and belong to one completed instant",
    6: "nothing is missing that a retained instant, a savepoint or a pending plan needs",
    7: "nothing is left over",
    8: "active and archived timeline have no gap between them",
    9: "the metadata table equals the files on storage",
    10: "no writer published that had lost its right to",
    12: "no pending instant outlives its deadline",
}
"""The invariants that a table alone shows, by the numbers of docs/architecture.md."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fault. ``path`` is the file at fault, relative to the table's base path (also one that should be there);
    ``repair`` is what ``repair.py`` can do about it, None where it can do nothing.
    """

    invariant: int
    severity: Severity
    path: str
    what: str
    todo: str
    repair: Repair | None = None

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    def to_json(self) -> dict[str, Any]:
        return {
            "invariant": self.invariant,
            "severity": self.severity.value,
            "path": self.path,
            "what": self.what,
            "todo": self.todo,
            "repair": self.repair.value if self.repair else None,
        }

    def __str__(self) -> str:
        return f"{self.severity.value} (invariant {self.invariant}) {self.path}: {self.what}; {self.todo}"


def repair_of_content(format: TableFormat, path: str) -> Repair | None:
    """What mends a data file that is lost or damaged: of a log what is left can be compacted, a base file is gone."""
    return Repair.LOGS if format.parse_log_file(path.rpartition("/")[2]) is not None else None


def error(invariant: int, path: str, what: str, todo: str, repair: Repair | None = None) -> Finding:
    return Finding(invariant=invariant, severity=Severity.ERROR, path=path, what=what, todo=todo, repair=repair)


def warning(invariant: int, path: str, what: str, todo: str, repair: Repair | None = None) -> Finding:
    return Finding(invariant=invariant, severity=Severity.WARNING, path=path, what=what, todo=todo, repair=repair)
