"""What PySpark's releases do each in its own way, from 3.5 on: the newest one's here, that of older ones in
``older_spark``. By what a release has, not by its number, is it known.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas import functions as arrow_functions
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from spark_jobs.engine import older_spark as older

HAS_ARROW_UDF = hasattr(arrow_functions, "arrow_udf")
"""Functions of a column over Arrow arrays: PySpark 4.1."""
_HAS_REPARTITION_BY_ID = hasattr(DataFrame, "repartitionById")
"""PySpark 4.1."""
_TAKES_TABLES = hasattr(DataFrame, "toArrow")
"""Arrow tables to frames, and back: PySpark 4.0."""
_HAS_VALID_UTF8 = hasattr(F, "is_valid_utf8")
"""PySpark 4.0."""
_TAKES_TIMEZONE = "timezone" in inspect.signature(to_arrow_schema).parameters
"""PySpark 4.2."""


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A frame of few rows that this process has."""
    return spark.createDataFrame(rows) if _TAKES_TABLES else older.frame_of(spark, rows)


def arrow_of(frame: DataFrame) -> pa.Table:
    """The rows of a small frame, in this process."""
    return frame.toArrow() if _TAKES_TABLES else older.arrow_of(frame, arrow_schema(frame.schema))


def arrow_schema(schema: StructType) -> pa.Schema:
    """That of the batches that ``mapInArrow`` gets, times with a zone in UTC."""
    if _TAKES_TIMEZONE:
        return to_arrow_schema(schema, timezone="UTC", error_on_duplicated_field_names_in_struct=True)
    return older.arrow_schema(schema)


def marks_of_tasks(tasks: int) -> Sequence[int]:
    """By which value of the column of :func:`gathered` each of so many tasks is known, from task 0."""
    return range(tasks) if _HAS_REPARTITION_BY_ID else older.marks_of_tasks(tasks)


def gathered(frame: DataFrame, tasks: int, column: str) -> DataFrame:
    """The rows of each mark in a task of its own, and none of another mark with them.

    :param column: of 32-bit numbers, each one of :func:`marks_of_tasks`.
    """
    return frame.repartitionById(tasks, column) if _HAS_REPARTITION_BY_ID else frame.repartition(tasks, column)


def texts_by_arrow(function: Callable[[pa.Array], pa.Array], column: Column, kind: DataType | None) -> Column:
    """A column of texts that a function makes of the column's values as an Arrow array, batch by batch.

    :param kind: the column's type. Before PySpark 4.1 executors need pandas for this.
    """
    if not HAS_ARROW_UDF:
        wanted = None if kind is None else arrow_schema(StructType().add("value", kind)).field(0).type
        return older.texts_by_arrow(function, column, kind, wanted)
    made: Column = arrow_functions.arrow_udf(function, "string", arrow_functions.ArrowUDFType.SCALAR)(column)
    return made


def is_utf8(text: Column) -> Column:
    """Whether a text's bytes are UTF-8, which Spark does not see to."""
    return F.is_valid_utf8(text) if _HAS_VALID_UTF8 else older.is_utf8(text)
