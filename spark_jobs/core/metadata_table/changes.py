"""What an action of the data table means for the partition ``files`` (Hudi: HoodieTableMetadataUtil)."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.metadata_table.layout import identifier_of
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FILES, FileEntries, file_list, partition_list
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.results import CleanResult, RollbackResult

FileChanges = Mapping[str, FileEntries]
"""Records to write, by key."""


def encode_changes(changes: FileChanges) -> dict[str, bytes]:
    """The values of the cells of a log block, by key."""
    return {key: FILES.encode(key, entries) for key, entries in changes.items()}


def changes_of(instant: Instant, payload: Payload) -> FileChanges | None:
    """The records for an action that is about to complete.

    :param payload: of its completed file.
    :returns: None for an action that the metadata table can't follow; it has to be built anew after it.
    :raises CorruptTableError: it is none of the action.
    """
    if instant.comparable_action in COMMITS:
        return changes_of_commit(CommitMetadata.of(payload.record, str(instant)))
    completed = instant.at(State.COMPLETED)
    if instant.action is Action.CLEAN:
        return changes_of_clean(CleanResult.of(shaped(payload.record, completed)))
    if instant.action is Action.ROLLBACK:
        return changes_of_rollback(RollbackResult.of(shaped(payload.record, completed)))
    return None


def changes_of_commit(metadata: CommitMetadata) -> FileChanges:
    """New files by partition, and all partitions of the commit, known ones too. Replaced files stay until a clean."""
    sizes: dict[str, dict[str, int]] = {}
    for stat in metadata.write_stats:
        known = sizes.setdefault(stat.partition_path, {})
        written = {path.rsplit("/", 1)[-1]: size for path, size in (stat.cdc_stats or {}).items()}
        if stat.path:
            written[stat.file_name] = stat.file_size_in_bytes
        for name, size in written.items():
            known[name] = max(size, known.get(name, 0))
    changes: dict[str, FileEntries] = {ALL_PARTITIONS: partition_list(sizes)}
    changes.update({identifier_of(partition): file_list(names) for partition, names in sizes.items() if names})
    return changes


def changes_of_clean(result: CleanResult) -> FileChanges:
    """Files that go, and partitions that went with their last file."""
    changes: dict[str, FileEntries] = {}
    if result.emptied:
        changes[ALL_PARTITIONS] = partition_list((), result.emptied)
    changes.update({identifier_of(path): file_list({}, names) for path, names in result.deleted.items() if names})
    return changes


def changes_of_rollback(result: RollbackResult) -> FileChanges:
    """Log files that the rollback added and those whose blocks it took back: both stand on storage after it.

    The files that it deleted were never listed, or leave with the delta commit that listed them.
    """
    changes: dict[str, FileEntries] = {}
    for path, done in result.partitions.items():
        sizes = {name: max(size, done.added.get(name, 0)) for name, size in {**done.added, **done.cancelled}.items()}
        if sizes:
            changes[identifier_of(path)] = file_list(sizes)
    return changes


def changes_of_listing(files: Mapping[str, Mapping[str, int]]) -> FileChanges:
    """All records of a new metadata table: bytes by file name, by partition path."""
    changes: dict[str, FileEntries] = {ALL_PARTITIONS: partition_list(files)}
    changes.update({identifier_of(partition): file_list(names) for partition, names in files.items()})
    return changes
