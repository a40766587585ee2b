"""Rows that don't fit: each with its reason, apart from the others or as the end of the write; never dropped unseen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.write.bad_record import bad_record

PROBLEM = "_pyhudi_problem"
"""A column of checked rows: a struct of :func:`problem`, or null where the row is good."""
FIELDS = ("reason", "column", "message", "row", "place")
MOST_SHOWN = 48
"""Characters of a value that a message quotes, or of a row that can't be read."""


class ErrorReason(StrEnum):
    """What is wrong with a row (Hudi: ErrorEvent.ErrorReason, but for the first)."""

    CORRUPT_RECORD = "CORRUPT_RECORD"
    RECORD_CREATION = "RECORD_CREATION"
    INVALID_RECORD_SCHEMA = "INVALID_RECORD_SCHEMA"


def problem(
    reason: ErrorReason, column: str | None, message: Column | str, row: Column, place: Column | None = None
) -> Column:
    """A struct that says why a row is refused.

    :param row: the row as text; has to refer to a column that is not Spark's column of corrupt records, which Spark
        does not read alone.
    :param place: where the row comes from, such as its file.
    """
    text = F.lit(message) if isinstance(message, str) else message
    parts = (F.lit(reason.value), F.lit(column), text, row, place if place is not None else F.lit(None))
    return F.struct(*(part.cast("string").alias(name) for part, name in zip(parts, FIELDS, strict=True)))


def row_as_json(names: list[str]) -> Column:
    """All these columns of a row as one JSON object, nulls too."""
    quoted = [F.col("`" + name.replace("`", "``") + "`") for name in names]
    return F.to_json(F.struct(*quoted), {"ignoreNullFields": "false"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRows:
    """``rows`` have their own columns and :data:`PROBLEM`."""

    rows: DataFrame

    @property
    def good(self) -> DataFrame:
        return self.rows.where(F.col(PROBLEM).isNull()).drop(PROBLEM)

    @property
    def bad(self) -> DataFrame:
        """The columns :data:`FIELDS` of each row that is refused."""
        refused = self.rows.where(F.col(PROBLEM).isNotNull())
        return refused.select(*(F.col(f"{PROBLEM}.{name}").alias(name) for name in FIELDS))

    @property
    def refusing(self) -> DataFrame:
        """All rows; the first one that is refused ends the job that reads it by a BadRecordError."""
        # Spark neither merges a filter with one that is not deterministic nor moves it past that: a transformer's would
        # be asked first, and drop the row unseen. Of an AND each part would go a way of its own.
        always = F.monotonically_increasing_id() >= 0
        is_good = F.when(F.col(PROBLEM).isNull(), always).otherwise(bad_record(F.col(f"{PROBLEM}.message"), "boolean"))
        return self.rows.where(is_good).drop(PROBLEM)
