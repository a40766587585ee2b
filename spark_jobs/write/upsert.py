"""Upserts, inserts and deletes: pack, route, and one task for each share of the file groups."""

from __future__ import annotations

from typing import Any

from spark_jobs.core.config.keys.conflict import EARLY_DETECTION
from spark_jobs.core.transaction.transaction import Transaction
from spark_jobs.options.choices import Operation
from spark_jobs.write.profile import workload_metadata
from spark_jobs.write.publish import Written
from spark_jobs.write.routing import pack, route
from spark_jobs.write.tasks import RecordRules
from spark_jobs.write.workload import OpenWrite, Workload


def write_workload(write: OpenWrite, work: Workload, transaction: Transaction) -> Written:
    """Write records that have their places.

    :raises WriteConflictError: another writer is at one of the file groups, where that is asked for.
    """
    config = write.config
    with write.progress.phase("plan"):
        shares = pack(write, work)
        plan, spread = route(write, work, shares)
        profile = workload_metadata(config.operation.value, work.slices, work.profile, shares)
        transaction.to_inflight(profile.payload())
        if EARLY_DETECTION.of(config.properties) and not config.is_non_blocking:
            begun = {(one.partition, one.file_id) for one in (work.begun or {}).values()}
            transaction.refuse_earlier(profile.touched_file_groups() | begun, config.place_of)
    with write.progress.phase("write"):
        rules = RecordRules(combine=config.combine, all_deleted=config.operation is Operation.DELETE)
        stats = work.records.write(plan, spread, rules) if plan.routes else []
    notes: dict[str, Any] = {"dropped_duplicates": work.dropped} if work.dropped else {}
    return Written(stats=stats, replaced=work.replaced, notes=notes)
