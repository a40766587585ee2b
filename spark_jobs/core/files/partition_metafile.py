"""``.hoodie_partition_metadata``: what makes a directory a partition (Hudi: HoodiePartitionMetadata)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from spark_jobs.core.config.java_properties import format_properties
from spark_jobs.core.errors import AlreadyExistsError, BadRecordError
from spark_jobs.core.files.names import PARTITION_METAFILE
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.storage import FileStatus, RelativePath, Storage, join, resolve
from spark_jobs.core.storage.many import find_files

Enter = Callable[[Sequence[str]], list[str]]
"""Gives those of some folders (relative paths) that are looked into."""

Unmarked = Callable[[RelativePath, Sequence[str]], None]
"""Is called with a folder and the names of the files in it."""

METAFILES = (PARTITION_METAFILE, f"{PARTITION_METAFILE}.parquet", f"{PARTITION_METAFILE}.orc")


def ensure_partition_metafile(
    storage: Storage, base_path: str, partition: str, instant: str, passed: set[str] | None = None
) -> None:
    """Write the metafile of a partition unless it has one; the depth counts path components below the base path.

    :param passed: folders that this write saw to be no partitions; what it sees is added.
    :raises BadRecordError: the partition lies in another one, or around one.
    """
    path = resolve(base_path, join(partition, PARTITION_METAFILE))
    if storage.stat(path) is not None:
        return
    entries = storage.list(resolve(base_path, RelativePath(partition)))
    if any(entry.name in METAFILES for entry in entries):
        return
    refuse_partitions_around(storage, base_path, [partition], passed)
    _refuse_inner(storage, base_path, partition, entries)
    depth = len(partition.split("/")) if partition else 0
    text = format_properties({"commitTime": instant, "partitionDepth": str(depth)}, ("partition metadata",))
    try:
        storage.create(path, text)
    except AlreadyExistsError:
        return  # another task of the same write was first; both wrote the same
    try:  # again: another writer may have made one meanwhile. Around this one publication looks for it, under the lock
        _refuse_inner(storage, base_path, partition, storage.list(resolve(base_path, RelativePath(partition))))
    except BadRecordError:
        storage.delete(path)
        raise


def without_metafile(storage: Storage, base_path: str, partitions: Sequence[str]) -> list[str]:
    """Those which have none by Hudi's usual name."""
    paths = {one: _metafile(base_path, one, PARTITION_METAFILE) for one in partitions}
    there = find_files(storage, paths.values())
    return [one for one, path in paths.items() if path not in there]


def refuse_partitions_around(
    storage: Storage, base_path: str, partitions: Iterable[str], passed: set[str] | None = None
) -> None:
    """
    :param passed: folders that are known to be no partitions; those that are none are added.
    :raises BadRecordError: one of the partitions lies in another one, where no listing finds it: those look no deeper
        than the first metafile (Hudi: FileSystemBackedTableMetadata.getPartitionPathWithPathPrefixes).
    """
    around = {ancestor: one for one in partitions for ancestor in ancestors(one)}
    passed = set() if passed is None else passed
    asked = sorted(around.keys() - passed)
    there = find_files(storage, (_metafile(base_path, one, name) for one in asked for name in METAFILES))
    for ancestor in asked:
        if any(_metafile(base_path, ancestor, name) in there for name in METAFILES):
            raise _nested(around[ancestor], ancestor)
        passed.add(ancestor)


def _metafile(base_path: str, partition: str, name: str) -> str:
    return resolve(base_path, join(partition, name))


def _refuse_inner(storage: Storage, base_path: str, partition: str, entries: Sequence[FileStatus]) -> None:
    """:param entries: of the folder of the partition."""
    inner = _partition_below(storage, base_path, partition, entries)
    if inner is not None:
        raise _nested(inner, partition)


def _partition_below(
    storage: Storage, base_path: str, partition: str, entries: Sequence[FileStatus]
) -> RelativePath | None:
    for entry in entries:
        if entry.is_directory and entry.name != META_FOLDER:
            found: list[RelativePath] = []
            _visit(storage, base_path, join(partition, entry.name), found)
            if found:
                return found[0]
    return None


def ancestors(partition: str) -> list[str]:
    """The folders around a partition, the base path (``""``) among them."""
    parts = partition.split("/") if partition else []
    return ["/".join(parts[:depth]) for depth in range(len(parts))]


def _nested(inner: str, outer: str) -> BadRecordError:
    return BadRecordError(
        f"partition {inner!r} lies inside partition {outer!r}, where no reader would find its rows",
        todo="correct the partition values, or set hoodie.datasource.write.partitionpath.urlencode",
        inner=inner,
        outer=outer,
    )


def outermost(partitions: Iterable[str]) -> frozenset[str]:
    """Those that lie in none of the others."""
    found = frozenset(partitions)
    return frozenset(one for one in found if found.isdisjoint(ancestors(one)))


def list_partitions(
    storage: Storage, base_path: str, enter: Enter = list, unmarked: Unmarked | None = None
) -> list[RelativePath]:
    """Partition paths found by their metafiles, sorted; ``""`` where the base path itself is the partition.

    :param enter: asked about the folders in each; all by default.
    :param unmarked: called for folders without a metafile that have files.
    """
    found: list[RelativePath] = []
    _visit(storage, base_path, RelativePath(""), found, enter, unmarked)
    return sorted(found)


def _visit(
    storage: Storage,
    base_path: str,
    relative: RelativePath,
    found: list[RelativePath],
    enter: Enter = list,
    unmarked: Unmarked | None = None,
) -> None:
    entries: list[FileStatus] = storage.list(resolve(base_path, relative))
    if any(entry.name in METAFILES for entry in entries):
        found.append(relative)
        return
    if unmarked is not None:
        files = [entry.name for entry in entries if not entry.is_directory]
        if files:
            unmarked(relative, files)
    inner = [join(relative, entry.name) for entry in entries if entry.is_directory and entry.name != META_FOLDER]
    for folder in enter(inner) if inner else ():
        _visit(storage, base_path, RelativePath(folder), found, enter, unmarked)
