"""Other columns for a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import AlterTableOptions, JobOptions


class HudiAlterTableOperator(HudiPlanHashOperator):
    """Add, drop, rename, widen, move or comment columns by a statement; files stay as they are.

    A retry, or a second run in a row, finds the change made and says so: ``repeated`` in its result.

    :param ddl: ``alter table trips add columns (tip double)``, in Spark's grammar.
    :param ddl_file: path or URL of a file with the statement, in its place.
    """

    options_type: ClassVar[type[JobOptions]] = AlterTableOptions
    template_fields: Sequence[str] = (*HudiPlanHashOperator.template_fields, "ddl", "ddl_file")

    def __init__(self, *, ddl: str | None = None, ddl_file: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.ddl = ddl
        self.ddl_file = ddl_file
