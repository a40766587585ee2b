"""Invariant 10: commits that were made beside each other, by processes that both took the table lock for theirs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from spark_jobs.core.config.keys.table import LAYOUT_VERSION
from spark_jobs.core.format.order import by_time, follows, precedes
from spark_jobs.core.transaction.contradictions import rolled_back_commits
from spark_jobs.core.view.file_system_view import GroupKey
from spark_jobs.services.validation.evidence import Evidence, Written
from spark_jobs.services.validation.finding import Finding, error

_AGAIN = "write its rows again, if they are known; else restore the table to a savepoint before it"


def check_overlaps(evidence: Evidence) -> Iterator[Finding]:
    """Commits that were taken back before they completed, and files that were not made from the newest one before."""
    is_kept = LAYOUT_VERSION.of(evidence.table.config.properties) >= 1  # before it, one file went from state to state
    for commit, taker in rolled_back_commits(evidence.timeline, evidence.table.clock) if is_kept else ():
        yield error(
            10,
            evidence.instant_path(commit),
            f"it is there although {taker.action.value} {taker.timestamp} took it back: two processes held the "
            "table lock at once",
            f"take it back (rollback.py --instant-time {commit.timestamp}), then write its rows again",
        )
    groups: dict[GroupKey, list[tuple[str, Written]]] = {}
    for path, one in evidence.written.items():
        if not one.is_log:
            groups.setdefault((one.partition, one.file_id), []).append((path, one))
    for found in groups.values():
        yield from _broken_chain(by_time(found, lambda each: each[1].instant))
    for group, by in evidence.services.replaced.items():
        for path, one in groups.get(group, ()):
            if follows(one.instant, by) and one.previous.isdigit():
                yield error(
                    10,
                    path,
                    f"{one.instant} wrote it to a file group that replacecommit {by} had replaced: no reader sees it",
                    _AGAIN,
                )


def _broken_chain(found: list[tuple[str, Written]]) -> Iterator[Finding]:
    """Each base file of a group is made from the one before it."""
    for (_, before), (path, one) in pairwise(found):
        if one.previous.isdigit() and precedes(one.previous, before.instant) and before.instant != one.instant:
            yield error(
                10,
                path,
                f"{one.instant} made it from the file of {one.previous}, beside {before.instant}, which changed the "
                f"same file group: rows of {before.instant} are missing in it",
                f"write the rows of {before.instant} again, if they are known; else restore the table to a savepoint "
                "before both",
            )
