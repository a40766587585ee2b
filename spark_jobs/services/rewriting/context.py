"""What every service that rewrites files shares: the table's own format, and a plan carried out under a heartbeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from spark_jobs.core.config.keys.logfile import OPTIMIZED_LOG_SCAN
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.files.write_format import base_file_format, data_storage
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.keygen.virtual import virtual_keys_of
from spark_jobs.core.merge.payload import ordering_field_of, payload_of_table, refuse_other_mergers
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.read.table_schema import schema_metadata
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, resume
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.services.due import under_way
from spark_jobs.services.rewriting.completion import CompletionRecords
from spark_jobs.services.rollback.execute import roll_back
from spark_jobs.services.rollback.failed_writes import finish_rollbacks, is_alive

NO_PROPERTIES: Mapping[str, str] = MappingProxyType({})


def rewrite_context(
    table: HudiTable, properties: Mapping[str, str], instant: str, *, max_file_size: int, action: Action | None = None
) -> WriteContext:
    """How a service writes base files: the table's schema and payload, the job's codec and bloom settings.

    On a table with a schema history the files get the schema as of the plan, by whose instant readers look it up.
    """
    refuse_other_mergers({**table.config.properties, **properties})
    has_history = table.evolution_at() is not None
    avro = table.avro_schema_at(instant) if has_history else table.avro_schema
    virtual_keys = virtual_keys_of(table.config, properties)
    return WriteContext(
        storage=data_storage(table.storage, properties),
        base_path=table.base_path,
        format=table.config.format,
        instant=instant,
        file_format=base_file_format(properties, arrow_schema_of(avro), avro, indexed=virtual_keys is None),
        payload=payload_of_table(table.config, properties, avro),
        ordering_field=ordering_field_of(table.config, [field["name"] for field in avro["fields"]]),
        max_file_size=max_file_size,
        virtual_keys=virtual_keys,
        evolution=table.evolution_at(instant) if has_history else None,
        skeletons=table.bootstrap_reader(),
        completion=None if action is None else table.timeline.completion(Instant(instant, action, State.INFLIGHT)),
    )


def schema_of_rewrite(table: HudiTable, instant: str) -> dict[str, str | None]:
    """What the commit of a service says of the schema of its files; with ids on a table with a schema history, where
    Hudi's next compaction looks it up in the newest commit of any kind.
    """
    if table.evolution_at() is None:
        return schema_metadata(table.avro_schema, None)
    evolution = table.evolution_at(instant)
    return schema_metadata(table.avro_schema_at(instant), evolution.wanted if evolution else None)


def slice_reader(table: HudiTable, context: WriteContext, properties: Mapping[str, str] = NO_PROPERTIES) -> SliceReader:
    """How a service reads the slices that it rewrites."""
    return SliceReader(
        storage=table.storage,
        base_path=table.base_path,
        schema=context.file_format.schema,
        visibility=Visibility.of(table.timeline),
        payload=context.payload,
        ordering_field=context.ordering_field,
        virtual_keys=context.virtual_keys,
        evolution=context.evolution,
        bootstrap=table.bootstrap_reader(),
        optimized_scan=OPTIMIZED_LOG_SCAN.of(properties),
    )


def busy_with_writes(table: HudiTable, properties: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """(partition, file id) -> instant of the living write that changes it just now."""
    settings = table.transaction_settings(properties)
    return under_way(table.timeline, table.clock, lambda one: is_alive(settings, one))


def choose_plan(
    timeline: ActiveTimeline,
    plans: list[Instant],
    wanted: str | None,
    service: str,
    is_own: Callable[[Instant], bool],
) -> Instant | None:
    """The plan to carry out: the one that was named, else the earliest; None where there is none.

    :param is_own: whether a completed instant was a plan of the service.
    :raises ConfigError: the one that was named is no pending plan (a completed one is None).
    """
    if wanted is None:
        return plans[0] if plans else None
    for plan in plans:
        if plan.timestamp == wanted:
            return plan
    if any(one.is_completed and is_own(one) for one in timeline.find(wanted)):
        return None
    pending = ", ".join(one.timestamp for one in plans) or "none"
    raise ConfigError(f"--instant-time {wanted} is no {service} of this table", todo=f"pending ones are: {pending}")


def claim(
    settings: TransactionSettings,
    plan: Instant,
    notify: Callable[[str], None],
    records: CompletionRecords | None = None,
) -> Transaction | None:
    """Take a plan for execution: inflight where ``records`` tell of pieces that a dead worker finished; else requested,
    after a rollback of what it left.

    Waits while another worker executes it.

    :returns: None where another worker completed it meanwhile.
    """
    reported = False
    while True:
        with settings.new_lock() as locked:
            finish_rollbacks(locked)  # one left of this plan's last worker would undo the new one
            timeline = locked.load_timeline()
            found = [one for one in timeline.find(plan.timestamp) if one.action is plan.action and not one.is_completed]
            if not found:
                return None
            current = found[0]
            if not is_alive(locked, current):
                if records is not None:
                    records.sweep(timeline)
                    if current.state is State.INFLIGHT and records.finished():
                        return resume(settings, current, locked)
                if current.state is State.INFLIGHT:
                    rollback = roll_back(locked, timeline, current, keep_plan=True)
                    notify(f"rolled back {current.timestamp}, whose worker is gone (rollback {rollback.timestamp})")
                return resume(settings, Instant(plan.timestamp, plan.action, State.REQUESTED), locked)
        if not reported:
            notify(f"another process executes {plan.timestamp}; waiting for it")
            reported = True
        settings.clock.sleep(1.0)
