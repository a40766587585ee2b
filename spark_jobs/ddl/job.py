"""Creation of a table as ``create_table.py`` runs it, in this process: no JVM starts for it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.config.refused import refuse_unserved
from spark_jobs.core.create import new_table_properties
from spark_jobs.core.errors import ConfigError, CorruptTableError, UnsupportedTableError
from spark_jobs.core.keygen.new_tables import asked_class, known_generator, refuse_unknown_zones
from spark_jobs.core.keygen.spec import KeySpec, persisted_settings
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.ddl.create import PlannedTable, plan_ddl, plan_table
from spark_jobs.ddl.properties import stored_keys
from spark_jobs.ddl.text import read_text, statement_of
from spark_jobs.engine.context import JobContext
from spark_jobs.frame.nothing import Nothing
from spark_jobs.options.create_table import CreateTableOptions
from spark_jobs.options.result import JobResult, JobState

ACTION = "create_table"
_SAID_BY_A_STATEMENT = {
    "database": "db.name",
    "table_name": "db.name",
    "table_type": "tblproperties (type = ...)",
    "record_key_fields": "tblproperties (primaryKey = ...)",
    "partition_path_fields": "partitioned by (...)",
    "precombine_field": "tblproperties (preCombineField = ...)",
    "schema_file": "its columns",
}


def run_create_table(options: CreateTableOptions, context: JobContext) -> JobResult:
    """Make the table of the statement, or of the options; a dry run tells its properties and schema.

    :raises ConfigError: what is asked for can't be made.
    :raises AlreadyExistsError: a table stands there, and neither the statement nor the options allow that.
    """
    progress, resolved = context.progress, options.effective()
    properties = resolved.hoodie_properties()
    refuse_unserved(properties)
    progress.warn(*unknown_key_warnings(properties))
    with progress.phase("plan"):
        ddl = statement_of(options.ddl, options.ddl_file, context.lake)
        if ddl is None:
            plan = _by_options(resolved, properties, context.lake)
        else:
            plan = _by_statement(options, ddl, context)
    name = table_keys.NAME.of(plan.properties)
    if plan.existing is not None:
        reason = f"the table {plan.existing.config.name} stands at {plan.base_path} already"
        return Nothing(reason).result(ACTION, plan.existing)
    described = _described(plan.properties)
    if options.dry_run:
        return JobResult(action=ACTION, state=JobState.DRY_RUN, base_path=plan.base_path, table=name, plan=described)
    with progress.phase("create"):
        plan.make()
    return JobResult(
        action=ACTION, state=JobState.COMPLETED, base_path=plan.base_path, table=name, files_out=1, extra=described
    )


def _by_statement(options: CreateTableOptions, ddl: str, context: JobContext) -> PlannedTable:
    for field, place in _SAID_BY_A_STATEMENT.items():
        if getattr(options, field):
            flag = "--" + field.replace("_", "-")
            raise ConfigError(f"{flag} is given beside a statement", todo=f"say it there, by {place}")
    plan = plan_ddl(
        ddl,
        options.base_path or None,
        defaults=options.hoodie_properties(),
        if_not_exists=options.if_not_exists,
        warn=context.progress.warn,
        lake=context.lake,
    )
    if not table_keys.RECORD_KEY_FIELDS.of(plan.properties):
        context.progress.warn("the statement has no primaryKey; Hudi will make keys, ingest.py will not write to it")
    return plan


def _by_options(options: CreateTableOptions, properties: Mapping[str, str], lake: Lake) -> PlannedTable:
    if not options.base_path:
        raise ConfigError("there is neither a statement nor a base path", todo="give --ddl, --ddl-file or --base-path")
    schema = _avro_file(options.schema_file, lake) if options.schema_file is not None else None
    named = table_keys.KEY_GENERATOR_CLASS.of(properties) or asked_class(properties)
    if named:
        known_generator(named)
    refuse_unknown_zones(properties)
    spec = KeySpec.of(
        options.record_key_fields,
        options.partition_path_fields,
        hive_style=datasource_keys.HIVE_STYLE.of(properties),
        url_encode=datasource_keys.URL_ENCODE.of(properties),
        class_name=named,
        properties=properties,
    )
    values = new_table_properties(
        name=options.table_name or "",
        database=options.database or "",
        table_type=str(options.table_type or table_keys.TYPE.default),
        record_key_fields=options.record_key_fields,
        partition_fields=spec.partition_fields,
        precombine_field=options.precombine_field or "",
        key_generator_class=spec.class_name,
        schema=schema,
        properties={**stored_keys(properties), **persisted_settings(properties, spec)},
    )
    return plan_table(options.base_path, values, options.if_not_exists, lake)


def _avro_file(path: str, lake: Lake) -> pa.Schema:
    text = read_text(path, "--schema-file", lake)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"--schema-file {path} is no JSON ({error})", todo="give an Avro record schema") from error
    if not isinstance(parsed, dict):
        raise ConfigError(f"--schema-file {path} holds no Avro record", todo="give an Avro record schema")
    try:
        return arrow_schema_of(parsed)
    except (CorruptTableError, UnsupportedTableError) as error:
        raise ConfigError(f"--schema-file {path} can't be a table's schema ({error.what})", todo=error.todo) from error


def _described(properties: Mapping[str, str]) -> dict[str, Any]:
    """Properties and columns, for the reader of the result."""
    schema = properties.get(table_keys.CREATE_SCHEMA.name)
    columns = [] if schema is None else list(arrow_schema_of(json.loads(schema)))
    return {
        "properties": {
            name: text for name, text in sorted(properties.items()) if name != table_keys.CREATE_SCHEMA.name
        },
        "schema": [{"name": one.name, "type": str(one.type), "nullable": one.nullable} for one in columns],
    }
