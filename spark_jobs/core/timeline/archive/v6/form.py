"""The archive of table version 6 (Hudi: HoodieTimelineArchiver, archive format 1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from operator import attrgetter
from typing import Any, cast

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.format.instant_time import TimelineZone, format_instant
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive.form import ArchivedState, LeavingState
from spark_jobs.core.timeline.archive.v6.entries import commit_metadata_of, content_of, entry_of, instant_of
from spark_jobs.core.timeline.archive.v6.files import (
    PREFIX,
    EntryPlace,
    archive_blocks,
    archive_name,
    archive_version,
    decode_entry,
    encode_entries,
    is_unfinished_merge,
    oldest_first,
    read_entry,
)
from spark_jobs.core.timeline.archive.v6.listing import listed_entries
from spark_jobs.core.timeline.archive.v6.merge import merge_files, unsettled_merge
from spark_jobs.core.timeline.commit_metadata import CommitMetadata


@dataclass(frozen=True, slots=True)
class LogFileArchive:
    """Files ``.commits_.archive.N``, whose blocks hold an Avro record for each state of an instant. Small ones become
    one by a plan that lies beside them meanwhile.
    """

    def beside_timeline(self, files: Sequence[FileStatus]) -> Sequence[FileStatus]:
        """Early releases put them there."""
        rest = files[bisect_left(files, PREFIX, key=attrgetter("name")) :]
        return list(takewhile(lambda one: one.name.startswith(PREFIX), rest))

    def files(self, storage: Storage, folder: str) -> Sequence[FileStatus]:
        return self.beside_timeline(storage.list(folder))

    def oldest_first(self, files: Iterable[FileStatus]) -> tuple[FileStatus, ...]:
        return tuple(oldest_first(files))

    def entries(self, storage: Storage, file: FileStatus, needle: bytes = b"") -> Iterator[ArchivedState]:
        try:
            with storage.open_input(file.path) as opened:
                read = ((block, block.read_content()) for block in archive_blocks(opened))
                for entry, place in listed_entries((each for each in read if needle in each[1]), file.path):
                    instant = instant_of(entry)
                    if instant is not None:
                        yield ArchivedState(instant, entry.get("stateTransitionTime"), place)
        except CorruptTableError:
            # one that a merge was writing when it broke off is cut: all it should hold is elsewhere still
            if not is_unfinished_merge(storage, file.path.rpartition("/")[0], file.name):
                raise

    def commit_metadata(
        self, storage: Storage, state: ArchivedState, about: Collection[bytes] = ()
    ) -> CommitMetadata | None:
        place = cast(EntryPlace, state.place)
        data = storage.read(place.path, place.offset, place.length)
        if about and not any(text in data for text in about):
            return None
        return commit_metadata_of(decode_entry(data, place), state.instant)

    def payload(self, storage: Storage, state: ArchivedState) -> dict[str, Any] | None:
        return content_of(read_entry(storage, cast(EntryPlace, state.place)), state.instant)

    def encode(self, states: Sequence[LeavingState], batch_size: int) -> bytes:
        entries = [entry_of(one.instant, one.data, _local_time(one.moved_ms)) for one in states]
        return b"".join(encode_entries(entries[at : at + batch_size]) for at in range(0, len(entries), batch_size))

    def new_path(self, folder: str, there: Iterable[str], states: Sequence[Instant]) -> str:
        newest = max((archive_version(path.rpartition("/")[2]) or 0 for path in there), default=0)
        return f"{folder}/{archive_name(newest + 1)}"

    def add(self, storage: Storage, folder: str, path: str, data: bytes) -> None:
        storage.create(path, data)

    def merged_path(self, folder: str, inputs: Sequence[str], there: Iterable[str]) -> str:
        return self.new_path(folder, there, ())

    def merge(self, storage: Storage, folder: str, inputs: Sequence[str], path: str) -> None:
        merge_files(storage, folder, inputs, path)

    def unsettled(self, storage: Storage, folder: str) -> dict[str, int]:
        return unsettled_merge(storage, folder)


def _local_time(moved_ms: int) -> str:
    """When a state was reached, as Hudi writes it: the file's time as an instant in local time, on any table."""
    return format_instant(datetime.fromtimestamp(moved_ms / 1000, UTC), TimelineZone.LOCAL)
