"""The idempotency key of a write whose name goes through generations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import TimelineZone, format_instant
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.errors import OptionsError
from spark_jobs.services.run_generation import (
    ATTEMPT_KEY,
    KNOWN_DAYS,
    Attempt,
    RunRecord,
    Verdict,
    generation_key,
    judge,
)
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.once import completed_write

_ADDS = (Operation.INSERT, Operation.BULK_INSERT)
"""Operations that add the same rows again when they are repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The generation of a name that a run is about, and its idempotency key."""

    number: int
    key: str


def current_generation(
    settings: TransactionSettings, name: str, now: Attempt, *, may_repeat: bool, notify: Callable[[str], None]
) -> Generation:
    """The first generation that has not ended. Where it can't be known whether the task of a completed write succeeded,
    a write that may be repeated begins the next one.

    :param may_repeat: whether writing the same rows once more changes nothing that the first write did.
    :raises ConfigError: it may not, and it can't be known.
    :raises WriteConflictError: another try of the task has succeeded since this one began, and its write is gone.
    :raises StorageError: the timeline or the record of the name can't be read.
    """
    record = RunRecord.read(settings.storage, settings.base_path, name)
    timeline = settings.load_timeline()
    if now.ended is not None and record.ended > now.ended:
        return _of_another_try(settings, timeline, name, now.ended)
    number = record.ended
    while True:
        key = generation_key(name, number)
        done = completed_write(timeline, key, settings.clock)
        if done is None:
            return Generation(number=number, key=key)
        instant, metadata = done
        then = _attempt_of(metadata)
        returned = record.may_have_returned(number)
        verdict = judge(now, then, returned=returned, is_recent=_is_recent(settings, instant))
        if verdict is Verdict.SAME:
            return Generation(number=number, key=key)
        if not may_repeat:
            raise ConfigError(
                f"instant {instant.timestamp} wrote under {name}, and it can't be known whether that task succeeded",
                todo="give an --idempotency-key of its own to insert once more, or mark the task as a success",
                instant=instant.timestamp,
            )
        notify(
            f"instant {instant.timestamp} wrote under this name, its task may have succeeded: it is written once more"
        )
        number += 1


def _of_another_try(settings: TransactionSettings, timeline: ActiveTimeline, name: str, number: int) -> Generation:
    """The generation with which a try began that the scheduler gave up: another one of its task has succeeded since."""
    found = Generation(number=number, key=generation_key(name, number))
    if completed_write(timeline, found.key, settings.clock) is None:
        raise WriteConflictError(
            f"another try of {name} has succeeded since this one began",
            todo="nothing was written; clear the task to write anew",
        )
    return found


def _attempt_of(metadata: CommitMetadata) -> Attempt | None:
    """The try that made a commit; None where it names none, or what no release wrote."""
    try:
        return Attempt.parse(metadata.extra_metadata.get(ATTEMPT_KEY) or "")
    except OptionsError:
        return None


def of_generation(
    config: WriteConfig, table: HudiTable | None, progress: Progress
) -> tuple[WriteConfig, dict[str, int]]:
    """A write under the key of the generation that it is about, and what its result says of that; of a write without a
    task behind it, itself.

    :raises ConfigError, StorageError: as :func:`current_generation` says.
    :raises OptionsError: the task's try is none.
    """
    options = config.options
    name = options.idempotency_key
    if not name or not options.attempt or options.dry_run or options.explain:
        return config, {}
    now = Attempt.parse(options.attempt)
    if table is None:
        return config, {"generation": 0}
    settings = table.transaction_settings(config.properties)
    may_repeat = config.operation not in _ADDS
    found = current_generation(settings, name, now, may_repeat=may_repeat, notify=progress.note)
    return replace(config, options=replace(options, idempotency_key=found.key)), {"generation": found.number}


def _is_recent(settings: TransactionSettings, instant: Instant) -> bool:
    return instant.follows(format_instant(settings.clock.now() - timedelta(days=KNOWN_DAYS), TimelineZone.UTC))
