"""One operation of a log compaction (Hudi: LogCompactionExecutionHelper, HoodieAppendHandle); runs in a worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from spark_jobs.core.files.log_reader import LogSurvey
from spark_jobs.core.format.order import precedes
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.merge.log_changes import fold_log
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.compaction.execute import Counted, with_log_counts


@dataclass(frozen=True, slots=True)
class LogCompactor:
    """Merges the blocks of slices one by one; pickles.

    :param next_versions: (partition, file id) -> version of the log file that comes next on the slice.
    """

    context: WriteContext
    reader: SliceReader
    next_versions: Mapping[tuple[str, str], int]

    def __call__(self, file_slice: FileSlice, scope: TaskScope) -> list[WriteStat]:
        """The write stats of the new log files; none where the logs hold no record and no delete."""
        survey = self.reader.survey_logs(file_slice, self._belongs)
        schema, counted = self.context.file_format.schema, Counted()
        entries = counted.of(survey.read(schema, self.reader.evolution))
        ordering, virtual_keys = self.context.ordering_field, self.context.virtual_keys
        changes = fold_log(entries, schema, ordering, virtual_keys, self.context.payload)
        target = AppendTarget(
            partition=file_slice.partition,
            file_id=file_slice.file_id,
            base_instant=file_slice.base_instant,
            base_file=str(file_slice.base_file.name) if file_slice.base_file else "",
            log_names=tuple(str(log.name) for log in file_slice.log_files),
            next_version=self.next_versions[file_slice.partition, file_slice.file_id],
        )
        # a delete that stands for a whole story yields to nothing that came before: it needs no ordering value
        stats = append_changes(
            self.context, scope, target, changes, hard_deletes=True, compacted=instants_newest_first(survey)
        )
        if not stats:
            return []
        return [with_log_counts(stats[0], survey, counted.records), *stats[1:]]

    def _belongs(self, instant: str) -> bool:
        """Blocks of completed writes that are older than the log compaction."""
        return precedes(instant, self.context.instant) and self.reader.visibility.is_completed(instant)


def instants_newest_first(survey: LogSurvey) -> tuple[str, ...]:
    """Whose blocks count, each once; of blocks of an earlier log compaction, its own instant."""
    return tuple(dict.fromkeys(str(placed.block.instant) for placed in reversed(survey.valid)))


def log_reader(reader: SliceReader) -> SliceReader:
    """The scan by which log compactions read, whatever the table's is: all blocks of an instant together."""
    return replace(reader, optimized_scan=True)
