"""How a Spark expression says that a row is at fault."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.core.errors import BadRecordError

_NAME = f"{BadRecordError.__module__}.{BadRecordError.__qualname__}: "
"""In front of the text of an error from the JVM, by which the engine knows whose fault it is."""


def bad_record(message: Column | str, kind: str) -> Column:
    """A column of the Spark type ``kind`` that ends the job that computes it by a BadRecordError."""
    said = F.concat(F.lit(_NAME), F.lit(message) if isinstance(message, str) else message)
    return F.raise_error(said).cast(kind)
