"""Making one archive file of many small ones, for storages that can't append (Hudi: HoodieTimelineArchiver).

A plan stands beside the files meanwhile, so that what broke off can be ended or undone. Whoever changes anything holds
the table lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.core.files.log_block import parse_blocks
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.archive_files import (
    MERGE_PLAN_NAME,
    archive_name,
    archive_version,
    list_archive,
    read_merge_plan,
)
from spark_jobs.core.timeline.archive_schemas import MERGE_PLAN
from spark_jobs.core.timeline.avro_codec import encode_payload

_MOST_BYTES = 256 << 20
"""What one merge holds in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRule:
    """When small archive files become one: ``at_least`` of them (``hoodie.archive.merge.files.batch.size``), each of no
    more than ``small_bytes`` (``hoodie.archive.merge.small.file.limit.bytes``).
    """

    at_least: int = 10
    small_bytes: int = 20 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMerge:
    """``inputs`` are bytes by path, newest first; they become ``path`` and are deleted."""

    inputs: Mapping[str, int]
    path: str

    @property
    def bytes(self) -> int:
        return sum(self.inputs.values())


def archive_sizes(storage: Storage, folder: str) -> dict[str, int]:
    """The archive files, newest first, with their bytes: as they are once a merge that broke off is settled."""
    settled = unsettled_merge(storage, folder)
    return {status.path: status.size for status in list_archive(storage, folder) if status.path not in settled}


def next_archive_path(folder: str, paths: Iterable[str]) -> str:
    """Of the archive file that comes after these."""
    newest = max((archive_version(path.rsplit("/", 1)[-1]) or 0 for path in paths), default=0)
    return f"{folder}/{archive_name(newest + 1)}"


def choose_merge(
    folder: str, files: Mapping[str, int], rule: MergeRule, taken: Iterable[str] = ()
) -> ArchiveMerge | str:
    """The newest small files, or why they are not merged. Those before the newest that is not small stay, because the
    order of the files is that of time.

    :param files: bytes by path, newest first.
    :param taken: other paths that the new file does not get.
    """
    inputs: dict[str, int] = {}
    for path, size in files.items():
        if size > rule.small_bytes or sum(inputs.values()) + size > _MOST_BYTES:
            break
        inputs[path] = size
    least = max(rule.at_least, 2)
    if len(inputs) < least:
        return f"{len(inputs)} small archive file(s) in a row; {least} or more become one"
    return ArchiveMerge(inputs=inputs, path=next_archive_path(folder, [*files, *taken]))


def carry_out_merge(storage: Storage, folder: str, merge: ArchiveMerge) -> None:
    """Hudi's order: the plan, the new file, then those that it is made of go, and the plan."""
    plan = {"candidate": list(merge.inputs), "mergedArchiveFileName": merge.path.rsplit("/", 1)[-1]}
    storage.create(f"{folder}/{MERGE_PLAN_NAME}", encode_payload(MERGE_PLAN, plan))
    storage.create(merge.path, b"".join(_content(storage, path) for path in merge.inputs))
    for path in merge.inputs:
        storage.delete(path)
    storage.delete(f"{folder}/{MERGE_PLAN_NAME}")


def unsettled_merge(storage: Storage, folder: str) -> dict[str, int]:
    """What goes of a merge that broke off, ours or Hudi's, in the order in which it goes: bytes by path.

    With all its files there still, the new one may be cut and goes; with one of them gone, it is whole, and the others
    go. Of a damaged plan only itself goes. Empty where no merge broke off.
    """
    path = f"{folder}/{MERGE_PLAN_NAME}"
    itself = storage.stat(path)
    if itself is None:
        return {}
    going: dict[str, int] = {}
    plan = read_merge_plan(storage, folder)
    if plan is not None:
        merged = storage.stat(f"{folder}/{plan['mergedArchiveFileName']}")
        candidates = [storage.stat(f"{folder}/{name}") for name in plan["candidate"]]
        left = [each for each in candidates if each is not None]
        if merged is not None:
            going = {each.path: each.size for each in ([merged] if len(left) == len(candidates) else left)}
    return {**going, path: itself.size}


def settle_merge(storage: Storage, folder: str) -> None:
    """End or undo a merge that broke off."""
    for path in unsettled_merge(storage, folder):
        storage.delete(path)


def _content(storage: Storage, path: str) -> bytes:
    """An archive file byte for byte, but for the part of a magic that a dying writer may leave at its end."""
    with storage.open_input(path) as file:
        end = max((block.end for block in parse_blocks(file)), default=0)
    return storage.read(path, 0, end)
