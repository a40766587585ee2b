"""Apache Hudi tables as Airflow tasks. Names are imported when they are first used, so that DAGs parse quickly.

The operators are those that the jobs name. Editors and type checkers read ``__init__.pyi``, which ``make docs`` writes.
"""

from __future__ import annotations

from importlib import import_module

from spark_jobs.options.registry import JOBS

_HOMES = {
    "HudiCommitSensor": "sensors.commit",
    "HudiCommitTrigger": "triggers.commit",
    "HudiHook": "hooks.hudi",
    "HudiSparkSubmitHook": "hooks.submit",
    "HudiTableServiceSensor": "sensors.table_service",
    "HudiTableServiceTrigger": "triggers.table_service",
    "hudi_asset": "assets.table",
    **{job.operator: f"operators.{job.operator_module}" for job in JOBS if job.operator},
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
