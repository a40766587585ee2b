"""Invariant 9: the metadata table lists what is on storage; its indexes say what footers say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spark_jobs.core.config.keys.table import METADATA_PARTITIONS_INFLIGHT
from spark_jobs.core.config.table_config import PROPERTIES, TableConfig
from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.folders import META_FOLDER, METADATA_FOLDER
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import follows
from spark_jobs.core.metadata_table.layout import partition_of
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FileEntries, FileEntry
from spark_jobs.core.metadata_table.scan import read_file_records
from spark_jobs.core.metadata_table.table import REBUILD, MetadataTable
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.file_checks import base_instant_of
from spark_jobs.services.validation.finding import Finding, Repair, error, warning


def open_metadata_table(evidence: Evidence) -> MetadataTable:
    table = evidence.table
    return MetadataTable.open(table.storage, table.base_path, evidence.later, table.clock)


def check_metadata_table(evidence: Evidence) -> Iterator[Finding]:
    """The partition ``files``."""
    config = evidence.table.config
    inflight = METADATA_PARTITIONS_INFLIGHT.of(config.properties)
    if inflight and not evidence.later.pending({Action.INDEXING}):
        yield warning(
            9,
            f"{META_FOLDER}/{PROPERTIES}",
            f"metadata partition(s) {', '.join(inflight)} count as being built, and no indexing is pending",
            "the next write of Hudi drops and builds them anew",
        )
    if not config.lists(MetadataPartition.FILES):
        return
    evidence.on_storage  # noqa: B018  (what is on storage is read before what the metadata table says)
    try:
        opened = open_metadata_table(evidence)
        records = read_file_records(opened)
    except HudiError as failure:
        yield error(
            9, _files_folder(evidence), f"it is listed and unreadable ({failure.what})", REBUILD, Repair.METADATA_TABLE
        )
        return
    yield from _indexes(opened, config)
    yield from _partitions(evidence, records)
    listed: dict[str, FileEntry] = {
        join(partition_of(key), name): entry
        for key, entries in records.items()
        if key != ALL_PARTITIONS
        for name, entry in entries.items()
        if not entry.is_deleted
    }
    yield from _listed(evidence, listed)
    yield from _unlisted(evidence, listed)


def _indexes(opened: MetadataTable, config: TableConfig) -> Iterator[Finding]:
    """Files of the other partitions that are gone, or not as long as their delta commits say."""
    for partition in opened.partitions:
        if partition is MetadataPartition.FILES or not config.lists(partition):
            continue
        try:
            opened.slices(partition)
        except HudiError as failure:
            folder = f"{METADATA_FOLDER}/{opened.path_of(partition)}"
            yield error(9, folder, f"it is listed and unreadable ({failure.what})", REBUILD, Repair.METADATA_TABLE)


def _files_folder(evidence: Evidence) -> str:
    return f"{METADATA_FOLDER}/{evidence.format.metadata.path(MetadataPartition.FILES)}"


def _partitions(evidence: Evidence, records: Mapping[str, FileEntries]) -> Iterator[Finding]:
    entries = records.get(ALL_PARTITIONS, {})
    listed = {partition_of(name) for name, entry in entries.items() if not entry.is_deleted}
    for folder in evidence.partitions:
        has_data = any(_is_committed(evidence, join(folder.path, one.name)) for one in folder.files)
        if has_data and folder.path not in listed:
            yield error(
                9,
                _files_folder(evidence),
                f"it does not list partition {folder.path!r}, which has files",
                REBUILD,
                Repair.METADATA_TABLE,
            )
    for partition in sorted(listed - {one.path for one in evidence.partitions}):
        place = resolve(evidence.table.base_path, RelativePath(partition))
        if any(not entry.is_deleted for entry in records.get(partition, {}).values()):
            yield error(
                9,
                partition or ".",
                "the metadata table lists the partition, which is not on storage",
                REBUILD,
                Repair.METADATA_TABLE,
            )
        elif not evidence.table.storage.has_folder(place):
            yield warning(
                9,
                partition or ".",
                "the metadata table lists the partition, which is gone and empty",
                REBUILD,
                Repair.METADATA_TABLE,
            )


def _listed(evidence: Evidence, listed: Mapping[str, FileEntry]) -> Iterator[Finding]:
    for path, entry in sorted(listed.items()):
        status = evidence.on_storage.get(path)
        if status is None:
            if path in evidence.being_cleaned:
                continue  # it leaves the metadata table when the clean is completed
            if evidence.table.storage.stat(resolve(evidence.table.base_path, RelativePath(path))) is None:
                # without the metadata table no reader would miss a file that a write made
                is_live = _is_committed(evidence, path) and not _is_superseded(evidence, path)
                repair = None if is_live else Repair.METADATA_TABLE
                yield error(9, path, "the metadata table lists it, and it is not on storage", REBUILD, repair)
            continue
        is_base = evidence.format.parse_base_file(status.name) is not None
        if entry.size > status.size or (is_base and entry.size != status.size):
            what = f"the metadata table lists it with {entry.size} bytes, and storage has {status.size}"
            yield error(9, path, what, REBUILD, None if _is_short(evidence, path) else Repair.METADATA_TABLE)


def _is_superseded(evidence: Evidence, path: str) -> bool:
    """Whether a later base file of its file group is there."""
    instant, written = (
        base_instant_of(evidence, path),
        evidence.written.get(path) or evidence.archived_written.get(path),
    )
    if instant is None or written is None or evidence.view is None:
        return False
    return any(
        one.base_file is not None and follows(one.base_instant, instant)
        for group in evidence.view.all_groups()
        if (group.partition, group.file_id) == (written.partition, written.file_id)
        for one in group.slices
    )


def _is_short(evidence: Evidence, path: str) -> bool:
    """Whether the file is at fault: it has not what its write put there."""
    written = evidence.written.get(path) or evidence.archived_written.get(path)
    return written is not None and evidence.on_storage[path].size < written.size


def _unlisted(evidence: Evidence, listed: Mapping[str, FileEntry]) -> Iterator[Finding]:
    for path in sorted(evidence.on_storage.keys() - listed.keys()):
        if _is_committed(evidence, path) and not _is_cleaned_meanwhile(evidence, path):
            yield error(
                9,
                path,
                "it belongs to a completed write, and the metadata table does not list it",
                REBUILD,
                Repair.METADATA_TABLE,
            )


def _is_committed(evidence: Evidence, path: str) -> bool:
    if path in evidence.written or path in evidence.archived_written:
        return True
    name = evidence.format.parse_base_file(path.rsplit("/", 1)[-1])
    return name is not None and name.instant in evidence.archived_done


def _is_cleaned_meanwhile(evidence: Evidence, path: str) -> bool:
    return evidence.table.storage.stat(resolve(evidence.table.base_path, RelativePath(path))) is None
