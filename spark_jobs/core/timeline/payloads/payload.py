"""Plans, results and commits as records, before a table version gives them the form of its files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from spark_jobs.core.format.instant import COMMITS, Action, Instant, State


class Kind(Enum):
    """Of which of Hudi's records one is."""

    COMMIT = auto()
    """HoodieCommitMetadata; with replaced file groups HoodieReplaceCommitMetadata."""
    CLEAN_PLAN = auto()
    CLEAN = auto()
    ROLLBACK_PLAN = auto()
    ROLLBACK = auto()
    RESTORE_PLAN = auto()
    RESTORE = auto()
    COMPACTION_PLAN = auto()
    """Of log compactions too."""
    REPLACEMENT_PLAN = auto()
    """HoodieRequestedReplaceMetadata: of clusterings, and without a plan of overwrites."""
    SAVEPOINT = auto()
    INDEX_PLAN = auto()
    INDEX = auto()


@dataclass(frozen=True, slots=True)
class Payload:
    """What the file of an instant says. ``record`` has the values of JSON, by Hudi's names; ``note`` is kept
    beside it, for this project alone.
    """

    kind: Kind
    record: Mapping[str, Any]
    note: Mapping[str, str] = field(default_factory=dict)


_KINDS: dict[tuple[Action, State], Kind] = {
    (Action.CLEAN, State.REQUESTED): Kind.CLEAN_PLAN,
    (Action.CLEAN, State.INFLIGHT): Kind.CLEAN_PLAN,
    (Action.CLEAN, State.COMPLETED): Kind.CLEAN,
    (Action.ROLLBACK, State.REQUESTED): Kind.ROLLBACK_PLAN,
    (Action.ROLLBACK, State.COMPLETED): Kind.ROLLBACK,
    (Action.COMPACTION, State.REQUESTED): Kind.COMPACTION_PLAN,
    (Action.LOG_COMPACTION, State.REQUESTED): Kind.COMPACTION_PLAN,
    (Action.REPLACE_COMMIT, State.REQUESTED): Kind.REPLACEMENT_PLAN,
    (Action.SAVEPOINT, State.COMPLETED): Kind.SAVEPOINT,
    (Action.RESTORE, State.REQUESTED): Kind.RESTORE_PLAN,
    (Action.RESTORE, State.COMPLETED): Kind.RESTORE,
    (Action.INDEXING, State.REQUESTED): Kind.INDEX_PLAN,
    (Action.INDEXING, State.COMPLETED): Kind.INDEX,
}


def kind_of(instant: Instant) -> Kind | None:
    """Of the record in the file of an instant in its state; None where no release is known to write one."""
    known = _KINDS.get((instant.action, instant.state))
    if known is None and instant.comparable_action in COMMITS:
        return Kind.COMMIT
    return known
