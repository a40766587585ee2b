"""Compaction strategies by literal tables."""

from __future__ import annotations

from datetime import date

import pytest

from spark_jobs.core.config.keys.compact import COMPACT_STRATEGY, CompactionStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.services.compaction.plan import CompactionLimits, plan_compaction
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit

MB = 1024 * 1024
SLICES = (
    file_slice("a", "1", 5 * MB, MB, partition="2026/01/01"),
    file_slice("b", "1", 5 * MB, MB, MB, MB, partition="2026/01/02"),
    file_slice("c", "1", 5 * MB, 5 * MB, 1, partition="2026/01/03"),
    file_slice("d", "1", 5 * MB, partition="2026/01/04"),
)


@pytest.mark.parametrize(
    ("strategy", "options", "expected"),
    [
        (CompactionStrategy.LOG_FILE_SIZE, {}, "cba"),
        (CompactionStrategy.LOG_FILE_NUMBER, {}, "bca"),
        (CompactionStrategy.LOG_FILE_NUMBER, {"log_files": 2}, "bc"),
        (CompactionStrategy.LOG_FILE_NUMBER, {"target_io": 13}, "b"),
        (CompactionStrategy.BOUNDED_IO, {}, "abc"),  # as they are listed
        (CompactionStrategy.BOUNDED_IO, {"target_io": 11}, "a"),  # a reads 6 and writes 5
        (CompactionStrategy.BOUNDED_IO, {"target_io": 12}, "ab"),
        (CompactionStrategy.UNBOUNDED, {"target_io": 1}, "abc"),
        (CompactionStrategy.DAY_BASED, {}, "cba"),
        (CompactionStrategy.DAY_BASED, {"partitions": 2}, "c"),  # the newest has no logs, and counts
        (CompactionStrategy.BOUNDED_PARTITIONS, {"partitions": 3, "today": date(2026, 1, 5)}, "cb"),
        (CompactionStrategy.UNBOUNDED_PARTITIONS, {"partitions": 3, "today": date(2026, 1, 5)}, "a"),
        (CompactionStrategy.UNBOUNDED_PARTITIONS, {"partitions": 10**8, "today": date(2026, 1, 5)}, ""),
        (CompactionStrategy.PARTITION_REGEX, {"partition_regex": "0[13]$"}, "ac"),
    ],
)
def test_choice(strategy: CompactionStrategy, options: dict[str, object], expected: str) -> None:
    values = {"target_io": 1000, "log_size": 0, "max_file_size": 20 * MB, **options}
    plan = plan_compaction(SLICES, (), CompactionLimits(strategy=strategy, **values))  # type: ignore[arg-type]
    assert "".join(one.file_id for one in plan.slices) == expected


def test_days_with_keys_and_other_names() -> None:
    limits = CompactionLimits(target_io=1, log_size=0, max_file_size=1, strategy=CompactionStrategy.DAY_BASED)
    hive = [file_slice(day, "1", 1, 1, partition=f"year=2026/month=1/day={day}") for day in ("2", "10")]
    assert [one.file_id for one in plan_compaction(hive, (), limits).slices] == ["10", "2"]
    with pytest.raises(ConfigError, match=r"partition 2026-01-02 is no day, yyyy/MM/dd"):
        plan_compaction([file_slice("a", "1", 1, 1, partition="2026-01-02")], (), limits)


def test_a_strategy_is_named_by_hudis_class() -> None:
    whole = "org.apache.hudi.table.action.compact.strategy.UnBoundedCompactionStrategy"
    for name in (whole, "UnBoundedCompactionStrategy"):
        assert COMPACT_STRATEGY.of({COMPACT_STRATEGY.name: name}) is CompactionStrategy.UNBOUNDED
    with pytest.raises(ConfigError, match="give one of LogFileSizeBasedCompactionStrategy"):
        COMPACT_STRATEGY.of({COMPACT_STRATEGY.name: "com.example.Mine"})
