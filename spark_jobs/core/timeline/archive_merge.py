"""Which small archive files become one (Hudi: HoodieTimelineArchiver)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from spark_jobs.core.timeline.archive.form import ArchivePlace

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


def choose_merge(
    archive: ArchivePlace, files: Mapping[str, int], rule: MergeRule, taken: Iterable[str] = ()
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
    path = archive.form.merged_path(archive.folder, list(inputs), [*files, *taken])
    return ArchiveMerge(inputs=inputs, path=path)
