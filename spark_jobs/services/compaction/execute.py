"""One operation of a compaction: logs over base, a new base file out (Hudi: HoodieCompactor); runs in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spark_jobs.core.files.log_reader import LogData, LogDeletes, LogSurvey
from spark_jobs.core.format.order import precedes
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.handles.merge import merge_base_file
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice


@dataclass(frozen=True, slots=True)
class Compactor:
    """Merges slices one by one; pickles."""

    context: WriteContext
    reader: SliceReader

    def __call__(self, file_slice: FileSlice, scope: TaskScope) -> list[WriteStat]:
        """The write stat of the new base file; none where the logs left no record and there was no base file."""
        survey = self.reader.survey_logs(file_slice, self._belongs)
        schema, counted = self.context.file_format.schema, Counted()
        entries = counted.of(survey.read(schema, self.reader.evolution))
        ordering, virtual_keys = self.context.ordering_field, self.context.virtual_keys
        changes = fold_log(entries, schema, ordering, virtual_keys, self.context.payload)
        if file_slice.base_file is not None:
            stat = merge_base_file(self.context, scope, file_slice.base_file, changes, event_time_deletes=False)
            return [with_log_counts(stat, survey, counted.records)]
        handle = CreateHandle(
            self.context, scope, file_slice.partition, file_slice.file_id, whole_id=True, keep_meta=True
        )
        try:
            handle.write(changes.upserts())
            return [with_log_counts(stat, survey, counted.records) for stat in handle.close()]
        except BaseException:
            handle.abort()
            raise

    def _belongs(self, instant: str) -> bool:
        """Blocks of completed writes that are older than the compaction."""
        return precedes(instant, self.context.instant) and self.reader.visibility.is_completed(instant)


class Counted:
    """Counts the records in data blocks while they pass."""

    def __init__(self) -> None:
        self.records = 0

    def of(self, entries: Iterator[LogData | LogDeletes]) -> Iterator[LogData | LogDeletes]:
        for entry in entries:
            if isinstance(entry, LogData):
                self.records += entry.table.num_rows
            yield entry


def with_log_counts(stat: WriteStat, survey: LogSurvey, records: int) -> WriteStat:
    """The stat with what was read of logs; ``records`` were in their data blocks."""
    return replace(
        stat,
        total_log_records=records,
        total_log_files_compacted=survey.files,
        total_log_size_compacted=survey.bytes,
        total_updated_records_compacted=stat.num_update_writes,
        total_log_blocks=survey.blocks,
        total_corrupt_log_block=survey.corrupt_blocks,
        total_rollback_blocks=survey.rollback_blocks,
    )
