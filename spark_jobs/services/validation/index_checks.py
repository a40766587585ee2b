"""Invariant 9 over the indexes of the metadata table (``--deep``): column statistics and bloom filters by footers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.folders import METADATA_FOLDER
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS, StoredBloomFilter, read_footer_filter
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS, ColumnStats
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.storage import join, resolve
from spark_jobs.engine.progress import Progress
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error
from spark_jobs.services.validation.footer_checks import FILES_AT_ONCE
from spark_jobs.services.validation.metadata_checks import open_metadata_table

_REBUILD = "drop the index with Hudi (`hudi-cli metadata` or hoodie.metadata.index.*.enable=false), then build it anew"
_File = tuple[str, str]


def check_indexes(evidence: Evidence, progress: Progress) -> Iterator[Finding]:
    """Of the base files that the latest slices have."""
    config = evidence.table.config
    if evidence.view is None:
        return
    files = [
        (one.partition, str(one.base_file.name)) for one in evidence.view.latest_slices() if one.base_file is not None
    ]
    if config.lists(MetadataPartition.COLUMN_STATS):
        yield from _column_stats(evidence, files, progress)
    if config.lists(MetadataPartition.BLOOM_FILTERS):
        yield from _bloom_filters(evidence, files, progress)


def _column_stats(evidence: Evidence, files: list[_File], progress: Progress) -> Iterator[Finding]:
    records = _records(evidence, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    if isinstance(records, Finding):
        yield records
        return
    columns = {one.column for one in records.values() if not one.is_deleted}

    def check(file: _File) -> list[Finding]:
        footer = read_footer_stats(evidence.table.storage, _whole(evidence, file), columns)
        found = {one.column: records.get(column_stats_key(one.column, *file)) for one in footer}
        if footer and all(one is None or one.is_deleted for one in found.values()):
            return [
                error(
                    9,
                    join(*file),
                    "column_stats of the metadata table does not have it",
                    _REBUILD,
                    Repair.METADATA_TABLE,
                )
            ]
        return [fault for one in footer for fault in _compare(file, one, found[one.column])]

    yield from _each(files, check, "column statistics", progress)


def _compare(file: _File, footer: ColumnStats, record: ColumnStats | None) -> Iterator[Finding]:
    if record is None:
        return  # a column that was not indexed when the file was written
    wrong = []
    if record.is_deleted:
        wrong.append("that it is deleted")
    elif record.values != footer.values:
        wrong.append(f"{record.values} values, and its footer {footer.values}")
    elif record.nulls != footer.nulls:
        wrong.append(f"{record.nulls} nulls, and its footer {footer.nulls}")
    else:
        for name, reported, known in (("least", record.low, footer.low), ("greatest", record.high, footer.high)):
            if reported is None or known is None or type(reported.value) is not type(known.value):
                continue  # Hudi wraps some types in other ways after a compaction
            if reported.value != known.value:
                wrong.append(f"the {name} value {reported.value!r}, and its footer {known.value!r}")
    for what in wrong:
        text = f"column_stats of the metadata table tells of column {footer.column} {what}: queries may pass it over"
        yield error(9, join(*file), text, _REBUILD, Repair.METADATA_TABLE)


def _bloom_filters(evidence: Evidence, files: list[_File], progress: Progress) -> Iterator[Finding]:
    records = _records(evidence, MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS)
    if isinstance(records, Finding):
        yield records
        return

    def check(file: _File) -> list[Finding]:
        footer = read_footer_filter(evidence.table.storage, _whole(evidence, file), "")
        record = records.get(bloom_filter_key(*file))
        if footer is None:
            return []
        if record is None or record.is_deleted:
            return [
                error(
                    9,
                    join(*file),
                    "bloom_filters of the metadata table does not have it",
                    _REBUILD,
                    Repair.METADATA_TABLE,
                )
            ]
        if not _equal(record, footer):
            return [
                error(
                    9,
                    join(*file),
                    "bloom_filters of the metadata table has another filter for it",
                    _REBUILD,
                    Repair.METADATA_TABLE,
                )
            ]
        return []

    yield from _each(files, check, "bloom filters", progress)


def _equal(one: StoredBloomFilter, other: StoredBloomFilter) -> bool:
    return (one.kind, one.text) == (other.kind, other.text)


def _each(files: list[_File], check: Any, name: str, progress: Progress) -> Iterator[Finding]:
    def safely(file: _File) -> list[Finding]:
        try:
            found: list[Finding] = check(file)
        except HudiError:
            return []  # the check of footers tells it
        return found

    with progress.phase(name, len(files)) as phase, ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        for found in pool.map(safely, files):
            phase.advance()
            yield from found


def _records(evidence: Evidence, partition: MetadataPartition, codec: Codec[Any]) -> Mapping[str, Any] | Finding:
    try:
        return read_records(open_metadata_table(evidence), partition, codec)
    except HudiError as failure:
        path = f"{METADATA_FOLDER}/{evidence.format.metadata.path(partition)}"
        return error(9, path, f"it is listed and unreadable ({failure.what})", _REBUILD, Repair.METADATA_TABLE)


def _whole(evidence: Evidence, file: _File) -> str:
    return resolve(evidence.table.base_path, join(*file))
