"""What an archive is asked, whatever the form in which a table version keeps it (Hudi: ArchivedTimelineLoader,
TimelineArchiver).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.commit_metadata import CommitMetadata


class EntryPlace(Protocol):
    """Where an entry stands; what else is in it is the form's own affair."""

    @property
    def path(self) -> str:
        """The whole path of its file."""


class ArchivedState(NamedTuple):
    """One archived state of an instant: when it was reached (an instant in local time, or None) and where it stands."""

    instant: Instant
    moved: str | None
    place: EntryPlace


class LeavingState(NamedTuple):
    """One state of an instant that goes to the archive, with the content of its file and when that was written
    (milliseconds since the epoch).
    """

    instant: Instant
    data: bytes
    moved_ms: int


class ArchiveForm(Protocol):
    """The names of archive files, and what stands in them. A value: it is pickled with the timeline.

    Files have an order, which is about that of the instants in them; a file does not change once it is there, but may
    go when its entries stand in another.
    """

    def beside_timeline(self, files: Sequence[FileStatus]) -> Sequence[FileStatus]:
        """Of a listing of the timeline's own folder, sorted by name, the files of the archive."""

    def files(self, storage: Storage, folder: str) -> Sequence[FileStatus]:
        """The archive files of a folder, in any order; none where there is no such folder."""

    def oldest_first(self, files: Iterable[FileStatus]) -> tuple[FileStatus, ...]:
        """Such files in their order."""

    def entries(self, storage: Storage, file: FileStatus, needle: bytes = b"") -> Iterator[ArchivedState]:
        """What the entries of a file are, in its order, of actions that this release knows; plans and metadata stay
        unread.

        :param needle: entries that do not have this text anywhere may be passed over.
        :raises CorruptTableError: it is no archive file; what could be read comes before.
        """

    def commit_metadata(
        self, storage: Storage, state: ArchivedState, about: Collection[bytes] = ()
    ) -> CommitMetadata | None:
        """What a write says of itself, as far as the archive keeps it; one read.

        :param about: texts in UTF-8 of which its entry has one; None for one without, which is not decoded.
        :raises CorruptTableError: no such entry is there.
        """

    def payload(self, storage: Storage, state: ArchivedState) -> dict[str, Any] | None:
        """The plan or result of a state, in the shape that it had on the timeline; None where none is kept.

        :raises CorruptTableError: no such entry is there.
        """

    def encode(self, states: Sequence[LeavingState], batch_size: int) -> bytes:
        """The content of a new file.

        :param batch_size: entries that stand together (``hoodie.commits.archival.batch``).
        :raises UnsupportedTableError: an action that has no place in the archive.
        :raises CorruptTableError: content that is not what belongs there.
        """

    def new_path(self, folder: str, there: Iterable[str], states: Sequence[Instant]) -> str:
        """Where a new file of these states goes, which is the last in order.

        :param there: the paths of all other files.
        """

    def add(self, storage: Storage, folder: str, path: str, data: bytes) -> None:
        """Put a new file into the archive: from then on its entries count.

        :raises AlreadyExistsError: it is there.
        """

    def merged_path(self, folder: str, inputs: Sequence[str], there: Iterable[str]) -> str:
        """Where the one file goes that is made of some.

        :param inputs: paths, newest first.
        :param there: the paths of all files, these too.
        """

    def merge(self, storage: Storage, folder: str, inputs: Sequence[str], path: str) -> None:
        """Make one file of some, newest first, which go. What breaks off is settled by the next."""

    def unsettled(self, storage: Storage, folder: str) -> dict[str, int]:
        """What goes of a change that broke off, in the order in which it goes: bytes by path. Empty where none did."""


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """The archive of one timeline. ``folder`` is where new files go."""

    storage: Storage
    folder: str
    form: ArchiveForm

    def newest_first(self) -> list[FileStatus]:
        return [*reversed(self.form.oldest_first(self.form.files(self.storage, self.folder)))]

    def sizes(self) -> Mapping[str, int]:
        """The archive files, newest first, with their bytes: as they are once what broke off is settled."""
        settled = self.form.unsettled(self.storage, self.folder)
        return {status.path: status.size for status in self.newest_first() if status.path not in settled}

    def settle(self) -> None:
        """End or undo a change that broke off."""
        for path in self.form.unsettled(self.storage, self.folder):
            self.storage.delete(path)
