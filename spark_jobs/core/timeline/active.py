"""The active timeline: loaded once as a value, its payloads read when asked for (Hudi: HoodieActiveTimeline)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys.archive import ARCHIVE_LOST_BEFORE
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import (
    CorruptTableError,
    InstantGoneError,
    InstantStateError,
    StorageError,
)
from spark_jobs.core.format.instant import COMMITS, WRITES, Action, Instant, State
from spark_jobs.core.format.instant_time import TimelineZone
from spark_jobs.core.format.order import AFTER_ALL, BEFORE_ALL, follows, is_from, latest, precedes
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.archive.form import ArchivePlace
from spark_jobs.core.timeline.archive.known import archive_of
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.archived_writes import ArchivedWrites
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, written_files_of
from spark_jobs.core.timeline.completion import Completion
from spark_jobs.core.timeline.payloads.form import PayloadForm
from spark_jobs.core.timeline.payloads.known import payloads_of
from spark_jobs.core.timeline.payloads.payload import Kind, Payload, kind_of
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.results import CleanResult, RestoreResult, RollbackResult, SavepointResult
from spark_jobs.core.timeline.write_stat import WrittenFile

T = TypeVar("T")
_TRIES = 5
_FEW = 64
"""Texts that are looked for in an entry before it is decoded: more take as long."""
_PLAN_COPIES = ".aux"


@dataclass(frozen=True, slots=True)
class ActiveTimeline:
    """The instants of one load, each in its highest state, sorted by time.

    ``moved_ms`` tells when an instant reached its state (milliseconds since the epoch, by its file). ``archive``
    answers for single instants that left the timeline; nothing of it is read before it is asked, and nothing twice.
    ``etags`` are those of the files, ``folders`` the names of what else lies beside them.

    Others go on meanwhile: what of an instant was archived since the load is read from the archive, which has it before
    it leaves the folder. One that is nowhere any more was taken back: :class:`InstantGoneError`.
    """

    storage: Storage
    folder: str
    instants: tuple[Instant, ...]
    moved_ms: dict[Instant, int]
    archive_folder: str
    archive: ArchivedWrites = field(compare=False)
    format: TableFormat
    lost_before: str = ""
    """Instants before it of which nothing is on record count as completed: the archive lost them."""
    zone: TimelineZone = TimelineZone.LOCAL
    """That of the times in it."""
    etags: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    folders: frozenset[str] = field(default=frozenset(), compare=False)
    supposes_archive: bool = False
    """Whether it is seen as if something had been archived."""

    @staticmethod
    def load(
        storage: Storage,
        folder: str,
        archive_folder: str,
        *,
        format: TableFormat,
        lost_before: str = "",
        zone: TimelineZone = TimelineZone.LOCAL,
    ) -> ActiveTimeline:
        """List the folder; files that are no timeline files are passed over.

        :param archive_folder: where archived instants go; whether anything is there tells if old ones were archived.
            Early releases put them in ``folder`` itself.
        """
        form = archive_of(format, storage, archive_folder).form
        for attempt in range(_TRIES):
            listed = storage.list(folder)
            files = [one for one in listed if not one.is_directory]
            folders = frozenset(one.name for one in listed if one.is_directory)
            moved = dict(format.highest_states((one.name, one.modified_ms) for one in files))
            archive = ArchivedWrites(form, storage, (folder, archive_folder), form.beside_timeline(files))
            timeline = ActiveTimeline(
                storage,
                folder,
                tuple(moved),
                moved,
                archive_folder,
                archive,
                format,
                lost_before,
                zone,
                etags={one.name: one.etag for one in files},
                folders=folders,
            )
            if attempt == _TRIES - 1 or not timeline._is_torn():
                break
        if storage.capabilities.ordered and archive_folder > f"{folder}/:" and timeline.lacks(archive_folder):
            archive.expect_none()  # instants begin with digits, before the colon: what is not listed was not archived
        return timeline

    @property
    def has_archive(self) -> bool:
        """Whether anything was archived. Looked up once, when it is asked for the first time."""
        return self.supposes_archive or self.archive.is_there

    def _is_torn(self) -> bool:
        """Whether a listing of a long folder caught an archival halfway: a completed instant whose older files came
        before they were deleted, and whose last file was deleted before its turn, looks pending. It is older than all
        that completed.
        """
        first = next((one.timestamp for one in self.completed_commits()), AFTER_ALL)
        old = [one for one in self.pending_writes() if one.precedes(first)]
        if not old or not self.has_archive:
            return False
        return any(self.storage.stat(self.path(one)) is None for one in old)

    def reload(self) -> ActiveTimeline:
        timeline = ActiveTimeline.load(
            self.storage,
            self.folder,
            self.archive_folder,
            format=self.format,
            lost_before=self.lost_before,
            zone=self.zone,
        )
        timeline.archive.take_over(self.archive)
        return timeline

    def lacks(self, path: str) -> bool:
        """Whether the listing showed that there is no such folder; False where it says nothing of that.

        :param path: a whole path.
        """
        inside = path.removeprefix(f"{self.folder}/")
        return inside != path and inside.partition("/")[0] not in self.folders

    def filter(self, keep: Callable[[Instant], bool]) -> tuple[Instant, ...]:
        return tuple(one for one in self.instants if keep(one))

    def completed_commits(self) -> tuple[Instant, ...]:
        """Completed commits, delta commits and replace commits, oldest first."""
        return self.filter(lambda one: one.is_completed and one.action in COMMITS)

    def commits_after(self, time: str) -> tuple[Instant, ...]:
        """Of :meth:`completed_commits` those that began after a time (exclusive)."""
        return tuple(one for one in self.completed_commits() if follows(one.timestamp, time))

    def commits_before(self, time: str) -> tuple[Instant, ...]:
        """Of :meth:`completed_commits` those that began before a time (exclusive)."""
        return tuple(one for one in self.completed_commits() if precedes(one.timestamp, time))

    def commits_from(self, time: str) -> tuple[Instant, ...]:
        """Of :meth:`completed_commits` those that began at a time or after it."""
        return tuple(one for one in self.completed_commits() if is_from(one.timestamp, time))

    def pending(self, actions: Iterable[Action]) -> tuple[Instant, ...]:
        wanted = frozenset(actions)
        return self.filter(lambda one: not one.is_completed and one.action in wanted)

    def without(self, pending: Collection[Instant]) -> ActiveTimeline:
        """The timeline as it will be when these are taken back."""
        return replace(self, instants=self.filter(lambda one: one not in pending))

    def supposing(self, pending: Instant) -> ActiveTimeline:
        """The timeline as it would be, were this instant completed."""
        done = pending.at(State.COMPLETED)
        if self.format.keeps_completion:
            done = replace(done, completed_at=AFTER_ALL)
        return replace(self, instants=tuple(done if one == pending else one for one in self.instants))

    def pending_writes(self) -> tuple[Instant, ...]:
        return self.pending(WRITES)

    def completed(self, action: Action) -> tuple[Instant, ...]:
        return self.filter(lambda one: one.is_completed and one.action is action)

    def last_completed(self) -> Instant | None:
        """The newest completed commit, delta commit or replace commit."""
        commits = self.completed_commits()
        return commits[-1] if commits else None

    @property
    def last_time(self) -> str:
        """The greatest instant of any action and state; empty on a new table."""
        return self.instants[-1].timestamp if self.instants else BEFORE_ALL

    @property
    def last_moment(self) -> str:
        """The latest time at which anything began or, where the table keeps it, was completed; empty on a new table."""
        if not self.format.keeps_completion:
            return self.last_time
        return latest((self.last_time, *(one.completed_at for one in self.instants if one.completed_at is not None)))

    @property
    def payloads(self) -> PayloadForm:
        """The form of what its files say."""
        return payloads_of(self.format)

    @property
    def archive_place(self) -> ArchivePlace:
        """Where its instants go, and in which form."""
        return archive_of(self.format, self.storage, self.archive_folder)

    @property
    def start(self) -> str:
        """The first write of the active timeline: a completed one that is older was archived. Empty while nothing was.

        Cleans and rollbacks are archived by counts of their own, so old ones of them say nothing.
        """
        return self.first_write if self.has_archive else ""

    @property
    def first_write(self) -> str:
        """The oldest write, completed or not; empty where there is none."""
        return next((one.timestamp for one in self.instants if one.action in WRITES), BEFORE_ALL)

    @property
    def unbroken_from(self) -> str:
        """The first write that no savepoint keeps, or the last of all where savepoints keep them all: archival beyond
        savepoints leaves holes before it, and behind it only where a savepoint was deleted since. Empty while nothing
        was archived (Hudi: HoodieDefaultTimeline.findFirstNonSavepointCommit).
        """
        return self.first_unsaved if self.start else ""

    @property
    def first_unsaved(self) -> str:
        """The first write that no savepoint keeps, or the last of all where savepoints keep them all; empty where there
        is none.
        """
        saved = {one.timestamp for one in self.instants if one.action is Action.SAVEPOINT}
        writes = [one.timestamp for one in self.instants if one.action in WRITES]
        return next((one for one in writes if one not in saved), writes[-1] if writes else BEFORE_ALL)

    def find(self, timestamp: str) -> tuple[Instant, ...]:
        return self.filter(lambda one: one.timestamp == timestamp)

    def path(self, instant: Instant) -> str:
        return f"{self.folder}/{self.name_of(instant)}"

    def name_of(self, instant: Instant) -> str:
        """The name of its file."""
        if instant.is_completed and instant.completed_at is None and self.format.keeps_completion:
            instant = next((one for one in self.instants if one == instant), instant)
        return self.format.file_name(instant)

    def completion(self, instant: Instant) -> Completion:
        """Where it is to be seen whether an instant is completed by now."""
        return Completion(self.folder, self.format, instant)

    def read(self, instant: Instant, *, anew: bool = False) -> bytes:
        """Its file byte for byte, of an instant that is not archived.

        :param anew: whatever was read of it before.
        :raises InstantGoneError: its file is not there any more.
        """
        path = self.path(instant)
        etag = self.etags.get(path.rpartition("/")[2]) if instant.is_completed and not anew else None
        try:
            return self.storage.read(path) if etag is None else self.storage.read_listed(path, etag)
        except StorageError as error:
            if self.storage.stat(path) is not None:
                raise
            raise self._gone(instant) from error

    def decode(self, instant: Instant) -> dict[str, Any]:
        """The Avro record of a plan or result, as it stands in its file just now.

        :raises InstantGoneError: its file is not there any more.
        :raises CorruptTableError: the file is empty, cut, or of another kind.
        """
        return self._shaped(self.read(instant), instant)

    def stored(self, instant: Instant) -> Payload:
        """What the file of a completed write, clean or rollback says, as it stands there; raises as :meth:`decode`."""
        kind = kind_of(instant)
        if kind is None:
            raise InstantStateError(f"{instant} has no payload that is known", instant=instant.timestamp)
        return Payload(kind, self.payloads.decode(self.read(instant), kind, self.name_of(instant)))

    def note(self, instant: Instant) -> dict[str, str]:
        """What this project keeps beside the record in the file of an instant, if that is there and whole."""
        try:
            return self.payloads.note_of(self.read(instant))
        except InstantGoneError:
            return {}

    def has_content(self, instant: Instant) -> bool:
        """Whether a state of an instant has anything in its file; not where there is no such file."""
        try:
            return bool(self.read(instant))
        except InstantGoneError:
            archived = self._archived(instant)
            return instant in archived.states and archived.payload(instant) is not None

    def commit_metadata(self, instant: Instant, clock: Clock) -> CommitMetadata:
        """The metadata of a commit-like instant.

        Hudi 0.15 does not publish completed files atomically on a local disk: one that is empty or cut is read again
        for a second before it counts as corrupt.

        :raises InstantGoneError: it was taken back since the timeline was loaded.
        """
        return self._patient(
            instant,
            clock,
            lambda data: CommitMetadata.of(self._commit_record(data, instant), self.name_of(instant)),
            lambda archived: archived.commit_metadata(instant),
        )

    def written_files(self, instant: Instant, clock: Clock) -> tuple[WrittenFile, ...]:
        """The files that a commit-like instant says it wrote.

        :raises InstantGoneError: it was taken back since the timeline was loaded.
        """
        return self._patient(
            instant,
            clock,
            lambda data: written_files_of(self._commit_record(data, instant), self.name_of(instant)),
            lambda archived: archived.commit_metadata(instant).written_files(),
        )

    def archived_files(self, begin: str, file_ids: Collection[str]) -> dict[str, tuple[WrittenFile, ...]]:
        """By the time of completed writes in the archive, from ``begin`` on (inclusive), the files that they wrote: of
        those that wrote to any of the file groups.

        :raises CorruptTableError: the archive is damaged.
        """
        about = [one.encode() for one in file_ids] if len(file_ids) <= _FEW else ()
        found = ((time, self.archive.commit_metadata(time, about)) for time in self.archive.times_since(begin))
        return {time: metadata.written_files() for time, metadata in found if metadata is not None}

    def payload(self, instant: Instant, clock: Clock) -> dict[str, Any]:
        """The Avro record of a plan or result.

        :raises InstantGoneError: it was taken back since the timeline was loaded.
        """
        return self._patient(
            instant,
            clock,
            lambda data: self._shaped(data, instant),
            lambda archived: archived.payload(instant),
        )

    def clean_result(self, instant: Instant, clock: Clock) -> CleanResult:
        """What a completed clean did; raises as :meth:`payload`, and so do those below."""
        return CleanResult.of(self.payload(instant, clock))

    def rollback_result(self, instant: Instant, clock: Clock) -> RollbackResult:
        return RollbackResult.of(self.payload(instant, clock))

    def restore_result(self, instant: Instant, clock: Clock) -> RestoreResult:
        return RestoreResult.of(self.payload(instant, clock))

    def savepoint(self, instant: Instant, clock: Clock) -> SavepointResult:
        return SavepointResult.of(self.payload(instant, clock))

    def plan(self, instant: Instant, clock: Clock) -> dict[str, Any]:
        """The Avro record of a pending instant's plan, from its requested file.

        Before version 6 a copy of a compaction's plan is in ``.aux``; in the oldest timelines, where an instant's one
        file was renamed from state to state, it is the only one (Hudi: readCompactionPlanAsBytes).
        """
        requested = instant.at(State.REQUESTED)
        copy = f"{self.folder}/{_PLAN_COPIES}/{self.name_of(requested)}"
        if self.storage.stat(self.path(requested)) is None and self.storage.stat(copy) is not None:
            return self._shaped(self.storage.read(copy), requested)
        return self.payload(requested, clock)

    def _shaped(self, data: bytes, instant: Instant) -> dict[str, Any]:
        name = self.name_of(instant)
        return shaped(self.payloads.decode(data, kind_of(instant), name), instant, name)

    def _commit_record(self, data: bytes, instant: Instant) -> dict[str, Any]:
        return self.payloads.decode(data, Kind.COMMIT, self.name_of(instant))

    def _archived(self, instant: Instant) -> ArchivedTimeline:
        return ArchivedTimeline.load(self.archive_place, instant.timestamp, instant.timestamp)

    def _from_archive(self, instant: Instant, read: Callable[[ArchivedTimeline], T | None]) -> T:
        archived = self._archived(instant)
        found = read(archived) if instant in archived.states else None
        if found is None:
            raise self._gone(instant)
        return found

    def _patient(
        self,
        instant: Instant,
        clock: Clock,
        decode: Callable[[bytes], T],
        from_archive: Callable[[ArchivedTimeline], T | None],
    ) -> T:
        for attempt in range(_TRIES):
            try:
                data = self.read(instant, anew=attempt > 0)
            except InstantGoneError:
                return self._from_archive(instant, from_archive)
            try:
                if data or not instant.is_completed or attempt == _TRIES - 1:
                    return decode(data)
            except CorruptTableError:
                if attempt == _TRIES - 1:
                    raise
            clock.sleep(0.2)
        raise CorruptTableError(f"{self.name_of(instant)} stays unreadable")

    def _gone(self, instant: Instant) -> InstantGoneError:
        return InstantGoneError(
            f"{self.name_of(instant)} is neither on the timeline nor in the archive any more: "
            "another process took it back",
            todo="run it again",
            instant=instant.timestamp,
        )


def load_timeline(storage: Storage, base_path: str, config: TableConfig) -> ActiveTimeline:
    """The timeline of a table, by its properties."""
    return ActiveTimeline.load(
        storage,
        config.format.timeline_folder(base_path),
        config.archive_folder(base_path),
        format=config.format,
        lost_before=ARCHIVE_LOST_BEFORE.of(config.properties),
        zone=config.timezone,
    )
