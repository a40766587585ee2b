"""How far back a table can be read: cleaning took the files that older moments need.

Hudi: TimelineUtils.validateTimestampAsOf, which refuses a moment before ``earliestCommitToRetain`` of the last clean.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import ConfigError, CorruptTableError, InstantGoneError, StorageError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.order import BEFORE_ALL, earliest, follows, latest, precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.results import CleanResult
from spark_jobs.core.view.file_system_view import FileSystemView


def refuse_cleaned(timeline: ActiveTimeline, view: Callable[[], FileSystemView], until: str, clock: Clock) -> None:
    """
    :param view: gives all file groups of the table as it is now; asked only after cleans that keep versions.
    :param until: the moment that is asked for.
    :raises ConfigError: files that a reader of that moment needs were cleaned.
    """
    if any(one.timestamp == until for one in timeline.completed(Action.SAVEPOINT)):
        return  # cleaning keeps what it needs
    first = latest((earliest_readable(timeline, view, clock), _by_archived_cleans(timeline, view, until)))
    if precedes(until, first):
        raise ConfigError(
            f"the table can't be read as of {until}: cleaning removed files that this needs",
            todo=f"read as of {first} or later; hoodie.cleaner.commits.retained says how much history is kept",
            instant=until,
            earliest=first,
        )


def earliest_readable(timeline: ActiveTimeline, view: Callable[[], FileSystemView], clock: Clock) -> str:
    """The first instant as of which all rows are there; empty where nothing was cleaned.

    Of a clean that has begun any file may be gone: a listing of the rest would pass an older slice off for a deleted
    one.
    """
    bound = ""
    begun = [one for one in timeline.pending({Action.CLEAN}) if one.state is State.INFLIGHT]
    for clean in (*timeline.completed(Action.CLEAN), *begun):
        try:
            result = _result(timeline, clean, clock)
        except (CorruptTableError, InstantGoneError):
            if clean.is_completed:
                raise
            continue  # Hudi died before its plan was written, so nothing is deleted by it; or it ended meanwhile
        bound = latest((bound, result.retained_from or _by_versions(clean, result, view, timeline)))
    return bound


def _by_archived_cleans(timeline: ActiveTimeline, view: Callable[[], FileSystemView], until: str) -> str:
    """What cleans left that are archived by now. One that is older than the moment took nothing that it needs, so the
    archive is read only for moments before the oldest clean that is still on the active timeline.
    """
    cleans = timeline.completed(Action.CLEAN)
    if not timeline.has_archive or (cleans and not cleans[0].follows(until)):
        return ""
    archived = ArchivedTimeline.load(timeline.archive_place, until)
    bound = ""
    for clean in archived.completed(Action.CLEAN):
        result = archived.clean_result(clean)
        if result is not None:
            bound = latest((bound, result.retained_from or _by_versions(clean, result, view, timeline)))
    return bound


def _by_versions(
    clean: Instant, result: CleanResult, view: Callable[[], FileSystemView], timeline: ActiveTimeline
) -> str:
    """What a clean that keeps versions left: of each slice that it took, the next one of its file group; of a group
    that is gone as a whole, the newest write that the clean knew. Not before what was archived.
    """
    gone: dict[tuple[str, str], str] = {}
    for partition, names in result.deleted.items():
        for name in names:
            group, instant = _slice_of(timeline.format, partition, name)
            gone[group] = latest((gone.get(group, BEFORE_ALL), instant))
    if not gone:
        return ""
    left = {group.key: [one.base_instant for one in group.slices] for group in view().all_groups()}
    last = result.last_completed or _last_before(timeline, clean)
    later = (earliest((at for at in left.get(key, ()) if follows(at, taken)), last) for key, taken in gone.items())
    return latest((timeline.start, *later))


def _slice_of(format: TableFormat, partition: str, name: str) -> tuple[tuple[str, str], str]:
    base, log = format.parse_base_file(name), format.parse_log_file(name)
    if base is not None:
        return (partition, base.file_id), base.instant
    return ((partition, log.file_id), log.instant) if log is not None else ((partition, name), "")


def _last_before(timeline: ActiveTimeline, clean: Instant) -> str:
    done = timeline.commits_before(clean.timestamp)
    return done[-1].timestamp if done else BEFORE_ALL


def _result(timeline: ActiveTimeline, clean: Instant, clock: Clock) -> CleanResult:
    """What the clean did; by its plan where it is not completed, or Hudi died while it wrote the result."""
    if clean.is_completed:
        with suppress(StorageError):
            return timeline.clean_result(clean, clock)
    return RequestedClean.read(timeline, clean, clock).result()
