"""Of a dry run: whether a source's columns fit the table, and what the write would make of the table's schema."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.fit import ColumnFit, column_fits
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.core.schema.reconcile import SchemaRules, type_name
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.stored_schema import StoredSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaFit:
    """``why``: what the write would say of a source that does not fit, empty where it does."""

    columns: tuple[ColumnFit, ...]
    why: str = ""

    @staticmethod
    def of(
        columns: pa.Schema, settle: Callable[[], object], config: WriteConfig, table: HudiTable | None
    ) -> SchemaFit | None:
        """None for operations that store no columns.

        :param columns: those of the source.
        :param settle: refuses the source as its write would.
        :raises ConfigError: a column by which records go is missing, or can't be one.
        """
        if config.operation in (Operation.DELETE, Operation.DELETE_PARTITION):
            return None
        known = table.known_avro_schema() if table else None
        evolution = table.evolution_at() if table else None
        fits = column_fits(
            known,
            avro_schema_of(columns, config.name),
            SchemaRules.of(config.properties),
            evolution.wanted if evolution else None,
        )
        try:
            settle()
        except ConfigError as error:
            if not any(one.fit.is_refused for one in fits):
                raise
            return SchemaFit(columns=fits, why=str(error))
        return SchemaFit(columns=fits)

    def notify(self, note: Callable[[str], None]) -> None:
        note("the source does not fit the table" if self.why else "the source fits the table")
        for one in self.columns:
            note(f"  {one.text}")

    def plan(self, stored: StoredSchema | None) -> dict[str, Any]:
        """The part of a dry run's plan; ``table_after`` has the table's columns and types after the write."""
        shown = [
            {"name": one.name, "fit": one.fit.value, "source": one.source, "table": one.table} for one in self.columns
        ]
        found: dict[str, Any] = {"fits": not self.why, "schema": shown}
        if stored is not None:
            columns = internal_of(stored.avro_schema).record.columns
            found["table_after"] = {one.name: type_name(one.type) for one in columns}
        return found

    def refused(self, config: WriteConfig) -> JobResult:
        """The result of a dry run whose write would be refused."""
        return JobResult(
            action=config.action.value,
            state=JobState.DRY_RUN,
            base_path=config.options.base_path,
            table=config.name,
            reason=self.why,
            plan={"operation": config.operation.value, **self.plan(None)},
        )
