"""Which file group takes how many inserts: the example of Hudi's documentation on file sizes, and literal tables."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.write.pack import (
    InsertShare,
    SizeSettings,
    average_record_size,
    by_partition,
    pack_inserts,
    small_files,
)
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit

KB, MB = 1000, 1_000_000
SIZES = SizeSettings(
    max_file_size=120 * MB,
    small_file_limit=100 * MB,
    split_size=500_000,
    auto_split=True,
    record_size=KB,
    small_slices=1,
)


def test_the_published_example() -> None:
    """Files of at most 120 MB, small ones below 100 MB, records of 1 KB; there are files of 40, 80, 90, 130 and 105 MB.

    The first three are filled up with 80,000, 40,000 and 30,000 records; what is left makes new files of 120,000 each.
    """
    slices = [file_slice(f"file-{n}", "1", size * MB) for n, size in enumerate((40, 80, 90, 130, 105), 1)]
    small = small_files(slices, SIZES, merge_on_read=False)
    assert [one.file_id for one in small] == ["file-1", "file-2", "file-3"]
    assert pack_inserts(150_000 + 300_000, small, SIZES) == [
        InsertShare("file-1", 80_000),
        InsertShare("file-2", 40_000),
        InsertShare("file-3", 30_000),
        InsertShare(None, 120_000),
        InsertShare(None, 120_000),
        InsertShare(None, 60_000),
    ]


@pytest.mark.parametrize(
    ("inserts", "sizes", "changes", "expected"),
    [
        (0, [40], {}, []),
        (1, [], {}, [(None, 1)]),
        (10, [40], {}, [("g0", 10)]),
        (80_000, [40], {}, [("g0", 80_000)]),
        (80_001, [40], {}, [("g0", 80_000), (None, 1)]),
        (120_000, [], {}, [(None, 120_000)]),
        (120_001, [], {}, [(None, 120_000), (None, 1)]),
        (7, [], {"auto_split": False, "split_size": 3}, [(None, 3), (None, 3), (None, 1)]),
        (10, [99], {"max_file_size": 50 * MB}, [(None, 10)]),  # small, yet fuller than a file may be
        (10, [40], {"record_size": 90 * MB}, [(None, 2)] * 5),  # no room for one record
    ],
)
def test_shares(
    inserts: int, sizes: list[int], changes: dict[str, int], expected: list[tuple[str | None, int]]
) -> None:
    small = [file_slice(f"g{n}", "1", size * MB) for n, size in enumerate(sizes)]
    found = pack_inserts(inserts, small, replace(SIZES, **changes))  # type: ignore[arg-type]
    assert [(share.file_id, share.records) for share in found] == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**5), st.lists(st.integers(0, 130), max_size=6), st.integers(1, 10**7))
def test_every_insert_has_one_place_and_no_file_is_overfull(inserts: int, sizes: list[int], record_size: int) -> None:
    limits = replace(SIZES, record_size=record_size)
    small = [file_slice(f"g{n}", "1", size * MB) for n, size in enumerate(sizes)]
    shares = pack_inserts(inserts, small, limits)
    assert sum(share.records for share in shares) == inserts
    assert all(share.records > 0 for share in shares)
    sizes_of = {one.file_id: one.size for one in small}
    for share in shares:
        if share.file_id is not None:
            assert sizes_of[share.file_id] + share.records * record_size <= limits.max_file_size


def test_of_a_merge_on_read_table_the_smallest_slices_without_logs_take_inserts() -> None:
    slices = [
        file_slice("a", "1", 50 * MB),
        file_slice("b", "1", 10 * MB, 1),
        file_slice("c", "1", 20 * MB),
        file_slice("d", "1", None, 1),
        file_slice("e", "1", 100 * MB),
    ]
    assert [one.file_id for one in small_files(slices, SIZES, merge_on_read=True)] == ["c"]
    two = replace(SIZES, small_slices=2)
    assert [one.file_id for one in small_files(slices, two, merge_on_read=True)] == ["c", "a"]
    assert [one.file_id for one in small_files(slices, SIZES, merge_on_read=False)] == ["a", "b", "c"]


def commit(action: Action, *stats: WriteStat) -> tuple[Instant, CommitMetadata]:
    return Instant("1", action, State.COMPLETED), CommitMetadata(write_stats=stats)


def stat(written: int, records: int, *, log: bool = False) -> WriteStat:
    return WriteStat(
        file_id="g",
        path="g",
        partition_path="p",
        total_write_bytes=written,
        num_writes=records,
        log_version=1 if log else None,
    )


@pytest.mark.parametrize(
    ("commits", "threshold", "expected"),
    [
        ([], 1.0, KB),
        ([commit(Action.COMMIT, stat(300 * MB, 1_000_000))], 1.0, 300),
        ([commit(Action.COMMIT, stat(300 * MB, 999_999))], 1.0, 301),
        ([commit(Action.COMMIT, stat(100 * MB, 1))], 1.0, KB),  # it must have written more than the threshold
        ([commit(Action.COMMIT, stat(100 * MB, 100_000))], 0.5, KB),
        ([commit(Action.COMMIT, stat(60 * MB, 600_000))], 0.5, 100),
        ([commit(Action.COMMIT, stat(1, 1)), commit(Action.COMMIT, stat(200 * MB, 100_000))], 1.0, 2 * KB),
        ([commit(Action.DELTA_COMMIT, stat(300 * MB, 10, log=True))], 1.0, KB),  # logs tell nothing
        ([commit(Action.DELTA_COMMIT, stat(300 * MB, 10, log=True), stat(200 * MB, 400_000))], 1.0, 500),
        ([commit(Action.COMMIT, stat(300 * MB, 0))], 1.0, KB),
    ],
)
def test_average_record_size(commits: list[tuple[Instant, CommitMetadata]], threshold: float, expected: int) -> None:
    assert average_record_size(commits, SIZES, threshold) == expected


def test_by_partition() -> None:
    first, second = file_slice("a", "1", 1, partition="p"), file_slice("b", "1", 1, partition="q")
    assert by_partition([first, second]) == {"p": [first], "q": [second]}
