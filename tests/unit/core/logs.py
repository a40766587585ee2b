"""Log files read whole, and Avro blocks written whole, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_format import DEFAULT_LOG_FORMAT
from spark_jobs.core.files.log_reader import LogData, LogDeletes, LogSurvey, Opener, survey_log_files
from spark_jobs.core.files.log_writer import data_blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class LogScan:
    """What the valid blocks of some log files say, oldest first, and what was met on the way."""

    entries: tuple[LogData | LogDeletes, ...]
    survey: LogSurvey

    @property
    def data(self) -> list[LogData]:
        return [entry for entry in self.entries if isinstance(entry, LogData)]

    @property
    def deletes(self) -> list[LogDeletes]:
        return [entry for entry in self.entries if isinstance(entry, LogDeletes)]

    @property
    def records(self) -> int:
        return sum(entry.table.num_rows for entry in self.data)


def scan_log_files(
    files: Sequence[tuple[str, Opener]],
    is_valid_instant: Callable[[str], bool],
    max_instant: str | None,
    target_schema: pa.Schema,
    *,
    optimized: bool = False,
) -> LogScan:
    survey = survey_log_files(files, is_valid_instant, max_instant, optimized=optimized)
    return LogScan(entries=tuple(survey.read(target_schema)), survey=survey)


def avro_blocks(rows: pa.Table, avro: Mapping[str, Any], instant: str, *, max_block_bytes: int | None = None) -> bytes:
    """All rows as Avro data blocks."""
    chosen = replace(DEFAULT_LOG_FORMAT, data_block=BlockType.AVRO_DATA_BLOCK)
    if max_block_bytes is not None:
        chosen = replace(chosen, max_block_bytes=max_block_bytes)
    return b"".join(piece for block in data_blocks(rows, avro, instant, chosen) for piece in block.pieces)
