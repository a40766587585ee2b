"""Damaged logs: their file slices are compacted from the blocks that are left (Hudi: its readers skip such blocks).

The plan is one of a compaction, so that writers beside it put their logs on the slice that it makes, and a run that was
killed is finished by the next one. The damaged files stay for earlier moments until cleaning takes them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace

from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.errors import CorruptTableError, WriteConflictError
from spark_jobs.core.files.log_reader import LogSurvey, PlacedBlock, read_blocks
from spark_jobs.core.format.order import BEFORE_ALL, follows, latest
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, schedule
from spark_jobs.core.view.file_slice import FileSlice, LogFile
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.budget import Budget
from spark_jobs.services.compaction.execute import Compactor
from spark_jobs.services.compaction.job import CompactionService
from spark_jobs.services.compaction.plan import CompactionPlan
from spark_jobs.services.repair.plan import refuse_changed
from spark_jobs.services.rewriting.context import rewrite_context, slice_reader
from spark_jobs.services.rewriting.execution import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class LenientReader(SliceReader):
    """Reads of logs what can be read; pickles."""

    @staticmethod
    def of(reader: SliceReader) -> LenientReader:
        return LenientReader(**{one.name: getattr(reader, one.name) for one in fields(reader)})

    def survey_logs(self, file_slice: FileSlice, instants: Callable[[str], bool] | None = None) -> LogSurvey:
        logs = tuple(log for log in file_slice.log_files if self._is_log(log))
        survey = SliceReader.survey_logs(self, replace(file_slice, log_files=logs, extents=None), instants)
        return replace(survey, valid=tuple(one for one in survey.valid if self._is_readable(survey, one)))

    def _is_log(self, log: LogFile) -> bool:
        try:
            with self._opener(log.relative_path)() as file:
                for _ in read_blocks(file):
                    continue
        except CorruptTableError:
            return False
        return True

    def _is_readable(self, survey: LogSurvey, block: PlacedBlock) -> bool:
        try:
            for _ in replace(survey, valid=(block,)).read(self.schema, self.evolution):
                continue
        except CorruptTableError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Salvage(CompactionService):
    """A compaction that compares nothing with what writes said they wrote."""

    def work(self, table: HudiTable, instant: str, plan: CompactionPlan) -> tuple[Sequence[FileSlice], Compactor]:
        max_file_size = parquet_keys.MAX_FILE_SIZE.of(self.properties)
        context = rewrite_context(
            table, self.properties, instant, max_file_size=max_file_size, action=self.timeline_action
        )
        reader = LenientReader.of(slice_reader(table, context, self.properties))
        there = [replace(one, log_files=tuple(log for log in one.log_files if log.size)) for one in plan.slices]
        return there, Compactor(context, reader)


def damaged_slices(format: TableFormat, slices: Iterable[FileSlice], paths: Collection[str]) -> tuple[FileSlice, ...]:
    """The latest slices that have one of these logs, or had it before it was lost.

    :param slices: the latest of a table, as they are listed.
    """
    newest: dict[tuple[str, str], str] = {}
    for path in paths:
        partition, _, name = path.rpartition("/")
        log = format.parse_log_file(name)
        if log is not None:
            key = (partition, log.file_id)
            newest[key] = latest((log.instant, newest.get(key, BEFORE_ALL)))
    return tuple(
        one for one in slices if not follows(one.base_instant, newest.get((one.partition, one.file_id), BEFORE_ALL))
    )


def compact_what_is_left(
    settings: TransactionSettings, slices: Sequence[FileSlice], table: HudiTable, progress: Progress
) -> str:
    """Compact the slices: by a new plan, or by the pending one that has them already.

    :returns: the instant of the last compaction.
    :raises WriteConflictError: a slice has other files by now, or is in a pending clustering.
    """
    service = _Salvage({})
    with settings.new_lock() as locked:
        table = table.refreshed(locked.storage)
        planned = table.pending.compaction
        _refuse_clustered(table, slices)
        instants = {planned[key] for one in slices if (key := (one.partition, one.file_id)) in planned}
        free = tuple(one for one in slices if (one.partition, one.file_id) not in planned)
        plans = [one for one in service.pending(table) if one.timestamp in instants]
        if free:
            refuse_changed(table.view().latest_slices(), free)
            requested = service.payload(table, CompactionPlan(free), {})
            plans.append(schedule(locked, service.timeline_action, table.timeline, requested))
    for plan in plans:
        execution = Execution(
            service=service,
            engine=LocalEngine(settings.clock),
            settings=settings,
            budget=Budget.start(None, None, settings.clock),
            progress=progress,
        )
        execution.run(table.refreshed(settings.storage), plan)
    return plans[-1].timestamp


def _refuse_clustered(table: HudiTable, slices: Sequence[FileSlice]) -> None:
    for one in slices:
        clustering = table.pending.clustering.get((one.partition, one.file_id))
        if clustering is not None:
            raise WriteConflictError(
                f"clustering {clustering} is pending on file group {one.file_id}, whose log is damaged",
                todo=f"take it back (cluster.py --mode cancel --instant-time {clustering}), then run it again",
                instant=clustering,
            )
