"""Upserts, inserts and deletes: pack, route, and one task for each share of the file groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.options.choices import Operation
from spark_jobs.write.profile import workload_metadata
from spark_jobs.write.publish import Written
from spark_jobs.write.routing import pack, route
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import OpenWrite, Workload


def write_workload(write: OpenWrite, work: Workload, to_inflight: Callable[[Payload], None]) -> Written:
    """Write records that have their places.

    :param to_inflight: is called with the workload profile before the first file is made.
    """
    config = write.config
    with write.progress.phase("plan"):
        shares = pack(write, work)
        plan, spread = route(write, work, shares)
        to_inflight(workload_metadata(config.operation.value, work.slices, work.profile, shares).payload())
    with write.progress.phase("write"):
        rules = RecordRules(combine=config.combine, all_deleted=config.operation is Operation.DELETE)
        stats = work.records.write(plan, spread, rules) if plan.routes else []
    notes: dict[str, Any] = {"dropped_duplicates": work.dropped} if work.dropped else {}
    return Written(stats=stats, replaced=work.replaced, notes=notes)
