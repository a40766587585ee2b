"""A write of a name happens once: the idempotency key on the timeline (an Airflow retry never writes twice)."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import InstantGoneError
from spark_jobs.core.format.instant import COMMITS, Instant
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archived import commits_that_say
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.rolled_back import RolledBackWrites
from spark_jobs.core.transaction.contradictions import refuse_rolled_back_commits
from spark_jobs.core.transaction.transaction import TransactionSettings


def completed_write(timeline: ActiveTimeline, key: str, clock: Clock) -> tuple[Instant, CommitMetadata] | None:
    """The completed write that carries the key, newest first; an archived one too."""
    return _active_write(timeline, key, clock) or _archived_write(timeline, key)


def _active_write(timeline: ActiveTimeline, key: str, clock: Clock) -> tuple[Instant, CommitMetadata] | None:
    for instant in reversed(timeline.completed_commits()):
        try:
            metadata = timeline.commit_metadata(instant, clock)
        except InstantGoneError:
            continue  # taken back: it is to be done again
        if metadata.idempotency_key == key:
            refuse_rolled_back_commits(timeline, clock)  # its rows may be gone: it is not done
            return instant, metadata
    return None


def _archived_write(timeline: ActiveTimeline, key: str) -> tuple[Instant, CommitMetadata] | None:
    """Asked after the active timeline: an instant is in the archive before it leaves that. Not one that was taken back
    in between, after an archival that broke off: it is to be done again.
    """
    rolled_back = RolledBackWrites(timeline)
    for instant, metadata in commits_that_say(timeline.archive_place, key):
        if metadata.idempotency_key == key and not rolled_back.has_archived(instant.timestamp):
            return instant, metadata
    return None


def running_write(settings: TransactionSettings, timeline: ActiveTimeline, key: str) -> Instant | None:
    """A pending write with the key whose writer still lives."""
    for instant in timeline.pending(COMMITS):
        pulse = settings.pulse(instant.timestamp)
        if pulse.alive and pulse.idempotency_key == key:
            return instant
    return None


def settle(
    settings: TransactionSettings, key: str, notify: Callable[[str], None]
) -> tuple[Instant, CommitMetadata] | None:
    """Wait while another process writes under the key; the completed write if there is one, None if it is yet to be
    done.
    """
    reported = ""
    while True:
        timeline = settings.load_timeline()
        done = _active_write(timeline, key, settings.clock)
        if done is None and not reported:  # what ends while this waits does not reach the archive in between
            done = _archived_write(timeline, key)
        if done is not None:
            return done
        running = running_write(settings, timeline, key)
        if running is None:
            return None
        if reported != running.timestamp:
            notify(f"another process writes under this idempotency key (instant {running.timestamp}); waiting for it")
            reported = running.timestamp
        settings.clock.sleep(1.0)


def is_free(settings: TransactionSettings, timeline: ActiveTimeline, key: str) -> bool:
    """Neither done nor under way; asked under the table lock, so that of two processes one begins."""
    return completed_write(timeline, key, settings.clock) is None and running_write(settings, timeline, key) is None
