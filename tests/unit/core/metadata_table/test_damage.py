"""Damage to the files of a metadata table ends in an error of this project; without its files it is passed over."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.scan import read_file_records, read_records
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_give_errors(indexed_table: Folder, seed: int) -> None:
    chance = random.Random(seed)
    folder = indexed_table / ".hoodie" / "metadata"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.size]
    for path in chance.sample(files, 3):
        data = bytearray(path.read_bytes())
        if chance.random() < 0.5:
            data = data[: chance.randrange(len(data))]
        else:
            for _ in range(chance.randrange(1, 20)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data)
    with suppress(HudiError):
        table = metadata_table_of(indexed_table)
        read_file_records(table)
        read_records(table, MetadataPartition.COLUMN_STATS, COLUMN_STATS)


def test_without_any_of_its_files_queries_answer_the_same(indexed_table: Folder) -> None:
    path = indexed_table
    expected = path.table(lists_storage=True).scan().to_arrow()
    for file in (indexed_table / ".hoodie" / "metadata").rglob("*.hfile"):
        file.write_bytes(b"no HFile")
    assert path.table().scan().to_arrow().equals(expected)
