"""File slices in plans of compaction, log compaction and clustering, as the view has them and as the timeline does."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.plans.rewriting import PlannedSlice
from spark_jobs.core.view.file_slice import BaseFile, FileSlice, LogFile


def slice_in_plan(one: FileSlice) -> PlannedSlice:
    return PlannedSlice(
        partition=one.partition,
        file_id=one.file_id,
        base_instant=one.base_instant,
        base_file=str(one.base_file.name) if one.base_file else "",
        log_files=tuple(str(log.name) for log in one.log_files),
    )


def slice_of(planned: PlannedSlice, sizes: Mapping[str, int], format: TableFormat) -> FileSlice:
    """
    :param planned: a clustering leaves its ``base_instant`` to the names of the files.
    :param sizes: bytes by path relative to the base path; a file that is gone counts 0.
    """
    partition, base_name = planned.partition, format.parse_base_file(planned.base_file)
    names = [name for name in map(format.parse_log_file, planned.log_files) if name is not None]
    logs = [LogFile(partition, name, sizes.get(join(partition, str(name)), 0)) for name in names]
    begun = base_name.instant if base_name else names[0].instant if names else ""
    return FileSlice(
        partition=partition,
        file_id=planned.file_id,
        base_instant=planned.base_instant or begun,
        base_file=BaseFile(partition, base_name, sizes.get(join(partition, str(base_name)), 0)) if base_name else None,
        log_files=tuple(sorted(logs, key=lambda log: log.name.order)),
    )
