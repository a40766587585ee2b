"""How much a rewrite will write, and how long it or a deletion of files may take."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import StorageError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.results import CleanResult, RestoreResult, RollbackResult

LOG_TO_BASE = 0.35
"""Bytes of a base file for a byte of logs (``hoodie.logfile.to.parquet.compression.ratio``)."""
_BYTES_A_SECOND = 20e6
_FILES_A_SECOND = 1000
_RESULTS: dict[Action, Callable[[ActiveTimeline, Instant, Clock], CleanResult | RollbackResult | RestoreResult]] = {
    Action.CLEAN: ActiveTimeline.clean_result,
    Action.ROLLBACK: ActiveTimeline.rollback_result,
    Action.RESTORE: ActiveTimeline.restore_result,
}
_INFLIGHT = {OperationType.COMPACT: Action.COMPACTION, OperationType.CLUSTER: Action.REPLACE_COMMIT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """``rate`` in bytes of output a second; ``based_on`` says where it comes from."""

    bytes_out: int
    rate: float
    based_on: str

    @property
    def seconds(self) -> float:
        return round(self.bytes_out / self.rate, 1)

    def to_json(self) -> dict[str, Any]:
        return {"bytes_out": self.bytes_out, "seconds": self.seconds, "based_on": self.based_on}


def output_bytes(base_bytes: int, log_bytes: int) -> int:
    """What base files and logs of so many bytes come to when they are merged."""
    return base_bytes + int(log_bytes * LOG_TO_BASE)


def estimate(table: HudiTable, operation: OperationType, base_bytes: int, log_bytes: int) -> Estimate:
    """By the pace of the table's newest execution of the same service, from inflight to completed; else by a rough
    number for one core.
    """
    size = output_bytes(base_bytes, log_bytes)
    for instant in reversed(table.timeline.completed_commits()):
        if instant.action is Action.DELTA_COMMIT or operation not in _INFLIGHT:
            continue
        inflight = Instant(instant.timestamp, _INFLIGHT[operation], State.INFLIGHT)
        before = table.storage.stat(table.timeline.path(inflight))
        if before is None:
            continue
        metadata = table.timeline.commit_metadata(instant, table.clock)
        written = sum(stat.total_write_bytes for stat in metadata.write_stats)
        took = (table.timeline.moved_ms[instant] - before.modified_ms) / 1000
        if metadata.operation_type is operation and written and took > 0:
            return Estimate(bytes_out=size, rate=written / took, based_on=f"the pace of {instant.timestamp}")
    return Estimate(bytes_out=size, rate=_BYTES_A_SECOND, based_on=f"{_BYTES_A_SECOND / 1e6:.0f} MB a second")


def seconds_to_delete(table: HudiTable, action: Action, files: int) -> float:
    """By the time that the table's newest action of this kind took for each file that it deleted; else by a rough
    number.
    """
    for instant in reversed(table.timeline.completed(action)):
        with suppress(StorageError):
            result = _RESULTS[action](table.timeline, instant, table.clock)
            if result.files and result.took_ms:
                return round(result.took_ms / result.files * files / 1000, 3)
    return round(files / _FILES_A_SECOND, 3)


def seconds_to_write(size: int) -> float:
    """Of so many bytes, by the rough number."""
    return round(size / _BYTES_A_SECOND, 3)
