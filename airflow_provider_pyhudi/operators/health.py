"""How a table is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.base import HudiJobOperator
from spark_jobs.options import HealthOptions, JobOptions


class HudiHealthOperator(HudiJobOperator):
    """Measure how a table is kept, and which service would help; nothing is changed. The figures are in the result's
    ``extra``, and in the task's log as text.

    :param picture: path or URL of an SVG file that gets a picture.
    :param footers: read the footers of the base files, to count rows.
    :param list_storage: list the storage also where a metadata table lists the files.
    :param overdue_hours: hours that an instant may be pending without a heartbeat.
    """

    options_type: ClassVar[type[JobOptions]] = HealthOptions
    template_fields: Sequence[str] = (*HudiJobOperator.template_fields, "picture")

    def __init__(
        self,
        *,
        json: bool = False,
        picture: str | None = None,
        footers: bool = False,
        list_storage: bool = False,
        overdue_hours: int = 24,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.json = json
        self.picture = picture
        self.footers = footers
        self.list_storage = list_storage
        self.overdue_hours = overdue_hours
