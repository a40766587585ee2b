"""Which of the slices that may be compacted are (Hudi: package org.apache.hudi.table.action.compact.strategy); pure.

Hudi sorts slices of one rank in the order in which it listed them; here it is that of partition and file id.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from spark_jobs.core.config.keys.compact import COMPACT_STRATEGY, CompactionStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.view.file_slice import FileSlice

_KEY = re.compile(r"(?:^|(?<=/))[^/]*?=")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionLimits:
    """``target_io`` in megabytes read and written, ``log_size`` in bytes of logs and ``log_files`` that make a slice
    worth it (inclusive); ``partitions`` that day-based strategies take, counted from ``today``; a slice without a base
    file is taken to write ``max_file_size`` bytes.
    """

    target_io: int
    log_size: int
    max_file_size: int
    strategy: CompactionStrategy = CompactionStrategy.LOG_FILE_SIZE
    log_files: int = 0
    partitions: int = 10
    partition_regex: str = ""
    today: date = date.min


def wanted_partitions(names: Iterable[str], limits: CompactionLimits) -> list[str]:
    """The partitions that are looked at, in the order in which their slices come.

    :raises ConfigError: a day-based strategy, and a partition that is no day.
    """
    ordered = sorted(names)
    strategy = limits.strategy
    if strategy is CompactionStrategy.PARTITION_REGEX:
        return [name for name in ordered if re.search(limits.partition_regex, name)]
    if strategy is CompactionStrategy.DAY_BASED:
        return sorted(ordered, key=_day, reverse=True)[: limits.partitions]
    if strategy is CompactionStrategy.BOUNDED_PARTITIONS:
        return [name for name in sorted(ordered, key=_day, reverse=True) if _day(name) >= _earliest(limits)]
    if strategy is CompactionStrategy.UNBOUNDED_PARTITIONS:
        return [name for name in sorted(ordered, key=_day, reverse=True) if _day(name) < _earliest(limits)]
    return ordered


def choose(
    slices: Sequence[FileSlice], limits: CompactionLimits, io_megabytes: Callable[[FileSlice], int]
) -> list[FileSlice]:
    """The slices of a plan in its order.

    :param slices: of the wanted partitions, in their order; all have logs and are in no pending plan.
    """
    if limits.strategy is CompactionStrategy.LOG_FILE_SIZE:
        large = [one for one in slices if one.log_size >= limits.log_size]
        return _within_io(sorted(large, key=lambda one: -one.log_size), limits, io_megabytes)
    if limits.strategy is CompactionStrategy.LOG_FILE_NUMBER:
        many = [one for one in slices if len(one.log_files) >= limits.log_files]
        return _within_io(sorted(many, key=lambda one: -len(one.log_files)), limits, io_megabytes)
    if limits.strategy is CompactionStrategy.BOUNDED_IO:
        return _within_io(slices, limits, io_megabytes)
    return list(slices)


def _within_io(
    slices: Sequence[FileSlice], limits: CompactionLimits, io_megabytes: Callable[[FileSlice], int]
) -> list[FileSlice]:
    """Until the megabytes are used up; the slice that crosses the limit is in."""
    chosen: list[FileSlice] = []
    left = limits.target_io
    for one in slices:
        chosen.append(one)
        left -= io_megabytes(one)
        if left <= 0:
            break
    return chosen


def _earliest(limits: CompactionLimits) -> date:
    """The first day that is recent; those of the future are, too."""
    return date.fromordinal(max(1, limits.today.toordinal() - limits.partitions))


def _day(partition: str) -> date:
    """Of ``yyyy/MM/dd``, each part with or without its key (``year=2026/month=01/day=02``)."""
    try:
        year, month, day = (int(part) for part in _KEY.sub("", partition).split("/"))
        return date(year, month, day)
    except ValueError:
        raise ConfigError(
            f"partition {partition} is no day, yyyy/MM/dd, as the day-based compaction strategies need it",
            todo=f"choose another {COMPACT_STRATEGY.name}",
            partition=partition,
        ) from None
