"""A table that was made for a write which then failed goes too: no job has reported it, and its settings may have been
the fault."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet

from spark_jobs.core.config.table_config import BACKUP, PROPERTIES
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.partition_metafile import METAFILES, list_partitions
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.storage import FileStatus, RelativePath, join, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.transaction import TransactionSettings

_SETTINGS = frozenset({PROPERTIES, BACKUP})
_ROLLBACKS = frozenset({Action.ROLLBACK})


def take_back_table(
    settings: TransactionSettings, notify: Callable[[str], None], past: AbstractSet[Action] = _ROLLBACKS
) -> None:
    """Remove a table on which nothing was ever written but rollbacks; one that another writer has begun with stays.

    Its properties go last, so that a crash on the way leaves an empty table. Where it fails, the table stays.

    :param past: what may have been completed on it.
    """
    try:
        with settings.new_lock() as locked:
            timeline = locked.load_timeline()
            if in_the_way(timeline, past) or timeline.has_archive:
                return
            _remove_partitions(locked)
            _remove_meta_files(locked)
        storage, meta = settings.storage, f"{settings.base_path}/{META_FOLDER}"
        settings.lock.forget(storage)
        if storage.remove_empty_directory(meta):  # else somebody waits for the lock in it
            storage.remove_empty_directory(settings.base_path)
    except HudiError as error:
        notify(f"the new table {settings.config.name} stays, without rows ({error})")


def in_the_way(timeline: ActiveTimeline, past: AbstractSet[Action]) -> list[Instant]:
    """The instants for which a table is not removed."""
    return [one for one in timeline.instants if one.action not in past or not one.is_completed]


def files_of_table(settings: TransactionSettings, gone: Collection[str]) -> dict[str, int]:
    """Bytes by relative path of the files that go with a table, but for the lock.

    :param gone: relative paths of data files that are deleted before.
    """
    storage, base_path = settings.storage, settings.base_path
    metafiles = [one for _, several in _empty_partitions(settings, frozenset(gone)) for one in several]
    metas = [one for one in storage.walk(f"{base_path}/{META_FOLDER}") if not _is_lock(settings, one)]
    return {one.path.removeprefix(f"{base_path}/"): one.size for one in (*metafiles, *metas)}


def _is_lock(settings: TransactionSettings, one: FileStatus) -> bool:
    return one.path in settings.lock.files(settings.storage)


def _empty_partitions(
    settings: TransactionSettings, gone: frozenset[str] = frozenset()
) -> Iterator[tuple[RelativePath, list[FileStatus]]]:
    """Partitions without anything but their metafiles, and these."""
    storage, base_path = settings.storage, settings.base_path
    for partition in list_partitions(storage, base_path):
        folder = resolve(base_path, partition)
        found = [one for one in storage.list(folder) if one.name != META_FOLDER]
        entries = [one for one in found if join(partition, one.name) not in gone]
        if all(one.name in METAFILES for one in entries):
            yield partition, entries


def _remove_partitions(settings: TransactionSettings) -> None:
    for partition, metafiles in _empty_partitions(settings):
        for one in metafiles:
            settings.storage.delete(one.path)
        _remove_empty_folders(settings, partition)


def _remove_empty_folders(settings: TransactionSettings, partition: RelativePath) -> None:
    while partition and settings.storage.remove_empty_directory(resolve(settings.base_path, partition)):
        partition = RelativePath(partition.rpartition("/")[0])


def _remove_meta_files(settings: TransactionSettings) -> None:
    storage, meta = settings.storage, f"{settings.base_path}/{META_FOLDER}"
    for one in storage.list(meta):
        if one.is_directory:
            if not any(name.startswith(f"{one.path}/") for name in settings.lock.files(storage)):
                storage.delete_tree(one.path)
        elif one.name not in _SETTINGS and not _is_lock(settings, one):
            storage.delete(one.path)
    for name in sorted(_SETTINGS):
        storage.delete(f"{meta}/{name}")
