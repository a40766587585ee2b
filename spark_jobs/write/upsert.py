"""Upserts, inserts and deletes: place, pack, route, and one task for each share of the file groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.options.choices import Operation
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.placed_source import PlacedSource, place_by_arrays
from spark_jobs.write.prepare import PreparedRows
from spark_jobs.write.profile import workload_metadata
from spark_jobs.write.publish import Written
from spark_jobs.write.routes import RoutingPlan
from spark_jobs.write.routing import pack, route
from spark_jobs.write.tagged_frame import place_by_joins
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import SOURCE_READER, OpenWrite, Spread, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertJob(OpenWrite):
    """One upsert, insert, overwrite or delete on an open table.

    ``direct`` is the source of ``rows`` where the tasks may read it themselves.
    """

    rows: PreparedRows
    direct: KeyedSource | None = None

    def run(self, to_inflight: Callable[[bytes], None]) -> Written:
        """Write everything; ``to_inflight`` is called with the workload profile before the first file is made."""
        with self.workload() as work:
            with self.progress.phase("plan"):
                shares = pack(self, work)
                plan, spread = route(self, work, shares)
                metadata = workload_metadata(self.config.operation.value, work.slices, work.profile, shares)
                to_inflight(metadata.encode())
            with self.progress.phase("write"):
                stats = self._write(work, plan, spread)
        notes: dict[str, Any] = {"dropped_duplicates": work.dropped} if work.dropped else {}
        if self.direct is not None:
            by_tasks = isinstance(work.records, PlacedSource)
            notes[SOURCE_READER] = "tasks" if by_tasks else "spark: too many records, or some may change partition"
        return Written(stats=stats, replaced=work.replaced, notes=notes)

    @contextmanager
    def workload(self) -> Iterator[Workload]:
        """The records with their places, counted."""
        work = None
        if self.direct is not None:
            with self.progress.phase("tag"):
                work = place_by_arrays(self, self.direct)
        if work is not None:
            yield work
            return
        with place_by_joins(self, self.rows.keyed) as work:
            yield work

    def _write(self, work: Workload, plan: RoutingPlan, spread: Spread) -> list[WriteStat]:
        rules = RecordRules(combine=self.config.combine, all_deleted=self.config.operation is Operation.DELETE)
        return work.records.write(plan, spread, rules) if plan.routes else []
