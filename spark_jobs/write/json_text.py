"""What Spark does not say of JSON: whether a text ends where the value ends that it read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.write.error_rows import PROBLEM, CheckedRows, ErrorReason, problem

_FLAT = r"^\s*\{[^{}]*\}\s*$"
"""An object that surely ends with its text: most are such, and need no second parser."""


def is_one_value(text: Column, options: Mapping[str, str]) -> Column:
    """Whether a text is one JSON value and nothing behind it, of which Spark would read the first and no more.

    The text is read as the head of an array whose last element no text can bring along.

    :param options: of Spark's ``from_json``.
    :returns: false for what is no JSON at all, null for null.
    """
    last = F.concat(F.lit("end of "), F.xxhash64(text).cast("string"))
    whole = F.concat(F.lit("["), text, F.lit('\n,"'), last, F.lit('"]'))
    parts = F.from_json(whole, "array<string>", {**options, "mode": "PERMISSIVE"})
    ends = (F.size(parts) == 2) & (F.try_element_at(parts, F.lit(2)) == last)
    return text.rlike(_FLAT) | F.coalesce(ends, F.lit(False))


def with_unread_rest(
    rows: DataFrame | CheckedRows, spark: SparkSession, paths: Sequence[str], options: Mapping[str, str]
) -> DataFrame | CheckedRows:
    """The rows of JSON files, and a refused one for each text that goes on behind the value which Spark read of it.

    Such a text is a line; with ``multiLine`` it is a file, recognised by its first line, which is a value itself. Files
    in another encoding than UTF-8 are taken as Spark reads them.

    :param options: of Spark's reader.
    """
    given = {name.lower(): value for name, value in options.items()}
    if given.get("encoding", given.get("charset", "utf-8")).lower() not in ("utf-8", "utf8"):
        return rows
    by_file = given.get("multiline", "").lower() == "true"
    lines = spark.read.format("text").options(**options).load(list(paths))
    found = _refused_files(lines, options) if by_file else _refused_lines(lines, options)
    known = rows.rows if isinstance(rows, CheckedRows) else rows
    return CheckedRows(rows=known.unionByName(found, allowMissingColumns=True))


def _refused_lines(lines: DataFrame, options: Mapping[str, str]) -> DataFrame:
    text = F.col("value")
    is_read = F.get_json_object(text, "$").isNotNull()  # else Spark's reader refuses the line itself
    found = problem(
        ErrorReason.CORRUPT_RECORD, None, "a line goes on behind its JSON value:", text, F.input_file_name()
    )
    return lines.where(is_read & ~is_one_value(text, options)).select(found.alias(PROBLEM))


def _refused_files(lines: DataFrame, options: Mapping[str, str]) -> DataFrame:
    text = F.regexp_replace("value", "^\ufeff", "")
    place = F.struct("_metadata.file_block_start", F.monotonically_increasing_id())
    lines_read = lines.where(~text.rlike(r"^\s*$")).select(
        F.col("_metadata.file_path").alias("file"), place.alias("place"), is_one_value(text, options).alias("whole")
    )
    files = lines_read.groupBy("file").agg(F.min_by("whole", "place").alias("whole"), F.count("*").alias("lines"))
    message = "a file goes on behind its first JSON value, and multiLine reads no more of it: leave multiLine out"
    lost = F.concat(F.lit("from line 2 on, of "), F.col("lines").cast("string"), F.lit(" lines"))
    found = problem(ErrorReason.CORRUPT_RECORD, None, message, lost, F.col("file"))
    return files.where(F.col("whole") & (F.col("lines") > 1)).select(found.alias(PROBLEM))
