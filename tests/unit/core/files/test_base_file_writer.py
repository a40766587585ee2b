"""Row groups, key index and dictionaries of the base files that we write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.files.base_file import footer_index, open_base_file
from spark_jobs.core.files.base_file_writer import BaseFileFormat, BaseFileWriter, BloomSettings
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.files.repeating import repeating_columns
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

SCHEMA = pa.schema([(RECORD_KEY, pa.string()), ("n", pa.int64())])
FORMAT = BaseFileFormat(
    schema=SCHEMA,
    avro_schema="{}",
    codec="zstd",
    codec_level=3,
    dictionary=True,
    bloom=BloomSettings(kind="DYNAMIC_V0", entries=1000, fpp=1e-6, max_entries=10_000),
)


def batches(sizes: list[int]) -> Iterator[pa.RecordBatch]:
    first = 0
    for size in sizes:
        numbers = list(range(first, first + size))
        yield pa.record_batch([pa.array([f"k{n:09}" for n in numbers]), pa.array(numbers)], schema=SCHEMA)
        first += size


def row_groups(path: Folder) -> list[int]:
    with open_base_file(path.storage, str(path)) as file:
        return [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1 << 20, [60]),
        (400, [20, 30, 10]),  # 22 bytes a row: a group ends with the batch that fills it
        (1, [10, 10, 10, 20, 10]),
    ],
)
def test_batches_share_row_groups(root: Folder, limit: int, expected: list[int]) -> None:
    writer = BaseFileWriter(root.storage, str(root / "f"), replace(FORMAT, row_group_bytes=limit))
    for batch in batches([10, 10, 10, 20, 10]):
        writer.write(batch)
    writer.close()
    assert row_groups(root / "f") == expected


def test_a_full_file_is_seen_before_its_row_group_is_full(root: Folder) -> None:
    writer = BaseFileWriter(root.storage, str(root / "f"), FORMAT)
    first, second = batches([2000, 2000])
    writer.write(first)
    assert not writer.is_of_size(1 << 20)
    assert writer.held_bytes == first.nbytes  # no need to write to know
    assert writer.is_of_size(1000)
    assert writer.held_bytes == 0
    writer.write(second)
    writer.close()
    assert row_groups(root / "f") == [2000, 2000]


def test_a_small_slice_does_not_keep_what_it_was_cut_from(root: Folder) -> None:
    writer = BaseFileWriter(root.storage, str(root / "f"), FORMAT)
    before = pa.total_allocated_bytes()
    for batch in batches([50_000] * 3):
        writer.write(batch.slice(7, 10))
    del batch
    assert pa.total_allocated_bytes() - before < 10_000
    writer.close()
    assert row_groups(root / "f") == [30]


def test_the_filter_of_the_older_version_is_read_only_to_add_keys(
    root: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (old,) = batches([100])
    writer = BaseFileWriter(root.storage, str(root / "old"), FORMAT)
    writer.write(old)
    writer.close()
    seed = footer_index(open_base_file(root.storage, str(root / "old")))
    nothing = pa.array([], pa.string())

    with monkeypatch.context() as patch:
        patch.setattr(BloomFilter, "from_base64", lambda *_: pytest.fail("the filter was read"))
        writer = BaseFileWriter(root.storage, str(root / "same"), FORMAT, seed)
        writer.write(old, nothing)
        writer.close()
    assert footer_index(open_base_file(root.storage, str(root / "same"))) == seed

    new = pa.array(["zz"])
    writer = BaseFileWriter(root.storage, str(root / "more"), FORMAT, seed)
    writer.write(old, nothing)
    writer.write(pa.record_batch([new, pa.array([1])], schema=SCHEMA), new)
    writer.close()
    more = footer_index(open_base_file(root.storage, str(root / "more")))
    assert more.key_range == ("k000000000", "zz")
    assert more.bloom is not None
    assert more.bloom.contains(pa.concat_arrays([old.column(RECORD_KEY), new])).all()


def test_which_columns_repeat() -> None:
    rows = pa.table(
        {
            "few": [n % 3 for n in range(5000)],
            "two_thousand": np.random.default_rng(1).integers(0, 2000, 5000),  # 1,024 rows do not tell, 4,096 do
            "half": [n // 2 for n in range(5000)],
            "unique": list(range(5000)),
            "nested": [[1]] * 5000,
            "yes": [True] * 5000,
        }
    )
    assert repeating_columns(rows) == ["few", "two_thousand", "half"]
    assert repeating_columns(rows.slice(0, 0)) == ["few", "two_thousand", "half", "unique"]
