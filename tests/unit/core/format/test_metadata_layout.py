"""What the metadata table's own instants say of the data table's time."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.v6.metadata import METADATA

pytestmark = pytest.mark.unit

TIME = "20260102030405006"


@pytest.mark.parametrize(
    ("suffix", "merges", "makes"),
    [
        ("001", True, False),  # compaction
        ("002", False, False),  # clean
        ("003", False, False),  # what Hudi's restore adds, later than the restore of the data table
        ("005", True, False),  # log compaction
        ("006", False, False),  # rollback
        ("010", True, True),
        ("011", True, True),
    ],
)
def test_what_merges_and_what_makes_stands_behind_a_time(suffix: str, merges: bool, makes: bool) -> None:
    assert METADATA.is_own(TIME + suffix)
    assert METADATA.stands_behind(TIME + suffix) == (TIME if merges else None)
    assert METADATA.made_as_of(TIME + suffix) == (TIME if makes else None)


def test_a_time_of_both_tables_and_the_very_first_stand_behind_none() -> None:
    first = METADATA.time_of_making(METADATA.beginning, ())
    assert METADATA.made_as_of(first) == METADATA.beginning
    assert [METADATA.stands_behind(one) for one in (TIME, first)] == [None, None]
