"""What completed writes say of their bytes in logs, laid beside the blocks that are there."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.log_block import MAGIC, BlockType, HeaderKey, encode_block
from spark_jobs.core.files.log_extents import LogExtent, LogExtents
from spark_jobs.core.files.log_reader import survey_log_files
from spark_jobs.core.files.log_writer import command_block

pytestmark = pytest.mark.unit

T1, T2, FAILED, ROLLBACK = (f"2024010100000000{number}" for number in range(4))
DONE = frozenset({T1, T2})


def data(instant: str, content: bytes = b"rows" * 10) -> bytes:
    headers = {HeaderKey.SCHEMA: "{}", HeaderKey.INSTANT_TIME: instant}
    return encode_block(BlockType.AVRO_DATA_BLOCK, headers, content)


ONE, TWO, LOST = data(T1), data(T2, b"more" * 20), data(FAILED)


def extent(instant: str, start: int, end: int, *names: str) -> LogExtent:
    return LogExtent(instant, names or ("f",), start, end)


def valid(written: tuple[LogExtent, ...], complete: bool = True, **files: bytes) -> list[str | None]:
    """The instants of the blocks that count in the files of one slice."""
    survey = survey_log_files(
        [(f"p/{name}", partial(pa.BufferReader, content)) for name, content in files.items()],
        DONE.__contains__,
        None,
        extents=LogExtents(written, complete),
    )
    return [placed.block.instant for placed in survey.valid]


FIRST, SECOND = extent(T1, 0, len(ONE)), extent(T2, len(ONE), len(ONE + TWO))
AFTER_LOST = extent(T2, len(ONE + LOST), len(ONE + LOST + TWO))
HALF_LOST = LOST[: len(LOST) // 2]
AFTER_HALF = extent(T2, len(ONE + HALF_LOST), len(ONE + HALF_LOST + TWO))


@pytest.mark.parametrize(
    ("content", "written"),
    [
        (ONE, (FIRST,)),
        (ONE + TWO, (FIRST, SECOND)),
        (ONE + LOST + TWO, (FIRST, AFTER_LOST)),
        (ONE + HALF_LOST + TWO, (FIRST, AFTER_HALF)),
        (ONE + LOST, (FIRST,)),
        (ONE + HALF_LOST, (FIRST,)),
        (ONE + LOST[:20], (FIRST,)),
        (ONE + MAGIC[:3], (FIRST,)),
        (ONE + LOST + command_block(ROLLBACK, FAILED), (FIRST,)),
        (ONE + HALF_LOST + command_block(ROLLBACK, FAILED), (FIRST,)),
        (ONE, (extent(T1, 0, 0),)),
        (ONE, (extent(T1, len(ONE), len(ONE)),)),
    ],
    ids=[
        "one write",
        "two writes",
        "a failed write between",
        "half a block of a failed write between, written past",
        "a failed write behind",
        "half a block of a failed write behind",
        "the head of one",
        "part of a magic",
        "a failed write and its rollback",
        "half a block of one and its rollback",
        "a length that nobody knows",
        "a start that nobody knows",
    ],
)
def test_what_hudi_leaves_is_read_as_hudi_reads_it(content: bytes, written: tuple[LogExtent, ...]) -> None:
    assert valid(written, f=content) == [one.instant for one in written]


@pytest.mark.parametrize("behind", [b"", LOST], ids=["alone", "before a failed write"])
@pytest.mark.parametrize(
    ("content", "written", "said"),
    [
        (b"", (FIRST,), "it has 0 bytes"),
        (ONE[:-1], (FIRST,), ""),
        (ONE[: len(ONE) // 2], (FIRST,), ""),
        (ONE + TWO[:-1], (FIRST, SECOND), ""),
        (ONE[:25] + bytes([ONE[25] ^ 64]) + ONE[26:], (FIRST,), ""),
        (ONE[:10] + bytes([ONE[10] ^ 1]) + ONE[11:] + TWO, (FIRST, SECOND), f"which instant {T1} wrote, is damaged"),
        (data(T1[:-1] + "9"), (FIRST,), f"it has no block of instant {T1}"),
        (ONE + data(T2[:-1] + "9", b"more" * 20), (FIRST, SECOND), f"it has no block of instant {T2}"),
        (ONE + TWO[:30] + b"x" * 200, (FIRST, SECOND), ""),
        (ONE + b"\0" * 33, (FIRST,), f"no log block begins at byte {len(ONE)}"),
        (ONE + ONE[: len(ONE) - 4] + b"x" * 20, (FIRST,), f"part of a block of instant {T1}"),
        (ONE + ONE, (FIRST,), f"a block of instant {T1} at byte {len(ONE)}"),
        (ONE + TWO, (FIRST,), f"a block of instant {T2} at byte {len(ONE)}"),
        (ONE + TWO, (FIRST, extent(T2, len(ONE), len(ONE + TWO) - 9)), "no block ends at byte"),
    ],
    ids=[
        "emptied",
        "last byte off",
        "half",
        "second write cut",
        "number of headers",
        "length of the first",
        "another instant",
        "another instant in the second",
        "overwritten to the end",
        "zeros behind",
        "part of a copy behind",
        "a whole copy behind",
        "a write that its commit does not name",
        "end within a block",
    ],
)
def test_damage_is_an_error(content: bytes, written: tuple[LogExtent, ...], said: str, behind: bytes) -> None:
    with pytest.raises(CorruptTableError) as caught:
        valid(written, f=content + behind)
    assert "p/f" in str(caught.value)
    if not behind:
        assert said in str(caught.value)


COPIED = extent(T1, 0, len(ONE), "f", "g")


@pytest.mark.parametrize("other", [b"", ONE[:30], ONE[:-1], ONE], ids=["empty", "torn", "last byte off", "whole"])
def test_of_files_with_one_statistic_one_has_to_hold_it(other: bytes) -> None:
    """Marker reconciliation lists the log of an attempt that died with the statistic of the one that did it."""
    assert set(valid((COPIED,), f=other, g=ONE)) == {T1}
    assert set(valid((COPIED,), f=ONE, g=other)) == {T1}
    with pytest.raises(CorruptTableError, match=T1):
        valid((COPIED,), f=ONE[:-1], g=ONE[:30])


def test_the_log_of_an_attempt_that_died_needs_no_statistic() -> None:
    """Hudi 0.14 does not list it anywhere."""
    assert valid((FIRST,), f=ONE, g=ONE[:40]) == [T1]
    assert valid((FIRST,), f=ONE, g=ONE) == [T1, T1]


def test_without_lengths_blocks_have_to_be_whole() -> None:
    unknown = (extent(T1, 0, 0),)
    assert valid(unknown, complete=False, f=ONE + LOST) == [T1]
    for content in (ONE[:-1], ONE + HALF_LOST, LOST):
        with pytest.raises(CorruptTableError):
            valid(unknown, complete=False, f=content)


def test_where_writes_may_be_missing_no_block_may_be_torn() -> None:
    assert valid((FIRST,), complete=False, f=ONE, g=TWO) == [T1, T2]
    with pytest.raises(CorruptTableError, match="no write says how long it was"):
        valid((FIRST,), complete=False, f=ONE, g=TWO[:40])
