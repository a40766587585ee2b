"""Repair as ``repair.py`` runs it, in this process: it validates, shows what it would mend, and mends exactly that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.format.folders import AUX_FOLDER
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.metadata_table.initialize import has_reserved_partition, initialize, is_quiet
from spark_jobs.core.metadata_table.writer import take_off
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.transaction import TransactionSettings, refuse_pending_restore
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.progress import Progress
from spark_jobs.frame.in_steps import ServiceInSteps, run_in_steps
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PlanFacts, digest_of, refuse_other_plan
from spark_jobs.frame.results import done_by_hash, plan_result
from spark_jobs.options.choices import Repair
from spark_jobs.options.repair import RepairOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.repair.doubled_keys import remove_surplus, surplus_rows
from spark_jobs.services.repair.logs import compact_what_is_left, damaged_slices
from spark_jobs.services.repair.plan import READS_ROWS, RepairPlan, SurplusRows, paths_of, why_nothing
from spark_jobs.services.validation.run import OVERDUE_HOURS, Validation, inspect

ACTION = "repair"
_BEGUN = f"{AUX_FOLDER}/pyhudi.repair"
"""Below it the plan that the last run by a hash began; Hudi leaves the folder alone."""
_FORGETS = "the keys that left file groups leave the record index too"


def run_repair(options: RepairOptions, context: JobContext) -> JobResult:
    """
    :raises OptionsError: a repair that there is not.
    :raises WriteConflictError: a restore is pending, the plan is not that of ``plan_hash`` any more, or a writer
        changed what was to be mended.
    """
    progress, repairs = context.progress, options.repairs
    if options.plan_hash is not None:
        digest_of(options.plan_hash)  # one that is none is refused before the table is read
    opened = open_to_change(options, context)
    table = opened.table
    refuse_pending_restore(table.timeline)
    service = _Repair(
        settings=opened.settings,
        properties=opened.properties,
        repairs=repairs,
        progress=progress,
        asked=options.plan_hash,
    )
    return run_in_steps(service, table, progress, dry_run=options.dry_run, plan_hash=options.plan_hash)


def _begun_path(table: HudiTable, asked: str) -> str:
    return f"{table.base_path}/{_BEGUN}/{digest_of(asked)}.json"


def _begun_by(table: HudiTable, asked: str) -> dict[str, Any] | None:
    """The plan that the last run by a hash began, where it was this one. A record that is not what the hash names was
    changed, or cut, and says nothing.
    """
    path = _begun_path(table, asked)
    if table.storage.stat(path) is None:
        return None
    try:
        found: dict[str, Any] = json.loads(table.storage.read(path))
    except (ValueError, RecursionError):
        return None  # it died while it wrote it, before it did anything
    return found if PlanFacts(service=ACTION, content=found, files=0, bytes=0).is_requested_by(asked) else None


def _validation(table: HudiTable, deep: bool, progress: Progress) -> Validation:
    return inspect(table, deep, OVERDUE_HOURS, progress)


def _plan(table: HudiTable, validation: Validation, repairs: AbstractSet[Repair], progress: Progress) -> RepairPlan:
    findings = validation.findings
    leftovers: dict[str, int] = {}
    if Repair.LEFTOVERS in repairs:
        for path in paths_of(findings, Repair.LEFTOVERS):
            whole = resolve(table.base_path, RelativePath(path))
            if table.storage.has_folder(whole):
                leftovers[path] = 0
            elif (status := table.storage.stat(whole)) is not None:
                leftovers[path] = status.size
    logs: tuple[FileSlice, ...] = ()
    if Repair.LOGS in repairs and (damaged := paths_of(findings, Repair.LOGS)):
        logs = damaged_slices(table.config.format, table.view().latest_slices(), damaged)
    surplus: tuple[SurplusRows, ...] = ()
    if Repair.DOUBLED_KEYS in repairs and paths_of(findings, Repair.DOUBLED_KEYS):
        surplus = surplus_rows(table, progress)
    reasons = tuple(f"{one.path}: {one.what}" for one in findings if one.repair is Repair.METADATA_TABLE)
    if surplus and table.config.lists(MetadataPartition.RECORD_INDEX):
        reasons = (*reasons, _FORGETS)
    remakes = Repair.METADATA_TABLE in repairs or _FORGETS in reasons
    return RepairPlan(leftovers=leftovers, logs=logs, surplus=surplus, metadata_table=reasons if remakes else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repair(ServiceInSteps[HudiTable, RepairPlan]):
    """Some of the ``repairs``; what a run does again after it was killed is the same. ``asked`` is the hash that was
    given, if one was.
    """

    settings: TransactionSettings
    properties: Mapping[str, str]
    repairs: AbstractSet[Repair]
    progress: Progress
    asked: str | None
    action: ClassVar[str] = ACTION

    def plan(self, table: HudiTable) -> RepairPlan | Nothing:
        validation = _validation(table, bool(self.repairs & READS_ROWS), self.progress)
        plan = _plan(table, validation, self.repairs, self.progress)
        if not plan.is_empty:
            return plan
        return replace(why_nothing(validation.findings, self.repairs), extra={"repaired": plan.counts()})

    def facts(self, table: HudiTable, plan: RepairPlan) -> PlanFacts:
        return plan.facts

    def requested(self, table: HudiTable, plan_hash: str) -> RepairPlan | Nothing | JobResult:
        plan = self.plan(table)
        if isinstance(plan, RepairPlan) and plan.facts.is_requested_by(plan_hash):
            return plan
        begun = _begun_by(table, plan_hash)
        if begun is None:
            refuse_other_plan(plan_hash, plan if isinstance(plan, Nothing) else plan.facts, table.timeline)
            return plan
        rest = plan.rest_of(begun) if isinstance(plan, RepairPlan) else RepairPlan()
        if rest.is_empty:
            reason = f"a {ACTION} carried out this plan before"
            return done_by_hash(ACTION, table, plan_hash, instant=None, reason=reason)
        self.progress.note("going on with a repair that broke off")
        return rest

    def shown(self, table: HudiTable, plan: RepairPlan, progress: Progress) -> JobResult:
        return plan_result(ACTION, table, plan.facts, progress, shown=plan.to_json(), repaired=plan.counts())

    def carry_out(self, table: HudiTable, plan: RepairPlan, progress: Progress) -> JobResult:
        if self.asked is not None and plan.facts.is_requested_by(self.asked):
            self._note_begin(table, self.asked, plan)
        instant = None
        if plan.leftovers:
            with progress.phase("leftovers", len(plan.leftovers)):
                self._delete(table, plan.leftovers, progress)
        if plan.logs:
            instant = compact_what_is_left(self.settings, plan.logs, table, progress)
        if plan.surplus:
            instant = remove_surplus(self.settings, table, plan.surplus, progress)
        if plan.metadata_table:
            with progress.phase("metadata table"):
                self._remake_metadata_table(table, progress)
        left = _validation(table.refreshed(), False, progress).findings
        return plan_result(
            ACTION,
            table,
            plan.facts,
            progress,
            shown=None,
            instant=instant,
            repaired=plan.counts(),
            left={"errors": sum(one.is_error for one in left), "warnings": sum(not one.is_error for one in left)},
        )

    def _note_begin(self, table: HudiTable, asked: str, plan: RepairPlan) -> None:
        """Leave the plan beside the table, for a run by the same hash after this one was killed."""
        with self.settings.new_lock() as locked:
            locked.storage.delete_tree(f"{table.base_path}/{_BEGUN}")  # of another plan: out of date
            locked.storage.create(_begun_path(table, asked), json.dumps(plan.to_json()).encode())

    def _delete(self, table: HudiTable, leftovers: Mapping[str, int], progress: Progress) -> None:
        """Of the files those that a validation under the lock still finds: a write that ended meanwhile may have made
        one of them its own.
        """
        with self.settings.new_lock() as locked:
            storage = locked.storage
            found = _validation(table.refreshed(), False, Progress.silent(ACTION)).findings
            for path in sorted(leftovers.keys() & paths_of(found, Repair.LEFTOVERS)):
                whole = resolve(table.base_path, RelativePath(path))
                if storage.has_folder(whole):
                    storage.delete_tree(whole)
                elif (status := storage.stat(whole)) is not None:
                    storage.delete_if(whole, status.etag)
        progress.note(f"deleted {len(leftovers)} file(s) or folder(s) that were left over")

    def _remake_metadata_table(self, table: HudiTable, progress: Progress) -> None:
        """Take it off; then make its list of files anew, where nothing else is under way."""
        base_path, clock = table.base_path, table.clock
        with self.settings.new_lock() as locked:
            storage = locked.storage
            config = read_table_config(storage, base_path, clock)
            lost = [
                one for one in config.metadata_partitions if one != config.format.metadata.path(MetadataPartition.FILES)
            ]
            take_off(storage, base_path, clock)
            timeline = locked.load_timeline()
            if not metadata_keys.METADATA_ENABLED.of(self.properties) or has_reserved_partition(storage, base_path):
                progress.note("took the metadata table off: readers list the storage")
                return
            if not is_quiet(timeline, ""):
                progress.note("took the metadata table off; the next write with no other beside it makes it anew")
                return
            initialize(storage, base_path, read_table_config(storage, base_path, clock), timeline, clock)
        progress.note("made the metadata table anew from the files on storage")
        if lost:
            names = ", ".join(lost)
            progress.note(f"its indexes {names} are made anew by index.py, or by the next write that asks for them")
