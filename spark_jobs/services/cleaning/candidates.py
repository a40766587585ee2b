"""What a clean would take of a table, and what it would retain, by the ``hoodie.*`` values of a job."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.instant_time import format_instant, instant_text, parse_instant_time
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.core.view.pending import read_by_plan
from spark_jobs.services.cleaning.partitions import partitions_to_clean
from spark_jobs.services.cleaning.plan import CleanPlan, CleanSettings, needed_as_of, plan_cleaning, retained_by

_ALL_HOURS = 24 * 366 * 100
"""No table of Hudi's is as old; more hours would leave the calendar."""


def plan_clean(table: HudiTable, properties: Mapping[str, str]) -> CleanPlan:
    """What no retained instant, no savepoint and no pending plan needs."""
    savepoints = table.timeline.completed(Action.SAVEPOINT)
    completed = table.timeline.completed_commits()
    pending = [one.timestamp for one in table.timeline.pending_writes()]
    settings = clean_settings(table, properties)
    partitions = None
    if clean_keys.CLEAN_INCREMENTAL.of(properties) and not settings.by_versions:
        partitions = partitions_to_clean(table, retained_by(settings, completed, pending), savepoints)
    groups = table.view(partitions).all_groups()
    return plan_cleaning(
        groups,
        settings,
        completed=completed,
        pending=pending,
        protected=_protected(table, savepoints) | needed_as_of(groups, [one.timestamp for one in savepoints]),
        savepoints=tuple(one.timestamp for one in savepoints),
    )


def clean_settings(table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False) -> CleanSettings:
    """What the configuration asks for.

    :param at_last_commit: hours count back from the last commit, as archival counts them, not from now.
    """
    clean_keys.CLEAN_TRIGGER.of(properties)  # the one that there is; another word is refused
    clean_keys.CLEAN_SOURCE.of(properties)
    policy = clean_keys.CLEAN_POLICY.of(properties)
    if policy is clean_keys.CleaningPolicy.KEEP_LATEST_FILE_VERSIONS:
        return CleanSettings(policy=policy, retained=clean_keys.CLEAN_FILE_VERSIONS_RETAINED.of(properties))
    if policy is clean_keys.CleaningPolicy.KEEP_LATEST_COMMITS:
        return CleanSettings(policy=policy, retained=clean_keys.CLEAN_COMMITS_RETAINED.of(properties))
    hours = clean_keys.CLEAN_HOURS_RETAINED.of(properties)
    last, back = table.timeline.last_completed(), timedelta(hours=min(hours, _ALL_HOURS))
    if at_last_commit and last is not None:
        since = instant_text(parse_instant_time(last.timestamp) - back)
    else:
        since = format_instant(table.clock.now() - back, table.config.timezone)
    return CleanSettings(policy=policy, retained=hours, since=since)


def retained_from(
    table: HudiTable, properties: Mapping[str, str], *, at_last_commit: bool = False, beside_pending: bool = False
) -> Instant | None:
    """The earliest commit that a clean would retain now; None where its policy has none, or there is nothing to
    clean.

    :param beside_pending: as if no write were pending.
    """
    settings = clean_settings(table, properties, at_last_commit=at_last_commit)
    pending = [] if beside_pending else [one.timestamp for one in table.timeline.pending_writes()]
    return retained_by(settings, table.timeline.completed_commits(), pending)


def _protected(table: HudiTable, savepoints: tuple[Instant, ...]) -> frozenset[str]:
    """Names of files that savepoints, pending clusterings and pending log compactions hold."""
    names: set[str] = set()
    for savepoint in savepoints:
        names.update(table.timeline.savepoint(savepoint, table.clock).names)
    for pending in table.timeline.pending({Action.LOG_COMPACTION}):
        for one in RequestedCompaction.read(table.timeline, pending, table.clock).slices:
            names.update(one.log_files)
    for pending in table.timeline.pending({Action.REPLACE_COMMIT}):
        names.update(read_by_plan(table.timeline, pending, table.clock))
    return frozenset(names)
