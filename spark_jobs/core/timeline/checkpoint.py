"""How far a table has read its source: kept in the metadata of its commits and nowhere else.

Hudi: StreamSync (its ``getCheckpointToResume``) and HoodieStreamer, which write and read the same keys.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import ConfigError, InstantGoneError, WriteConflictError
from spark_jobs.core.format.order import follows, newest_first
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archived import commits_that_say
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.rolled_back import RolledBackWrites

CHECKPOINT_KEY = "deltastreamer.checkpoint.key"
RESET_KEY = "deltastreamer.checkpoint.reset_key"
IGNORE_KEY = "deltastreamer.checkpoint.ignore_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCheckpoint:
    """What the newest commit that says anything of a checkpoint says; ``value`` is where to go on, in the source's
    words, ``reset`` and ``ignored`` are what its writer's options said.
    """

    value: str
    reset: str
    ignored: str

    @staticmethod
    def of(metadata: CommitMetadata) -> StoredCheckpoint | None:
        """None for a commit that has neither a checkpoint nor a reset one, as of a table service."""
        extra = metadata.extra_metadata
        value, reset = extra.get(CHECKPOINT_KEY) or "", extra.get(RESET_KEY) or ""
        if not value and not reset:
            return None
        return StoredCheckpoint(value=value, reset=reset, ignored=extra.get(IGNORE_KEY) or "")


def stored_checkpoint(timeline: ActiveTimeline, clock: Clock) -> StoredCheckpoint | None:
    """That of the newest completed commit that has one, archived or not; None where no commit ever had one.

    Hudi looks at delta commits alone where a MERGE_ON_READ table has any, and never at the archive: the newest commit
    is the same one, unless an overwrite of such a table carried the checkpoint, or all commits since were others. A
    commit that a savepoint keeps, or kept, may be older than archived ones.
    """
    kept, kept_at = None, ""
    for instant in reversed(timeline.completed_commits()):
        try:
            found = StoredCheckpoint.of(timeline.commit_metadata(instant, clock))
        except InstantGoneError:
            continue  # taken back, its checkpoint with it
        if found is None:
            continue
        if not timeline.unbroken_from or instant.follows(timeline.unbroken_from):
            return found
        kept, kept_at = found, instant.timestamp
        break
    archived = {
        instant.timestamp: found
        for instant, metadata in commits_that_say(timeline.archive_place, "deltastreamer.checkpoint")
        if (found := StoredCheckpoint.of(metadata)) is not None
    }
    rolled_back = RolledBackWrites(timeline)
    newer = (one for one in newest_first(archived) if follows(one, kept_at) and not rolled_back.has_archived(one))
    newest = next(newer, None)
    return kept if newest is None else archived[newest]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointOrders:
    """What the options say of the checkpoint: take ``reset`` instead of the table's, or start without one (``ignore``
    is any text). A table whose newest checkpoint was written under the same order has followed it already.
    """

    reset: str | None = None
    ignore: str | None = None

    def are_new_to(self, stored: StoredCheckpoint | None) -> bool:
        """Whether there are any that the table has yet to follow."""
        reset, ignored = ("", "") if stored is None else (stored.reset, stored.ignored)
        return (self.reset or "") not in ("", reset) or (self.ignore or "") not in ("", ignored)

    def resume(self, stored: StoredCheckpoint | None, table: str) -> str | None:
        """Where to go on; None to begin as the source's options say.

        :param table: its name.
        :raises ConfigError: the table has a commit that was given a checkpoint and stored none.
        """
        if stored is None or self.are_new_to(stored):
            return self.reset
        if not stored.value:
            raise ConfigError(
                f"the last commit of table {table} that was given a checkpoint ({stored.reset}) left none",
                todo="give --checkpoint with where to go on",
                table=table,
            )
        return stored.value


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMove:
    """What a write does to the checkpoint, in the same commit as its rows: from what the table had when the rows were
    chosen to ``after``.
    """

    before: StoredCheckpoint | None
    after: str
    orders: CheckpointOrders = CheckpointOrders()

    @property
    def left(self) -> StoredCheckpoint:
        """What the table says after it."""
        return StoredCheckpoint(value=self.after, reset=self.orders.reset or "", ignored=self.orders.ignore or "")

    def metadata(self) -> dict[str, str]:
        """Its entries of the commit's extra metadata."""
        said = {CHECKPOINT_KEY: self.after, RESET_KEY: self.orders.reset, IGNORE_KEY: self.orders.ignore}
        return {key: text for key, text in said.items() if text is not None}

    def refuse_others(self, timeline: ActiveTimeline, clock: Clock, table: str) -> None:
        """Asked under the table lock, so that no two writers take the same rows of the source.

        :raises WriteConflictError: the table's checkpoint is another than when the rows were chosen.
        """
        now = stored_checkpoint(timeline, clock)
        if now != self.before:
            shown = "none" if now is None else now.value
            known = "none" if self.before is None else self.before.value
            raise WriteConflictError(
                f"another run read the source of table {table}: its checkpoint moved meanwhile from {known} to {shown}",
                todo="let one run at a time read it, and run this one again; it goes on from there",
                table=table,
            )
