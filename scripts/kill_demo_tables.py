"""What kills left on the demo's tables, and what must hold in the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.format.v6.file_names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.table import HudiTable

TABLES = ("flights", "flights_mor")
_PLANS = (Action.COMPACTION, Action.REPLACE_COMMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An instant that was on its way when everything stopped."""

    table: str
    instant: str
    action: Action
    state: State

    @property
    def is_plan(self) -> bool:
        """A plan of compaction or clustering that nobody had begun to execute: it is executed later, not undone."""
        return self.action in _PLANS and self.state is State.REQUESTED

    def __str__(self) -> str:
        return f"{self.table} {self.instant} {self.action.value} {self.state.value}"


def pending_now(tables: Path) -> tuple[Pending, ...]:
    """The pending instants of both tables, as far as they are there yet."""
    return tuple(
        Pending(table=name, instant=one.timestamp, action=one.action, state=one.state)
        for name, table in _open(tables)
        for one in table.timeline.instants
        if not one.is_completed
    )


def fates(tables: Path, pending: Iterable[Pending]) -> dict[Pending, str]:
    """In words, what became of each."""
    opened = dict(_open(tables))
    rollbacks_of = {name: _rollbacks(table) for name, table in opened.items()}
    found = {}
    for one in pending:
        words = [f"rolled back by {', '.join(by)}"] if (by := rollbacks_of[one.table].get(one.instant)) else []
        states = [same.state for same in opened[one.table].timeline.find(one.instant)]
        if State.COMPLETED in states:
            words.append("completed")
        elif states:
            words.append(f"{states[0].value} still")
        found[one] = " and ".join(words) or "gone without a rollback"
    return found


def problems(tables: Path, killed: Iterable[Pending], *, airflow_only: bool) -> list[str]:
    """What should not be, a line each. ``killed`` is what was pending after any of the kills."""
    wrong = []
    opened = dict(_open(tables))
    rollbacks_of = {name: _rollbacks(table) for name, table in opened.items()}
    for one in dict.fromkeys(killed):
        completed = any(same.is_completed for same in opened[one.table].timeline.find(one.instant))
        rolled_back = bool(rollbacks_of[one.table].get(one.instant))
        finishes = one.action in (Action.CLEAN, Action.ROLLBACK) or one.is_plan
        if finishes and not completed:
            wrong.append(f"{one} was killed and never completed")
        elif not finishes and not rolled_back and not (airflow_only and completed):
            wrong.append(f"{one} was killed, and no rollback names it")
    for name, table in opened.items():
        wrong += [f"{name}: {one} is pending at the end" for one in table.timeline.instants if not one.is_completed]
        wrong += [f"{name}: {line}" for line in _twice(table)]
        wrong += [f"{name}: {line}" for line in _orphans(table)]
        wrong += [f"{name}: {line}" for line in _litter(table)]
    wrong += [f"{name}: there is no table" for name in TABLES if name not in opened]
    return wrong


def _open(tables: Path) -> list[tuple[str, HudiTable]]:
    found = []
    for name in TABLES:
        try:
            found.append((name, HudiTable.open(str(tables / name))))
        except HudiError:  # killed before it was made
            continue
    return found


def _rollbacks(table: HudiTable) -> dict[str, list[str]]:
    """Undone instant -> its completed rollbacks."""
    found: dict[str, list[str]] = {}
    for rollback in table.timeline.completed(Action.ROLLBACK):
        for instant in table.timeline.payload(rollback, SYSTEM_CLOCK)["commitsRollback"]:
            found.setdefault(instant, []).append(rollback.timestamp)
    return found


def _twice(table: HudiTable) -> list[str]:
    commits = table.timeline.completed_commits()
    metadata = [table.timeline.commit_metadata(one, SYSTEM_CLOCK) for one in commits]
    keys = Counter(one.idempotency_key for one in metadata if one.idempotency_key)
    lines = [f"{count} writes carry the idempotency key {key}" for key, count in keys.items() if count > 1]
    if len(keys) != 5:
        lines.append(f"{len(keys)} writes are there, not 5: {sorted(keys)}")
    return lines


def _orphans(table: HudiTable) -> list[str]:
    """Data files that no completed instant wrote."""
    base = Path(table.base_path)
    known: set[str] = set()
    for commit in table.timeline.completed_commits():
        for stat in table.timeline.commit_metadata(commit, SYSTEM_CLOCK).write_stats:
            known.add(stat.path or "")
    for rollback in table.timeline.completed(Action.ROLLBACK):
        for partition in table.timeline.payload(rollback, SYSTEM_CLOCK)["partitionMetadata"].values():
            for logs in (partition["rollbackLogFiles"], partition["logFilesFromFailedCommit"]):
                known |= {path.removeprefix(f"{table.base_path}/") for path in logs or {}}
    present = [path for path in base.glob("*/*") if ".hoodie" not in path.relative_to(base).parts]
    data = [path for path in present if parse_base_file_name(path.name) or parse_log_file_name(path.name)]
    strange = [path.name for path in present if path not in data and path.name != ".hoodie_partition_metadata"]
    lines = [f"{path.relative_to(base)} is nobody's" for path in data if str(path.relative_to(base)) not in known]
    return lines + [f"{name} is no file of a table" for name in strange]


def _litter(table: HudiTable) -> list[str]:
    """Control files that should be gone with their instants."""
    control = Path(table.base_path, ".hoodie")
    lines = [f"markers of {path.name} are left" for path in (control / ".temp").glob("*")]
    lines += [f"the heartbeat of {path.name} is left" for path in (control / ".heartbeat").glob("*")]
    lines += [f"{path.name} is left" for path in control.glob("*.tmp*")]
    if (control / ".locks" / "lock").exists() or (control / "lock").exists():
        lines.append("the table lock is held")
    return lines
