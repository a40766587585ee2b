"""Invariant 5 of logs (``--deep``): their blocks have as many rows and deletes as the write stats of their writes say.

Hudi's HoodieAppendHandle counts a record as written, and as an insert or an update, when it goes into a data block, and
as deleted when it is to go into the delete block, which is written at the end: where a write began a new log file for
its size meanwhile, the deletes of one file may stand in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning

_WHOLE = "restore it from a copy of the table, or roll back the write that made it"
_STAT = (
    "restore the timeline file from a copy of the table; what counts by it (small files, statistics) is off till then"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCount:
    """What the write stats of one write say of one log; ``deletes`` is None where they may be in another log."""

    rows: int
    deletes: int | None


@dataclass(slots=True)
class BlockCount:
    """Rows and deletes by the instant of their blocks; not ``is_whole`` where some can't be counted."""

    rows: Counter[str] = field(default_factory=Counter)
    deletes: Counter[str] = field(default_factory=Counter)
    is_whole: bool = True

    def add_rows(self, kind: BlockType, instant: str, count: int) -> None:
        """Of an HFile block Hudi counts a key as often as it came, and stores it once."""
        if kind is BlockType.HFILE_DATA_BLOCK:
            self.is_whole = False
        elif kind is not BlockType.CDC_DATA_BLOCK:
            self.rows[instant] += count


def log_counts(evidence: Evidence) -> dict[str, dict[str, LogCount]]:
    """By relative path and instant, of the completed writes on the active timeline; not of what older tables' writers
    counted in their own ways, nor where records were refused, which Hudi may store as deletes, nor of a log that one
    write names for each time it appended to it.
    """
    found: dict[str, dict[str, LogCount]] = {}
    if not evidence.format.writable:
        return found
    for instant, metadata in evidence.commits.items():
        logs = [
            stat
            for stat in metadata.write_stats
            if stat.path and evidence.format.parse_log_file(stat.file_name) is not None
        ]
        of_path = Counter(stat.path for stat in logs)
        of_group = Counter((stat.partition_path, stat.file_id) for stat in logs)
        refused = {(stat.partition_path, stat.file_id) for stat in logs if stat.total_write_errors}
        for stat in logs:
            key = (stat.partition_path, stat.file_id)
            if key not in refused and of_path[stat.path] == 1:
                count = LogCount(rows=stat.num_writes, deletes=stat.num_deletes if of_group[key] == 1 else None)
                found.setdefault((stat.path or "").lstrip("/"), {})[instant.timestamp] = count
    return found


def compare_counts(path: str, reported: Mapping[str, LogCount], found: BlockCount) -> Iterator[Finding]:
    """What the blocks of a log have, and what its writes say."""
    if not found.is_whole:
        return
    for instant, count in reported.items():
        yield from _compare(path, instant, "rows", count.rows, found.rows[instant])
        if count.deletes is not None:
            yield from _compare(path, instant, "deletes", count.deletes, found.deletes[instant])


def _compare(path: str, instant: str, what: str, reported: int, found: int) -> Iterator[Finding]:
    if found != reported:
        text = f"its blocks of instant {instant} have {found} {what}, and the write stat counts {reported}"
        yield error(5, path, text, _WHOLE) if found < reported else warning(5, path, text, _STAT)


def check_parts(where: str, stat: WriteStat, path: str) -> Iterator[Finding]:
    """Of a log each row is an insert or an update.

    :param where: relative path of the timeline file.
    """
    came = stat.num_inserts + stat.num_update_writes
    if came != stat.num_writes and not stat.total_write_errors:
        what = f"the write stat of {path} counts {stat.num_writes} rows, and {came} inserts and updates"
        yield warning(5, where, what, _STAT)
