"""Why a clean does nothing, or not more, with the numbers that decided."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from spark_jobs.core.config.keys import clean as keys
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.frame.nothing import Nothing
from spark_jobs.services.cleaning.plan import CleanPlan, retained_by
from spark_jobs.services.due import commits_since


def why_not(table: HudiTable, properties: Mapping[str, str], plan: CleanPlan) -> Nothing | None:
    """The reason not to clean, with its numbers; None where there is something to do."""
    last = _last_cleaned(table)
    since, needed = commits_since(table.timeline, last), keys.CLEAN_MAX_COMMITS.of(properties)
    if len(since) < needed:
        return Nothing(
            f"{len(since)} commit(s) since the last clean, {needed} make it due ({keys.CLEAN_MAX_COMMITS.name})"
        )
    if plan.files:
        return None
    return Nothing(_why_nothing(table, plan))


def _why_nothing(table: HudiTable, plan: CleanPlan) -> str:
    completed, settings = len(table.timeline.completed_commits()), plan.settings
    if not settings.by_versions and plan.retain_from is None:
        pending = table.timeline.pending_writes()
        if settings.policy is keys.CleaningPolicy.KEEP_LATEST_BY_HOURS:
            return f"no commit of the last {settings.retained} hour(s) is completed before all pending ones"
        if completed > settings.retained and pending:
            return f"the pending instant {pending[0]} keeps all file slices"
        return f"{completed} completed commit(s), {settings.retained} are retained ({keys.CLEAN_COMMITS_RETAINED.name})"
    reason = "no file group has a slice older than the retained ones"
    if plan.held:
        savepoints = f"savepoint(s) {', '.join(plan.savepoints)} or " if plan.savepoints else ""
        reason += f", but for {plan.held} file(s) that {savepoints}pending plans keep"
    held_by = held_back_by(table, plan)
    return f"{reason}; {held_by} holds back what is retained" if held_by else reason


def held_back_by(table: HudiTable, plan: CleanPlan) -> str | None:
    """The pending write that keeps more commits' slices than the policy would; None where none does."""
    if plan.retain_from is None:
        return None
    free = retained_by(plan.settings, table.timeline.completed_commits(), ())
    if free is None or not free.follows(plan.retain_from.timestamp):
        return None
    pending = table.timeline.pending_writes()
    return f"the pending instant {pending[0]}" if pending else None  # else it ended since the plan was made


def _last_cleaned(table: HudiTable) -> str:
    """The newest commit that the last clean knew; empty where there was none, or nothing of it is readable.

    Hudi leaves an empty completed file where it died while it wrote one: its plan tells the same.
    """
    cleans = table.timeline.completed(Action.CLEAN)
    for instant in (cleans[-1], cleans[-1].at(State.REQUESTED)) if cleans else ():
        with suppress(CorruptTableError, StorageError):
            if instant.is_completed:
                return table.timeline.clean_result(instant, table.clock).last_completed
            return RequestedClean.read(table.timeline, instant, table.clock).last_completed
    return ""
