"""A commit kept, with its files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.base import HudiJobOperator
from spark_jobs.options import JobOptions, SavepointMode, SavepointOptions


class HudiSavepointOperator(HudiJobOperator):
    """Make a savepoint, delete it, or list all of them, as ``extra.savepoints`` of the result.

    :param mode: ``create``, ``delete`` or ``list``.
    :param instant_time: the commit to save, the last one without it; the savepoint to delete.
    :param user: who saves it.
    :param comments: why.
    """

    options_type: ClassVar[type[JobOptions]] = SavepointOptions
    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "mode", "instant_time", "user", "comments")

    def __init__(
        self,
        *,
        mode: str = SavepointMode.CREATE.value,
        instant_time: str | None = None,
        user: str | None = None,
        comments: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.mode = mode
        self.instant_time = instant_time
        self.user = user
        self.comments = comments
