"""A table taken back to an earlier commit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow_provider_pyhudi.operators.plan_hash import HudiPlanHashOperator
from spark_jobs.options import EngineKind, JobOptions, RestoreCheck, RestoreOptions


class HudiRestoreOperator(HudiPlanHashOperator):
    """Undo all that is later than a savepoint or a commit, for good; all writers have to be stopped before.

    :param savepoint: the savepoint to go back to.
    :param instant_time: the commit to go back to, without a savepoint.
    :param verify: ``files`` or ``rows``: what has to be the same before and after.
    :param engine: ``auto``, ``local`` or ``spark``.
    """

    options_type: ClassVar[type[JobOptions]] = RestoreOptions
    template_fields: Sequence[str] = (*HudiPlanHashOperator.template_fields, "savepoint", "instant_time", "verify")

    def __init__(
        self,
        *,
        savepoint: str | None = None,
        instant_time: str | None = None,
        verify: str = RestoreCheck.FILES.value,
        engine: str = EngineKind.AUTO.value,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.savepoint = savepoint
        self.instant_time = instant_time
        self.verify = verify
        self.engine = engine
