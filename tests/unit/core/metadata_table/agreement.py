"""Invariant 9: the metadata table equals the committed files on storage, or the table does not list it."""

from __future__ import annotations

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.format.v6.file_names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.metadata_table.layout import identifier_of
from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.core.metadata_table.scan import read_file_records
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.table import HudiTable
from tests.support.folder import Where, lake_of


def metadata_table_of(path: Where | str) -> MetadataTable:
    table = HudiTable.open(str(path), lake=lake_of(path))
    return MetadataTable.open(table.storage, table.base_path, table.timeline, SYSTEM_CLOCK)


def listed_files(path: Where | str) -> dict[str, dict[str, int]]:
    """Bytes by file name, by partition as keys spell it, as the metadata table has them."""
    records = read_file_records(metadata_table_of(path))
    return {
        key: {name: entry.size for name, entry in entries.items() if not entry.is_deleted}
        for key, entries in records.items()
        if key != "__all_partitions__"
    }


def stored_files(path: Where | str) -> dict[str, dict[str, int]]:
    """The same, as the storage has them."""
    listing = HudiTable.open(str(path), lake=lake_of(path), lists_storage=True).listing
    found: dict[str, dict[str, int]] = {}
    for partition in listing.partitions():
        found[identifier_of(partition)] = {
            status.name: status.size
            for _, status in listing.files([partition])
            if parse_base_file_name(status.name) or parse_log_file_name(status.name)
        }
    return found


def disagreements(path: Where | str) -> list[str]:
    """What the metadata table lists and the storage lacks, or the other way; none where it is not listed."""
    table = HudiTable.open(str(path), lake=lake_of(path))
    if "files" not in table.config.metadata_partitions:
        return []
    listed, stored = listed_files(path), stored_files(path)
    found = []
    for partition in sorted(listed.keys() | stored.keys()):
        mine, there = listed.get(partition, {}), stored.get(partition, {})
        found += [f"{partition}/{name} is only in the metadata table" for name in mine.keys() - there.keys()]
        found += [f"{partition}/{name} is only on storage" for name in there.keys() - mine.keys()]
        found += [
            f"{partition}/{name} has {there[name]} bytes, {mine[name]} by the metadata table"
            for name in mine.keys() & there.keys()
            if mine[name] > there[name]
        ]
    on_storage = HudiTable.open(str(path), lake=lake_of(path), lists_storage=True)
    named = table.partitions()
    # a write that was taken back leaves the folder of a new partition, as Hudi's does
    there = [one for one in on_storage.partitions() if stored.get(identifier_of(one)) or one in named]
    if named != there:
        found.append(f"partitions {named}, on storage {there}")
    if [one.paths for one in table.file_slices()] != [one.paths for one in on_storage.file_slices()]:
        found.append("the latest slices differ")
    if "record_index" in table.config.metadata_partitions:
        found += _misplaced(path)
    return found


def _misplaced(path: Where | str) -> list[str]:
    """Records that the record index and a query find in different file groups."""
    located = RecordIndex.of(metadata_table_of(path)).read_all()
    by_index = {one["key"]: (one["partition"], one["file_id"]) for one in located.to_pylist()}
    columns = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]
    rows = HudiTable.open(str(path), lake=lake_of(path)).scan(columns=columns).to_arrow().to_pylist()
    by_query = {row[columns[0]]: (row[columns[1]], row[columns[2]].split("_")[0]) for row in rows}
    return [
        f"record {key} is in {by_query.get(key)}, in {by_index.get(key)} by the record index"
        for key in sorted(by_index.keys() | by_query.keys())
        if by_index.get(key) != by_query.get(key)
    ]
