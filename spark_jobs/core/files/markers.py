"""Markers: on storage before the file they name, so that a rollback finds every file (Hudi: WriteMarkers)."""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.core.files.names import MARKER_FOLDER, Marker, MarkerType, join, parse_marker
from spark_jobs.core.storage import Storage

_TYPE_FILE = "MARKERS.type"
_BATCH_PREFIX = "MARKERS"


def marker_folder(base_path: str, instant: str) -> str:
    return f"{base_path}/{MARKER_FOLDER}/{instant}"


def create_marker(
    storage: Storage, base_path: str, instant: str, partition: str, file_name: str, kind: MarkerType
) -> None:
    """A direct marker.

    :raises AlreadyExistsError: this attempt made the file before.
    """
    marker = Marker(partition, file_name, kind)
    storage.create(f"{marker_folder(base_path, instant)}/{marker.relative_path}", b"")


def read_markers(storage: Storage, base_path: str, instant: str) -> list[Marker] | None:
    """All markers of an instant, direct or batched by Hudi's timeline server; None where its folder is missing."""
    folder = marker_folder(base_path, instant)
    if storage.stat(folder) is None:
        return None
    if storage.stat(f"{folder}/{_TYPE_FILE}") is None:
        names: Iterable[str] = (status.path[len(folder) + 1 :] for status in storage.walk(folder))
    else:
        names = (
            line
            for status in storage.list(folder)
            if status.name.startswith(_BATCH_PREFIX) and status.name != _TYPE_FILE
            for line in storage.read(status.path).decode("utf-8").splitlines()
        )
    return [marker for marker in map(parse_marker, names) if marker is not None]


def reconcile_markers(storage: Storage, base_path: str, instant: str, written: frozenset[str]) -> list[str]:
    """Delete data files that markers name and no write stat does: attempts of tasks that ran more than once.

    :param written: relative paths in the write stats.
    :returns: the relative paths that were deleted.
    """
    markers = read_markers(storage, base_path, instant) or []
    stray = [marker.data_path for marker in markers if marker.data_path not in written]
    return [path for path in stray if storage.delete(join(base_path, path))]


def delete_markers(storage: Storage, base_path: str, instant: str) -> None:
    storage.delete_tree(marker_folder(base_path, instant))
