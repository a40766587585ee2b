"""A plan from the timeline, this project's or Hudi's."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.services.compaction.plan import CompactionPlan
from spark_jobs.services.source_files import source_files


def read_plan(table: HudiTable, instant: Instant) -> CompactionPlan:
    """A plan of a compaction or log compaction, with the sizes that its files have now."""
    requested = RequestedCompaction.read(table.timeline, instant, table.clock)
    partitions = sorted({one.partition for one in requested.slices})
    prefix = len(table.base_path) + 1
    sizes = {
        status.path[prefix:]: status.size
        for partition in partitions
        for status in table.storage.list(resolve(table.base_path, RelativePath(partition)))
    }
    return CompactionPlan.of(requested, sizes, table.config.format)


def with_sources(table: HudiTable, plan: CompactionPlan) -> CompactionPlan:
    """The plan with the files of a bootstrap that are read too."""
    return replace(plan, sources=source_files(table, plan.slices))
