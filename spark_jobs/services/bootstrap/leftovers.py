"""What an earlier run left on the table: what the next one removes before it begins, and whose plan it was of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.core.errors import CorruptTableError, InstantGoneError, WriteConflictError
from spark_jobs.core.format.instant import WRITES, Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY, PlanFacts, digest_of
from spark_jobs.services.rollback.candidates import PrecedingRollbacks, failed_writes_to_roll_back
from spark_jobs.services.rollback.new_table import files_of_table

ASKED_HASH_KEY = "_pyhudi.plan.asked"
"""In the inflight file of a commit of a bootstrap that was run by a hash, beside the digest of its plan: that of the
hash, which tells also what the run removed and what an earlier one had done."""
PAST = frozenset({Action.ROLLBACK, Action.CLEAN, Action.RESTORE})
"""What may have been completed on a table without commits, which a bootstrap makes anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftovers:
    """``table`` has bytes by relative path of what goes with a table that is removed whole; ``begun`` are the notes of
    the commits that were begun on it, ``has_past`` tells whether more than rollbacks was ever done there.
    """

    first: PrecedingRollbacks = field(default_factory=PrecedingRollbacks)
    table: Mapping[str, int] = field(default_factory=dict)
    begun: tuple[Mapping[str, str | None], ...] = ()
    has_past: bool = False

    @property
    def deletions(self) -> dict[str, int]:
        return {**self.first.deletions, **self.table}

    def content(self) -> dict[str, Any]:
        """What of it is hashed."""
        deletes = [{"path": path, "bytes": size} for path, size in sorted(self.deletions.items())]
        return {"deletes": deletes, "rolls_back": self.first.instants} if deletes or self.first.rollbacks else {}

    def is_of(self, asked: str, plan: PlanFacts) -> bool:
        """Whether a run by this very hash began what is there, so that it goes on, or no other run began anything.

        :param plan: the whole plan, which the hash of a first run means.
        """
        digest = digest_of(asked)
        if self.begun and all(one.get(ASKED_HASH_KEY) == digest for one in self.begun):
            return True
        mine = all(one.get(PLAN_HASH_KEY) == plan.digest for one in self.begun)
        return plan.is_requested_by(asked) and mine and not self.has_past

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield from self.first.lines()
        if self.table:
            yield f"the table that is there has no commit, and is made anew: {len(self.table)} file(s) of it go"
        for path, size in sorted(self.table.items()):
            yield f"  deleted: {path} ({size} bytes)"


def leftovers_of(settings: TransactionSettings, table: HudiTable) -> Leftovers:
    """
    :raises WriteConflictError: another process is at the table.
    """
    timeline = table.timeline
    refuse_pending_restore(timeline)
    first = failed_writes_to_roll_back(settings, table)
    rolled_back = {one.target.timestamp for one in first.rollbacks} | {one.rollback for one in first.rollbacks}
    after = timeline.filter(lambda one: one.is_completed or one.timestamp not in rolled_back)
    alive = [one for one in after if not one.is_completed and one.action in WRITES]
    if alive:
        raise busy(table.base_path, f"instant {alive[0].timestamp} is under way")
    notes = tuple(_note_of(table, one.timestamp) for one in timeline.pending_writes() if one.state is State.INFLIGHT)
    is_used = bool(timeline.completed_commits())
    others = [
        one
        for one in after
        if (one.action is not Action.ROLLBACK and not one.is_completed) or not (is_used or one.action in PAST)
    ]
    if others:
        raise WriteConflictError(
            f"{others[0]} is on table {table.config.name}, whose bootstrap is not complete",
            todo="finish it or take it back, then run this again",
            instant=others[0].timestamp,
        )
    if is_used:
        return Leftovers(first=first, begun=notes)
    return Leftovers(
        first=first,
        table=files_of_table(settings, first.deletions),
        begun=notes,
        has_past=any(one.action is not Action.ROLLBACK for one in timeline.instants if one.is_completed),
    )


def busy(base_path: str, why: str) -> WriteConflictError:
    return WriteConflictError(
        f"{base_path} is being bootstrapped: {why}", todo="let that run end, then run it again", path=base_path
    )


def note_of_begun(digest: str, asked: str | None) -> Payload:
    """What the inflight file of a commit says.

    :param digest: of the whole plan; ``asked`` is the hash that was given.
    """
    given = {ASKED_HASH_KEY: digest_of(asked)} if asked is not None else {}
    return CommitMetadata(extra_metadata={PLAN_HASH_KEY: digest, **given}).payload()


def _note_of(table: HudiTable, time: str) -> Mapping[str, str | None]:
    for one in table.timeline.find(time):
        try:
            return CommitMetadata.of(table.timeline.stored(one).record, str(one)).extra_metadata
        except (CorruptTableError, InstantGoneError):
            return {}
    return {}
