"""Invariants 5 and 6: the files that writes, savepoints and plans name are there, with the size that was written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.order import earliest, follows
from spark_jobs.core.read.retained import earliest_readable
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.plans.rewriting import slices_of_plan
from spark_jobs.core.view.file_system_view import GroupKey, build_view
from spark_jobs.services.validation.evidence import Evidence, Written
from spark_jobs.services.validation.finding import Finding, error, repair_of_content
from spark_jobs.services.validation.slice_checks import check_slices

_LOST = "restore it from a copy of the table; else roll back or restore to before the write that made it"


def check_written_files(evidence: Evidence) -> Iterator[Finding]:
    """What completed writes made is there, unless cleaning was free to take it, and has its size."""
    yield from _owners(evidence)
    yield from check_slices(evidence)
    named = {**evidence.archived_written, **evidence.written}
    for path, name in _named_bases(evidence).items():
        named.setdefault(path, name)
    missing = {path: one for path, one in named.items() if path not in evidence.on_storage}
    if missing:
        yield from _missing(evidence, named, missing)
    for path, one in named.items():
        status = evidence.on_storage.get(path)
        if status is None or not one.size:
            continue
        if status.size < one.size or (status.size > one.size and not one.is_log):
            yield error(
                5,
                path,
                f"it has {status.size} bytes, and instant {one.instant} wrote {one.size}",
                "restore it from a copy of the table, or roll the instant back",
                repair_of_content(evidence.format, path),
            )


def _named_bases(evidence: Evidence) -> dict[str, Written]:
    """Base files that write stats of log appends stand on: also of writes that were archived."""
    found: dict[str, Written] = {}
    for one in evidence.written.values():
        base = evidence.format.parse_base_file(one.base_file)
        if base is not None:
            found[join(one.partition, one.base_file)] = Written(
                instant=base.instant,
                partition=one.partition,
                file_id=base.file_id,
                size=0,
                rows=0,
                is_log=False,
                previous="",
                base_file="",
            )
    return found


def _owners(evidence: Evidence) -> Iterator[Finding]:
    """Each base file is of one completed instant: the one in its name."""
    first: dict[str, str] = {}
    for instant, metadata in evidence.commits.items():
        for stat in metadata.write_stats:
            path = (stat.path or "").lstrip("/")
            base = evidence.format.parse_base_file(path.rsplit("/", 1)[-1])
            if base is None:
                continue
            owner = first.setdefault(path, instant.timestamp)
            if owner != instant.timestamp or base.instant != instant.timestamp:
                other = owner if owner != instant.timestamp else base.instant
                yield error(
                    5,
                    evidence.instant_path(instant),
                    f"its write stats name {path}, which is of instant {other}",
                    "restore the timeline file from a copy of the table",
                )


def _missing(evidence: Evidence, named: Mapping[str, Written], missing: Mapping[str, Written]) -> Iterator[Finding]:
    slices: dict[GroupKey, set[str]] = {}
    for path, one in named.items():
        slices.setdefault((one.partition, one.file_id), set()).add(base_instant_of(evidence, path) or one.instant)
    bound = _retained_from(evidence)
    replaced = evidence.replaced
    for path, one in sorted(missing.items()):
        key, instant = (one.partition, one.file_id), base_instant_of(evidence, path) or one.instant
        newer = [other for other in slices[key] if follows(other, instant)]
        gone_at = replaced.get(key)
        if path in evidence.being_cleaned or _is_taken_back(evidence, one):
            continue
        if gone_at is None and not newer:
            yield error(
                5,
                path,
                f"instant {one.instant} wrote it, it is live, and it is not on storage",
                _LOST,
                repair_of_content(evidence.format, path),
            )
        elif follows(earliest([*newer, *([gone_at] if gone_at else [])]), bound):
            yield error(
                6,
                path,
                f"instant {one.instant} wrote it, readers from {bound or 'the first instant'} on need it, and it is "
                "not on storage",
                _LOST,
            )


def _is_taken_back(evidence: Evidence, one: Written) -> bool:
    """Whether the write was undone while this ran, or a slice of an archived one by a restore."""
    return one.instant in evidence.rolled_back or (
        one.instant not in evidence.archived_done
        and not any(found.is_completed for found in evidence.later.find(one.instant))
        and one.instant in evidence.active_done
    )


def _retained_from(evidence: Evidence) -> str:
    """The first instant as of which everything must be readable; empty where nothing was cleaned."""

    def view() -> Any:
        return evidence.view or build_view(
            evidence.format, [], evidence.visibility(), evidence.services, partitions=frozenset()
        )

    try:
        return earliest_readable(evidence.later, view, evidence.table.clock)
    except HudiError:
        return ""  # the unreadable clean is a finding of the timeline


def base_instant_of(evidence: Evidence, path: str) -> str | None:
    name = path.rsplit("/", 1)[-1]
    base, log = evidence.format.parse_base_file(name), evidence.format.parse_log_file(name)
    return base.instant if base is not None else log.instant if log is not None else None


def check_protected_files(evidence: Evidence) -> Iterator[Finding]:
    """Invariant 6: what savepoints and pending plans need."""
    line, clock = evidence.timeline, evidence.table.clock
    for savepoint in line.completed(Action.SAVEPOINT):
        files: Sequence[str] = ()
        with suppress(HudiError):  # one that can't be read is a finding of the timeline, and so is such a plan
            saved = line.savepoint(savepoint, clock).files
            files = [join(partition, name) for partition, names in saved.items() for name in names]
        yield from _all_there(evidence, files, f"savepoint {savepoint.timestamp}")
    for plan in (
        *line.pending({Action.COMPACTION, Action.LOG_COMPACTION}),
        *line.pending({Action.REPLACE_COMMIT}),
    ):
        files = ()
        with suppress(HudiError):
            files = [path for one in slices_of_plan(line, plan, clock) for path in one.paths]
        what = "clustering" if plan.action is Action.REPLACE_COMMIT else plan.action.value
        yield from _all_there(evidence, files, f"the pending {what} {plan.timestamp}")


def _all_there(evidence: Evidence, files: Iterable[str], by: str) -> Iterator[Finding]:
    for path in files:
        if path not in evidence.on_storage and not _is_over(evidence, by):
            yield error(6, path, f"{by} needs it, and it is not on storage", "restore it from a copy of the table")


def _is_over(evidence: Evidence, by: str) -> bool:
    """Whether the plan was carried out or withdrawn while this ran."""
    time = by.rsplit(" ", 1)[-1]
    if by.startswith("savepoint"):
        return not any(one.action is Action.SAVEPOINT for one in evidence.later.find(time))
    return not any(not one.is_completed for one in evidence.later.find(time))
