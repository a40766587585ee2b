"""Moving instants to the archive, and making few files of many (Hudi: HoodieTimelineArchiver, archive format 1).

When to archive, and what, is the caller's; so is the table lock, which it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile

from spark_jobs.core.config.table_keys import TimelineZone
from spark_jobs.core.errors import InstantStateError
from spark_jobs.core.files.log_block import parse_blocks
from spark_jobs.core.files.markers import delete_markers
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive_entries import entry_of
from spark_jobs.core.timeline.archive_files import (
    MERGE_PLAN_NAME,
    archive_name,
    archive_version,
    encode_entries,
    list_archive,
    read_merge_plan,
)
from spark_jobs.core.timeline.archive_schemas import MERGE_PLAN
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.avro_codec import encode_payload
from spark_jobs.core.timeline.instant import Instant, format_instant, parse_instant

_MOST_BYTES = 256 << 20
"""What one merge holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveResult:
    """What an archival did: the file that it wrote (None: all entries stood in the archive already), how many entries
    are in it, and the instants that left the active timeline.
    """

    path: str | None
    entries: int
    instants: tuple[Instant, ...]


def archive(
    timeline: ActiveTimeline, base_path: str, instants: Sequence[Instant], *, batch_size: int = 10
) -> ArchiveResult:
    """Write all states of completed instants to a new archive file, then take them off the active timeline.

    Hudi's order: first the entries, then pending states, then completed ones, oldest first; so a crash loses nothing
    and no plan looks pending again. A rerun writes no entry twice. Marker folders that are left go too.

    :param instants: completed ones, in the order in which their entries are to stand.
    :param batch_size: entries of a block (``hoodie.commits.archival.batch``).
    :raises InstantStateError: an instant that is not completed.
    :raises UnsupportedTableError: an action that has no form in the archive.
    """
    for instant in instants:
        if not instant.is_completed:
            raise InstantStateError(
                f"{instant} can't be archived before it is completed", instant=instant.timestamp, state=instant.state
            )
    storage, folder = timeline.storage, timeline.archive_folder
    finish_merge(storage, folder)
    states = _states(timeline, instants)
    if not states:
        return ArchiveResult(path=None, entries=0, instants=())
    before = ArchivedTimeline.load(storage, folder, min(state.timestamp for state, _ in states)).states
    fresh = [(state, status) for state, status in states if state not in before]
    path = _write(timeline, fresh, batch_size) if fresh else None
    for instant in instants:
        delete_markers(storage, base_path, instant.timestamp)
    pending = [state for state, _ in states if not state.is_completed]
    done = sorted((state for state, _ in states if state.is_completed), key=lambda one: one.timestamp)
    for state in (*pending, *done):
        storage.delete(timeline.path(state))
    return ArchiveResult(path=path, entries=len(fresh), instants=tuple(done))


def _states(timeline: ActiveTimeline, instants: Iterable[Instant]) -> list[tuple[Instant, FileStatus]]:
    """Every state of the instants that is on storage, by instant as given, then requested, inflight, completed."""
    wanted = {(one.timestamp, one.comparable_action): place for place, one in enumerate(instants)}
    found = []
    for status in timeline.storage.list(timeline.folder):
        state = parse_instant(status.name)
        if state is not None and (state.timestamp, state.comparable_action) in wanted:
            found.append((state, status))
    return sorted(found, key=lambda one: (wanted[one[0].timestamp, one[0].comparable_action], one[0].rank))


def _write(timeline: ActiveTimeline, states: Sequence[tuple[Instant, FileStatus]], batch_size: int) -> str:
    entries = [entry_of(state, timeline.storage.read(status.path), _moved(status)) for state, status in states]
    blocks = [encode_entries(entries[at : at + batch_size]) for at in range(0, len(entries), batch_size)]
    path = f"{timeline.archive_folder}/{archive_name(_next_version(timeline.storage, timeline.archive_folder))}"
    timeline.storage.create(path, b"".join(blocks))
    return path


def _moved(status: FileStatus) -> str:
    """When a state was reached, as Hudi writes it: the file's time as an instant in local time, on any table."""
    return format_instant(datetime.fromtimestamp(status.modified_ms / 1000, UTC), TimelineZone.LOCAL)


def _next_version(storage: Storage, folder: str) -> int:
    return max((archive_version(status.name) or 0 for status in list_archive(storage, folder)), default=0) + 1


def merge_small_files(storage: Storage, folder: str, *, at_least: int = 10, small_bytes: int = 20 << 20) -> str | None:
    """Make one file of the newest small ones, for storages that can't append; the table lock is held.

    Those before the newest that is not small stay, because the order of the files is that of time. A plan stands beside
    them meanwhile, so that :func:`finish_merge` can end or undo what broke off.

    :param at_least: files that make it worth while (``hoodie.archive.merge.files.batch.size``).
    :param small_bytes: ``hoodie.archive.merge.small.file.limit.bytes``.
    :returns: the new file's path; None where too few are small.
    """
    finish_merge(storage, folder)
    small = list(takewhile(lambda status: status.size <= small_bytes, list_archive(storage, folder)))
    small = _at_most(small, _MOST_BYTES)
    if len(small) < max(at_least, 2):
        return None
    name = archive_name(_next_version(storage, folder))
    plan = {"candidate": [status.path for status in small], "mergedArchiveFileName": name}
    storage.create(f"{folder}/{MERGE_PLAN_NAME}", encode_payload(MERGE_PLAN, plan))
    merged = f"{folder}/{name}"
    storage.create(merged, b"".join(_content(storage, status) for status in small))
    for status in small:
        storage.delete(status.path)
    storage.delete(f"{folder}/{MERGE_PLAN_NAME}")
    return merged


def finish_merge(storage: Storage, folder: str) -> None:
    """End or undo a merge of small files that broke off, ours or Hudi's: with all its files there still, the new one
    may be cut and goes; with one of them gone, it is whole, and the others go. Of a damaged plan only itself goes.
    """
    path = f"{folder}/{MERGE_PLAN_NAME}"
    if storage.stat(path) is None:
        return
    plan = read_merge_plan(storage, folder)
    if plan is not None:
        merged = f"{folder}/{plan['mergedArchiveFileName']}"
        candidates = [f"{folder}/{name}" for name in plan["candidate"]]
        if all(storage.stat(each) is not None for each in candidates):
            storage.delete(merged)
        elif storage.stat(merged) is not None:
            for each in candidates:
                storage.delete(each)
    storage.delete(path)


def _at_most(files: Sequence[FileStatus], limit: int) -> list[FileStatus]:
    kept, size = [], 0
    for status in files:
        size += status.size
        if size > limit:
            break
        kept.append(status)
    return kept


def _content(storage: Storage, status: FileStatus) -> bytes:
    """An archive file byte for byte, but for the part of a magic that a dying writer may leave at its end."""
    with storage.open_input(status.path) as file:
        end = max((block.end for block in parse_blocks(file)), default=0)
    return storage.read(status.path, 0, end)
