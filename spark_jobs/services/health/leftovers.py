"""Orphans: data files of no instant, markers and heartbeats of instants that are over."""

from __future__ import annotations

from spark_jobs.core.errors import CorruptTableError, OutsideTableError
from spark_jobs.core.format.folders import HEARTBEAT_FOLDER, MARKER_FOLDER
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.storage import FileStatus, RelativePath, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.services.health.facts import Leftovers
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.hidden_slices import check_hidden_slices
from spark_jobs.services.validation.leftovers import orphan_files

_EXAMPLES = 10


def lists_storage(table: HudiTable) -> bool:
    """Whether files are listed from the storage, not from the metadata table."""
    listed = table.config.lists(MetadataPartition.FILES)
    return table.lists_storage or not listed or not table.config.format.trusts_metadata_table


def leftovers_of(table: HudiTable, view: FileSystemView, faults: list[str]) -> Leftovers:
    """:param faults: gets what could not be read."""
    debris = {
        folder: [
            f"{folder}/{one.name}"
            for one in table.storage.list(resolve(table.base_path, RelativePath(folder)))
            if one.name.isdigit() and one.name not in _pending_times(table)
        ]
        for folder in (MARKER_FOLDER, HEARTBEAT_FOLDER)
    }
    files = _orphaned(table, view, faults)
    paths = [path for path, _ in files] + debris[MARKER_FOLDER] + debris[HEARTBEAT_FOLDER]
    return Leftovers(
        files=len(files) if lists_storage(table) else None,
        bytes=sum(status.size for _, status in files),
        marker_folders=len(debris[MARKER_FOLDER]),
        heartbeats=len(debris[HEARTBEAT_FOLDER]),
        paths=tuple(sorted(paths)[:_EXAMPLES]),
    )


def _orphaned(table: HudiTable, view: FileSystemView, faults: list[str]) -> list[tuple[str, FileStatus]]:
    """Data files of no instant, and logs on slices that were taken back, by path. Base files tell by their names, in a
    listing of the storage; logs by their blocks, which are read where the caller asked for the storage.
    """
    if table.lists_storage:
        evidence = Evidence(table, reads_archive=False)
        try:
            paths = {one.path for one in (*orphan_files(evidence), *check_hidden_slices(evidence))}
            return [(path, evidence.on_storage[path]) for path in sorted(paths)]
        except (CorruptTableError, OutsideTableError) as failure:
            faults.append(failure.what)
    known = {one.timestamp for one in table.timeline.instants}
    return [
        (join(partition, status.name), status)
        for partition, status in (table.listing.files(table.partitions()) if lists_storage(table) else ())
        if _is_orphan(table, status.name, known, view)
    ]


def _pending_times(table: HudiTable) -> frozenset[str]:
    return frozenset(one.timestamp for one in table.timeline.instants if not one.is_completed)


def _is_orphan(table: HudiTable, name: str, known: set[str], view: FileSystemView) -> bool:
    """A base file of an instant that the timeline does not have, unless it may be an archived one's."""
    base = table.config.format.parse_base_file(name)
    return base is not None and base.instant not in known and view.visibility.fate(base.instant) is False
