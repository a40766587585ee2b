"""File groups and slices from a listing (Hudi: AbstractTableFileSystemView); pure but for the listing itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.view.file_slice import BaseFile, FileGroup, FileSlice, LogFile
from spark_jobs.core.view.visibility import Visibility

GroupKey = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingServices:
    """What plans on the timeline hold: (partition, file id) -> instant."""

    compaction: Mapping[GroupKey, str]
    clustering: Mapping[GroupKey, str]
    replaced: Mapping[GroupKey, str]
    """By completed replace commits."""


@dataclass(frozen=True, slots=True)
class FileSystemView:
    """The slices of the partitions that were listed, as one reader sees them."""

    groups: tuple[FileGroup, ...]
    visibility: Visibility
    log_versions: Mapping[tuple[str, str, str], int]
    """(partition, file id, base instant) -> the highest log version on storage, seen or not."""

    def all_groups(self) -> tuple[FileGroup, ...]:
        """With every visible slice, replaced groups included."""
        return self.groups

    def live_groups(self) -> tuple[FileGroup, ...]:
        """Groups not replaced at the reader's moment."""
        until = self.visibility.until
        return tuple(
            group
            for group in self.groups
            if group.replaced_at is None or (until is not None and group.replaced_at > until)
        )

    def latest_slices(self) -> tuple[FileSlice, ...]:
        """The newest slice of each live group; the logs of a pending compaction come on top of the slice before it."""
        return tuple(merged for group in self.live_groups() if (merged := merged_slice(group)) is not None)

    def latest_base_files(self) -> tuple[BaseFile, ...]:
        """The newest base file of each live group, for read-optimized queries and key look-ups."""
        found = (
            next((one.base_file for one in group.slices if one.base_file is not None), None)
            for group in self.live_groups()
        )
        return tuple(base for base in found if base is not None)


def merged_slice(group: FileGroup) -> FileSlice | None:
    """What a reader merges: below a pending compaction the slice before it, then the logs written since it was
    planned.
    """
    slices = [one for one in group.slices if not one.is_empty]
    if not slices:
        return None
    newest = slices[0]
    pending = group.pending_compaction
    if pending is None or newest.base_instant != pending or newest.base_file is not None or len(slices) < 2:
        return newest
    return replace(slices[1], log_files=slices[1].log_files + newest.log_files)


def build_view(
    files: Iterable[tuple[str, FileStatus]],
    visibility: Visibility,
    services: PendingServices,
    written_by: Callable[[str], frozenset[str] | None] = lambda instant: None,
) -> FileSystemView:
    """Group a listing of (partition, file) into slices.

    Files of instants that are not completed, and base files of pending compactions or clusterings, are not seen; files
    with other names are passed over.

    :param written_by: the relative paths that a completed instant says it wrote, None where that is not known; asked
        only where there are several base files of one slice, left by attempts of a task that outlived the commit.
    :raises CorruptTableError: several base files of one slice, and none that its commit names.
    """
    bases: dict[GroupKey, dict[str, BaseFile]] = {}
    rivals: dict[tuple[GroupKey, str], list[BaseFile]] = {}
    logs: dict[GroupKey, dict[str, list[LogFile]]] = {}
    versions: dict[tuple[str, str, str], int] = {}
    for partition, status in files:
        base_name = parse_base_file_name(status.name)
        if base_name is not None:
            base, key = BaseFile(partition, base_name, status.size), (partition, base_name.file_id)
            first = bases.setdefault(key, {}).setdefault(base_name.instant, base)
            if first is not base:
                rivals.setdefault((key, base_name.instant), [first]).append(base)
            continue
        log_name = parse_log_file_name(status.name)
        if log_name is None:
            continue
        version_key = (partition, log_name.file_id, log_name.base_instant)
        versions[version_key] = max(log_name.version, versions.get(version_key, 0))
        if not log_name.is_cdc:
            by_instant = logs.setdefault((partition, log_name.file_id), {})
            by_instant.setdefault(log_name.base_instant, []).append(LogFile(partition, log_name, status.size))
    for (key, instant), several in rivals.items():
        if visibility.is_completed(instant):
            bases[key][instant] = _the_committed_one(instant, several, written_by)
    keys = sorted(bases.keys() | logs.keys())
    groups = (_group(key, bases.get(key, {}), logs.get(key, {}), visibility, services) for key in keys)
    return FileSystemView(tuple(group for group in groups if group.slices), visibility, versions)


def _the_committed_one(
    instant: str, several: list[BaseFile], written_by: Callable[[str], frozenset[str] | None]
) -> BaseFile:
    written = written_by(instant)
    named = [base for base in several if written is None or base.relative_path in written]
    if (written is None and len(named) > 1) or not named:
        paths = ", ".join(sorted(base.relative_path for base in several))
        raise CorruptTableError(
            f"{len(several)} base files of one file slice, and instant {instant} does not say which it wrote: {paths}",
            todo="remove those that its commit does not name",
            instant=instant,
        )
    return named[0]


def _group(
    key: GroupKey,
    bases: Mapping[str, BaseFile],
    logs: Mapping[str, list[LogFile]],
    visibility: Visibility,
    services: PendingServices,
) -> FileGroup:
    partition, file_id = key
    pending = services.compaction.get(key)
    slices = []
    for instant in sorted(bases.keys() | logs.keys(), reverse=True):
        is_planned = instant == pending and (visibility.until is None or instant <= visibility.until)
        base = bases.get(instant) if visibility.sees(instant) and instant != pending else None
        own_logs = logs.get(instant, [])
        # logs on a base instant that never completed hold nothing but blocks of that instant, unless a plan made it
        in_sight = visibility.sees(instant) or is_planned
        ordered = tuple(sorted(own_logs, key=lambda log: log.name.order)) if in_sight else ()
        if base is not None or ordered:
            slices.append(
                FileSlice(partition=partition, file_id=file_id, base_instant=instant, base_file=base, log_files=ordered)
            )
    return FileGroup(
        partition=partition,
        file_id=file_id,
        slices=tuple(slices),
        pending_compaction=pending,
        replaced_at=services.replaced.get(key),
    )
