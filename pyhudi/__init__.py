"""Apache Hudi tables in Python. Names are imported when they are first used: tables need no Spark, Spark no table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spark_jobs.core.errors import HudiError
    from spark_jobs.core.lake import Lake
    from spark_jobs.core.table import HudiTable
    from spark_jobs.query import read, register_tables
    from spark_jobs.write.frame import write

_HOMES = {
    "HudiError": "spark_jobs.core.errors",
    "HudiTable": "spark_jobs.core.table",
    "Lake": "spark_jobs.core.lake",
    "read": "spark_jobs.query",
    "register_tables": "spark_jobs.query",
    "write": "spark_jobs.write.frame",
}

__all__ = ["HudiError", "HudiTable", "Lake", "read", "register_tables", "write"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise ImportError(f"pyhudi.{name} needs PySpark: pip install 'pyhudi[spark]'") from error


def __dir__() -> list[str]:
    return __all__
