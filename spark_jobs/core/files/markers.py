"""Markers: on storage before the file they name, so that a rollback finds every file (Hudi: WriteMarkers)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.names import Marker, MarkerType, parse_marker
from spark_jobs.core.format.folders import MARKER_FOLDER
from spark_jobs.core.storage import RelativePath, Storage, resolve

TYPE_FILE = "MARKERS.type"
BATCH_PREFIX = "MARKERS"
BATCHED = "TIMELINE_SERVER_BASED"
"""Content of the type file."""


NEVER_COMPLETED = "never-completed"
"""An empty file among markers: a person says that the write was not completed, whose markers are gone."""


def marker_folder(base_path: str, instant: str) -> str:
    return f"{base_path}/{MARKER_FOLDER}/{instant}"


def create_marker(
    storage: Storage,
    base_path: str,
    instant: str,
    partition: str,
    file_name: str,
    kind: MarkerType,
    *,
    durable: bool = True,
) -> None:
    """A direct marker.

    :param durable: it outlives a loss of power at once; else by the storage's ``sync``.
    :raises AlreadyExistsError: this attempt made the file before.
    """
    marker = Marker(partition, file_name, kind)
    storage.create(marker_path(base_path, instant, marker), b"", durable=durable)


def marker_path(base_path: str, instant: str, marker: Marker) -> str:
    """Where a direct marker is."""
    return f"{marker_folder(base_path, instant)}/{marker.relative_path}"


def has_markers(storage: Storage, base_path: str, instant: str) -> bool:
    """Whether the folder of an instant's markers is there, empty or not. Where there are no folders, whether there are
    markers: objects that Hadoop's connectors leave for folders are none, and can't be removed by all clients.
    """
    folder = marker_folder(base_path, instant)
    if storage.capabilities.guarded:
        return storage.has_folder(folder)
    names = (name for name, _ in _marker_names(storage, folder))
    return any(name in (TYPE_FILE, NEVER_COMPLETED) or parse_marker(name) is not None for name in names)


def read_markers(storage: Storage, base_path: str, instant: str) -> list[Marker] | None:
    """All markers of an instant, each once, direct or batched (by whatever the type file says: a writer that died may
    have left it empty); None where its folder is missing.

    :raises OutsideTableError: a marker that leads out of the table.
    """
    names = [*_marker_names(storage, marker_folder(base_path, instant))]
    if not any(parse_marker(name) for name, _ in names) and not has_markers(storage, base_path, instant):
        return None
    markers: dict[Marker, None] = {}
    for name, where in names:
        marker = parse_marker(name)
        if marker is None:
            continue  # a line or a name that was cut: its file was not made before the whole was there
        RelativePath(name.rpartition(".marker.")[0], where)
        markers[marker] = None
    return list(markers)


def _marker_names(storage: Storage, folder: str) -> Iterator[tuple[str, str]]:
    """Of each marker its name, and the file that it stands in."""
    for status in storage.walk(folder):
        name = status.path[len(folder) + 1 :]
        if name == TYPE_FILE or "/" in name or not name[len(BATCH_PREFIX) :].isdigit():
            yield name, status.path
        else:
            for line in storage.read(status.path).decode("utf-8", errors="replace").split("\n"):
                yield line, status.path


def reconcile_markers(storage: Storage, base_path: str, instant: str, written: frozenset[str]) -> list[str]:
    """Delete data files that markers name and no write stat does: attempts of tasks that ran more than once.

    :param written: relative paths in the write stats.
    :returns: the relative paths that were deleted.
    :raises CorruptTableError: a path of the write stats has no marker, so that files which only
        markers name can't be distinguished from those that the commit needs; nothing was deleted.
    """
    marked = [marker.data_path for marker in read_markers(storage, base_path, instant) or []]
    unmarked = sorted(written.difference(marked))
    if unmarked:
        raise CorruptTableError(
            f"instant {instant} wrote {unmarked[0]}, of which it has no marker ({len(unmarked)} such file(s))",
            todo="run it again; nothing of it is visible",
            instant=instant,
            path=unmarked[0],
        )
    return _delete(storage, base_path, marked, written)


def delete_unnamed(storage: Storage, base_path: str, instant: str, kept: frozenset[str]) -> list[str]:
    """Delete data files that the markers left of an instant name, but for ``kept``; some markers may be gone already.

    :returns: the relative paths that were deleted.
    """
    marked = [marker.data_path for marker in read_markers(storage, base_path, instant) or []]
    return _delete(storage, base_path, marked, kept)


def _delete(storage: Storage, base_path: str, marked: list[RelativePath], kept: frozenset[str]) -> list[str]:
    return [path for path in marked if path not in kept and storage.delete(resolve(base_path, path))]


def delete_markers(storage: Storage, base_path: str, instant: str) -> None:
    storage.delete_tree(marker_folder(base_path, instant))


def marker_sizes(storage: Storage, base_path: str, instants: Collection[str]) -> dict[str, dict[str, int]]:
    """What :func:`delete_markers` would delete of those instants that have a folder of markers: bytes by whole path."""
    there = {status.name for status in storage.list(f"{base_path}/{MARKER_FOLDER}")}.intersection(instants)
    found = {one: storage.walk(marker_folder(base_path, one)) for one in sorted(there)}
    return {one: {status.path: status.size for status in files} for one, files in found.items()}
