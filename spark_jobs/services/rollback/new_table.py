"""A table that was made for a write which then failed goes too: nothing was told of it, and its settings may have been
the fault."""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.config.table_config import BACKUP, META_FOLDER, PROPERTIES
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.names import join
from spark_jobs.core.files.partition_metafile import METAFILES, list_partitions
from spark_jobs.core.timeline.instant import Action
from spark_jobs.core.transaction.transaction import TransactionSettings

_SETTINGS = frozenset({PROPERTIES, BACKUP})


def take_back_table(settings: TransactionSettings, tell: Callable[[str], None]) -> None:
    """Remove a table on which nothing was ever written but rollbacks; one that another writer has begun with stays.

    Its properties go last, so that a crash on the way leaves an empty table. Where it fails, the table stays.
    """
    try:
        with settings.new_lock():
            timeline = settings.load_timeline()
            used = [one for one in timeline.instants if one.action is not Action.ROLLBACK or not one.is_completed]
            if used or timeline.has_archive:
                return
            _remove_partitions(settings)
            _remove_meta_files(settings)
        storage, meta = settings.storage, f"{settings.base_path}/{META_FOLDER}"
        if storage.remove_empty_directory(meta):  # else somebody waits for the lock in it
            storage.remove_empty_directory(settings.base_path)
    except HudiError as error:
        tell(f"the new table {settings.config.name} stays, without rows ({error})")


def _remove_partitions(settings: TransactionSettings) -> None:
    storage, base_path = settings.storage, settings.base_path
    for partition in list_partitions(storage, base_path):
        folder = join(base_path, partition) if partition else base_path
        entries = [one for one in storage.list(folder) if one.name != META_FOLDER]
        if all(one.name in METAFILES for one in entries):
            for one in entries:
                storage.delete(one.path)
            _remove_empty_folders(settings, partition)


def _remove_empty_folders(settings: TransactionSettings, partition: str) -> None:
    while partition and settings.storage.remove_empty_directory(f"{settings.base_path}/{partition}"):
        partition = partition.rpartition("/")[0]


def _remove_meta_files(settings: TransactionSettings) -> None:
    storage, meta = settings.storage, f"{settings.base_path}/{META_FOLDER}"
    for one in storage.list(meta):
        if one.is_directory:
            storage.delete_tree(one.path)
        elif one.name not in _SETTINGS and one.path != settings.lock.path:
            storage.delete(one.path)
    for name in sorted(_SETTINGS):
        storage.delete(f"{meta}/{name}")
