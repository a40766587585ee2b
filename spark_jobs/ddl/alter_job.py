"""Changes of a table's columns as ``alter_table.py`` makes them, in this process: one commit without files."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from spark_jobs.core.alter import Alteration, alter_schema
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.ddl.alter_statement import AlterTable, parse_alter_table
from spark_jobs.ddl.text import statement_of
from spark_jobs.engine.context import JobContext
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.opening import open_to_change
from spark_jobs.frame.plan_hash import PlanFacts, refuse_other_plan
from spark_jobs.options.alter_table import AlterTableOptions
from spark_jobs.options.result import JobResult, JobState

ACTION = "alter_table"
STATEMENT_KEY = "_pyhudi.ddl"
"""In the commit that a statement made, where a retry finds it: to make a change twice in a row has no meaning."""


def run_alter_table(options: AlterTableOptions, context: JobContext) -> JobResult:
    """Change the columns as the statement says; a dry run shows the columns before and after.

    :raises ConfigError: the statement is for another table, or its change can't be made.
    :raises WriteConflictError: another writer changed the schema meanwhile, or the plan is not that of the hash.
    :raises UnsupportedTableError: a table that this release does not write.
    """
    opened, progress = open_to_change(options, context), context.progress
    with progress.phase("plan"):
        text = statement_of(options.ddl, options.ddl_file, context.lake)
        if text is None:
            raise ConfigError("there is no statement", todo="give --ddl or --ddl-file")
        statement, table = parse_alter_table(text), opened.table
        _refuse_other_table(statement, table)
        planned = _plan(table, statement)
        if options.plan_hash is not None and not isinstance(planned, JobResult):
            now = planned if isinstance(planned, Nothing) else _facts(planned)
            refuse_other_plan(options.plan_hash, now, table.timeline)
    if isinstance(planned, JobResult):
        return planned
    if isinstance(planned, Nothing):
        return planned.result(ACTION, table)
    shown = {"statement": statement.text, "before": _columns(planned.avro), "after": _columns(planned.new_avro)}
    plan_hash = _facts(planned).hash_at(table.timeline)
    result = JobResult(action=ACTION, state=JobState.DRY_RUN, base_path=table.base_path, table=table.config.name)
    if options.dry_run:
        return replace(result, plan=shown, extra={"plan_hash": plan_hash})
    with progress.phase("alter"):
        instant = alter_schema(
            table,
            statement,
            opened.properties,
            extra_metadata={STATEMENT_KEY: statement.text},
            expected=planned,
        )
    return replace(result, state=JobState.COMPLETED, instant=instant.timestamp, extra={**shown, "plan_hash": plan_hash})


def _plan(table: HudiTable, statement: AlterTable) -> Alteration | Nothing | JobResult:
    """What is to be changed; or the result of an earlier run, whose change is the last one of the schema."""
    for instant in reversed(table.timeline.completed_commits()):
        metadata = table.timeline.commit_metadata(instant, table.clock)
        if metadata.operation_type is not OperationType.ALTER_SCHEMA:
            continue
        if metadata.extra_metadata.get(STATEMENT_KEY) == statement.text:
            return JobResult(
                action=ACTION,
                state=JobState.COMPLETED,
                instant=instant.timestamp,
                repeated=True,
                reason=f"instant {instant.timestamp} made this change, the last one of the schema",
                base_path=table.base_path,
                table=table.config.name,
            )
        break
    planned = Alteration.of(table, statement)
    return Nothing("the columns are what the statement asks for") if planned.changes_nothing else planned


def _refuse_other_table(statement: AlterTable, table: HudiTable) -> None:
    config = table.config
    database = table_keys.DATABASE.of(config.properties).lower()
    is_elsewhere = statement.database and database and statement.database != database
    if is_elsewhere or statement.name != config.name.lower():
        raise ConfigError(
            f"the statement alters {statement.name}, and the table at {table.base_path} is {config.name}",
            todo="give the base path of the table that is meant",
            table=config.name,
        )


def _facts(planned: Alteration) -> PlanFacts:
    content = {"before": planned.history.wanted.to_text(), "after": planned.new.to_text()}
    return PlanFacts(service=ACTION, content=content, files=0, bytes=0)


def _columns(avro: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": one.name, "type": str(one.type), "nullable": one.nullable} for one in arrow_schema_of(avro)]
