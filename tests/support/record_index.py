"""Tables with a record index, and where it says that their keys are."""

from __future__ import annotations

from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.services.metadata import maintain_metadata_table
from tests.faults import local_table as local
from tests.support.folder import Folder, Where, as_folder
from tests.unit.core.metadata_table.agreement import disagreements, metadata_table_of

ENABLE = "hoodie.metadata.record.index.enable"
PLACES = ["_hoodie_record_key", "_hoodie_partition_path", "_hoodie_file_name"]


def index_of(path: Where) -> RecordIndex:
    return RecordIndex.of(metadata_table_of(path))


def places_by_index(path: Where) -> list[tuple[str, str, str]]:
    found = index_of(path).read_all()
    return sorted(zip(*(found.column(name).to_pylist() for name in ("key", "partition", "file_id")), strict=True))


def places_of_rows(path: Where) -> list[tuple[str, str, str]]:
    rows = as_folder(path).table().scan(columns=PLACES).to_arrow().to_pylist()
    return sorted((row[PLACES[0]], row[PLACES[1]], row[PLACES[2]].split("_")[0]) for row in rows)


def agrees(path: Folder) -> bool:
    assert "record_index" in path.table().config.metadata_partitions
    assert not disagreements(path)
    return places_by_index(path) == places_of_rows(path) != []


def upsert(path: Folder, first: int, number: int) -> str:
    return local.write(path, local.batch(first, 10, f"v{number}", number), f"k{number}")


def delete(path: Where, first: int, count: int, key: str, ts: int = 9) -> str:
    """Delete the records ``first`` to ``first + count``."""
    return local.delete(path, local.batch(first, count, "", ts), key)


def maintain(path: Where, after: int) -> None:
    told: list[str] = []
    settings = as_folder(path).table().transaction_settings(local.AT_ONCE)
    properties = {**local.AT_ONCE, "hoodie.metadata.compact.max.delta.commits": str(after)}
    maintain_metadata_table(settings, properties, told.append)
    assert told == []
