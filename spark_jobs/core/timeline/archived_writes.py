"""What the archive says of single writes: whether one was completed or rolled back, and what it wrote.

A snapshot asks it of the few instants whose files are older than the active timeline. Each archive file is read once at
most, and only where it may hold what is asked for: archival goes from old to new, so the files, in the order of their
numbers, are searched by halves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.format.instant import COMMITS, Action, Instant
from spark_jobs.core.format.order import earliest, follows, is_from, latest, oldest_first, precedes
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive.form import ArchivedState, ArchiveForm
from spark_jobs.core.timeline.archived import is_older
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.results import RollbackResult

_TRIES = 5


@dataclass(frozen=True, slots=True)
class _FileFacts:
    """What one archive file says: completed writes and completed rollbacks by time; ``failure`` where it is damaged,
    behind what could be read.
    """

    writes: Mapping[str, ArchivedState]
    rollbacks: Mapping[str, ArchivedState]
    failure: CorruptTableError | None

    @property
    def first(self) -> str:
        return earliest(self.writes)

    @property
    def last(self) -> str:
        return latest(self.writes)


class ArchivedWrites:
    """The completed writes and the rollbacks of an archive, as far as anybody asked. Pickles with what was read.

    :param folders: where archive files lie: beside the timeline, where early releases put them, and their own folder,
        which is listed when somebody asks.
    :param beside: those beside the timeline, by a listing of it.
    """

    def __init__(
        self,
        form: ArchiveForm,
        storage: Storage,
        folders: tuple[str, str],
        beside: Iterable[FileStatus],
    ) -> None:
        self._form = form
        self._storage = storage
        self._folders = folders
        self._beside = tuple(beside)
        self._listed: tuple[FileStatus, ...] | None = None
        self._facts: dict[FileStatus, _FileFacts] = {}
        self._targets: dict[str, frozenset[str]] = {}

    @property
    def is_there(self) -> bool:
        """Whether there is any archive file."""
        return bool(self._files)

    def expect_none(self) -> None:
        """Of a folder of their own, which is not there; unless it was listed already."""
        if self._listed is None:
            self._listed = self._form.oldest_first(self._beside)

    @property
    def _files(self) -> tuple[FileStatus, ...]:
        if self._listed is None:
            self._listed = self._form.oldest_first((*self._beside, *self._form.files(self._storage, self._folders[1])))
        return self._listed

    def has(self, time: str) -> bool:
        """Whether a write of this time was completed, by the archive.

        :raises CorruptTableError: it is not found, and a file that may hold it is damaged.
        """
        return self.completed(time) is not None

    def completed(self, time: str) -> Instant | None:
        """The completed write of this time; None where the archive has none.

        :raises CorruptTableError: as :meth:`has`.
        """
        found = self._find(time)
        return None if found is None else found.instant

    def commit_metadata(self, time: str, about: Collection[bytes] = ()) -> CommitMetadata | None:
        """What the completed write of this time wrote, as far as the archive keeps it (one ranged read); None where it
        has no such write.

        :param about: texts in UTF-8 of which its entry has one; None for one without, which is not decoded.
        :raises CorruptTableError: as :meth:`has`, or an entry that can't be read.
        """
        for _ in range(_TRIES):
            found = self._find(time)
            if found is None:
                return None
            try:
                return self._form.commit_metadata(self._storage, found, about)
            except StorageError:
                if not self._is_moved(found.place.path):
                    raise
        raise CorruptTableError(f"the archive of {time} is merged again and again", instant=time)

    def times_since(self, time: str) -> list[str]:
        """When the completed writes from an instant on (inclusive) began, oldest first.

        :raises CorruptTableError: a file that may hold one is damaged.
        """
        found: set[str] = set()
        for facts in self._all(time):
            if facts.failure is not None:
                raise facts.failure
            found.update(one for one in facts.writes if is_from(one, time))
        return oldest_first(found)

    def rolled_back_by(self, time: str) -> str | None:
        """The completed rollback that undid an instant, by the archive; None where it has none.

        :raises CorruptTableError: as :meth:`has`.
        """
        rollbacks: dict[str, ArchivedState] = {}
        for facts in self._all(time):
            rollbacks.update(facts.rollbacks)
        for at in oldest_first(one for one in rollbacks if follows(one, time)):
            rolled_back = self._targets_of(rollbacks[at])
            if rolled_back is None:  # the files are others
                return self.rolled_back_by(time)
            if time in rolled_back:
                return at
        return None

    def rollbacks_since(self, time: str) -> list[RollbackResult]:
        """The results of the completed rollbacks from an instant on (inclusive), oldest first; of a damaged file those
        that could be read.
        """
        found: dict[str, ArchivedState] = {}
        for facts in self._all(time):
            found.update(facts.rollbacks)
        results = []
        for at in oldest_first(one for one in found if is_from(one, time)):
            try:
                results.append(self._result_of(found[at]))
            except StorageError:
                if self._is_moved(found[at].place.path):  # the files are others
                    return self.rollbacks_since(time)
                raise
        return results

    def take_over(self, earlier: ArchivedWrites) -> None:
        """Take what an earlier snapshot read of files that are there unchanged."""
        if earlier._facts:
            self._facts.update({status: earlier._facts[status] for status in self._files if status in earlier._facts})
            self._targets.update(earlier._targets)

    def _targets_of(self, rollback: ArchivedState) -> frozenset[str] | None:
        """None where its entry moved to another file."""
        time = rollback.instant.timestamp
        known = self._targets.get(time)
        if known is None:
            try:
                known = self._targets[time] = frozenset(self._result_of(rollback).rolled_back)
            except StorageError:
                if not self._is_moved(rollback.place.path):
                    raise
                return None
        return known

    def _result_of(self, rollback: ArchivedState) -> RollbackResult:
        return RollbackResult.of(self._form.payload(self._storage, rollback) or {})

    def _find(self, time: str) -> ArchivedState | None:
        low, high = self._first_for(time), len(self._files)
        while low < high:
            middle = (low + high) // 2
            facts = self._facts_of(middle)
            if facts is None:  # the listing was renewed
                return self._find(time)
            if time in facts.writes:
                return facts.writes[time]
            if facts.writes and precedes(facts.last, time):
                low = middle + 1
            elif facts.writes and precedes(time, facts.first):
                high = middle
            else:
                break  # it should be here, or nothing tells on which side: a run keeps writes back for a savepoint
        everywhere = list(self._all(time))
        found = next((facts.writes[time] for facts in everywhere if time in facts.writes), None)
        failure = next((facts.failure for facts in everywhere if facts.failure is not None), None)
        if found is None and failure is not None:
            raise failure
        return found

    def _all(self, time: str) -> Iterator[_FileFacts]:
        """Of all files that may hold an instant or what came after it."""
        number = self._first_for(time)
        while number < len(self._files):
            facts = self._facts_of(number)
            if facts is None:
                yield from self._all(time)
                return
            yield facts
            number += 1

    def _first_for(self, time: str) -> int:
        """The first file, by number, that may hold an instant; one behind the last where none may.

        The last of those before it is asked whether that holds: a host whose clock is days ahead makes instants that
        are archived before their time.
        """
        may = (number for number, status in enumerate(self._files) if not is_older(status, time))
        number = next(may, len(self._files))
        while number > 0:
            facts = self._facts_of(number - 1)
            if facts is None:  # the listing was renewed
                return self._first_for(time)
            if precedes(facts.last, time):
                break
            number -= 1
        return number

    def _facts_of(self, number: int) -> _FileFacts | None:
        """What a file says; None where it is gone, after which the files are others."""
        status = self._files[number]
        if status not in self._facts:
            try:
                self._facts[status] = self._read(status)
            except StorageError:
                if not self._is_moved(status.path):
                    raise
                return None
        return self._facts[status]

    def _is_moved(self, path: str) -> bool:
        """Whether a merge of small files took one away: what it held is in another, so the files are listed anew."""
        if self._storage.stat(path) is not None:
            return False
        listed = (one for folder in self._folders for one in self._form.files(self._storage, folder))
        self._listed = self._form.oldest_first(listed)
        self._facts = {status: facts for status, facts in self._facts.items() if status in self._files}
        return True

    def _read(self, status: FileStatus) -> _FileFacts:
        writes: dict[str, ArchivedState] = {}
        rollbacks: dict[str, ArchivedState] = {}
        failure = None
        try:
            for state in self._form.entries(self._storage, status):
                instant = state.instant
                if not instant.is_completed:
                    continue
                if instant.action in COMMITS:
                    writes[instant.timestamp] = state
                elif instant.action is Action.ROLLBACK:
                    rollbacks[instant.timestamp] = state
        except CorruptTableError as error:
            failure = error
        return _FileFacts(writes, rollbacks, failure)
