"""The source of an ingest as a DataFrame, with one-line errors for what Spark says at length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from spark_jobs.core.config.keys.streamer import FILES_ROOT
from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.options.choices import SourceReader
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.direct.choose import parquet_source
from spark_jobs.write.error_rows import PROBLEM, CheckedRows, ErrorReason, problem, row_as_json
from spark_jobs.write.file_source import FILE_FORMATS, TEXT_FORMATS, needs_spark
from spark_jobs.write.json_text import with_unread_rest
from spark_jobs.write.schema import source_schema
from spark_jobs.write.source_errors import reading_error
from spark_jobs.write.source_files import SourceFiles
from spark_jobs.write.source_schema import declared_schema

CORRUPT = "_pyhudi_corrupt_record"

_REBASE = "spark.sql.parquet.datetimeRebaseModeInRead"
_LENIENT_OPTIONS = ("ignoreCorruptFiles", "ignoreMissingFiles")
_LENIENT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")


def read_source(spark: SparkSession, options: IngestOptions, lake: Lake) -> DataFrame | CheckedRows:
    """The rows of a source; of text formats those too that can't be read, each marked.

    Left to itself Spark makes nulls of what it can't read in CSV, JSON and XML, or drops the row, and matches the
    columns of CSV files to those of the first file by their place alone.

    :param options: effective ones.
    :raises StorageError: a path is missing or unreadable.
    :raises ConfigError: no paths, a format that Spark does not know, or options that would drop rows unseen.
    """
    source_format, paths = options.source_format or "parquet", options.source
    given = {name.lower(): value for name, value in dict(options.source_options).items()}
    if not paths and source_format in FILE_FORMATS:
        raise ConfigError("no source is given", todo=f"give --source, or {FILES_ROOT.name}")
    if paths and source_format == "jdbc":
        raise ConfigError(
            f"--source {paths[0]} is not for jdbc",
            todo="give --source-option url=jdbc:... and --source-option dbtable=TABLE, or query=SELECT ...",
        )
    is_text = source_format in TEXT_FORMATS
    if is_text and given.get("mode", "").upper() == "DROPMALFORMED":
        raise ConfigError(
            "--source-option mode=DROPMALFORMED drops rows unseen",
            todo="leave it out: rows that can't be read fail the write, or go to --error-table",
        )
    try:
        found = _read(spark, options, source_format, given, lake)
        return with_unread_rest(found, spark, paths, dict(options.source_options)) if source_format == "json" else found
    except (PySparkException, Py4JError) as error:
        raise reading_error(error, source_format, paths, spark.version) from error


def _read(
    spark: SparkSession, options: IngestOptions, source_format: str, given: Mapping[str, str], lake: Lake
) -> DataFrame | CheckedRows:
    """
    :param given: the reader's options by their names in lower case.
    """
    paths, is_text = options.source, source_format in TEXT_FORMATS
    reader = spark.read.format(source_format).options(**dict(options.source_options))
    schema = declared_schema(options, lake)
    if schema is not None:
        reader = reader.schema(schema)
    if not is_text or given.get("mode", "").upper() == "FAILFAST":
        return _load(reader, paths)
    own = given.get("columnnameofcorruptrecord")
    rows = _load(reader if own else reader.option("columnNameOfCorruptRecord", CORRUPT), paths)
    if own and own in rows.columns:
        return rows  # the user takes care of them
    by_place = "enforceschema" in given or (schema is None and len(rows.inputFiles()) < 2)
    return _with_corrupt_rows(reader, rows, paths, by_header=not by_place)


def _load(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    return reader.load(list(paths)) if paths else reader.load()


def _with_corrupt_rows(
    reader: DataFrameReader, rows: DataFrame, paths: Sequence[str], *, by_header: bool
) -> CheckedRows:
    """The same rows, read by the schema that is known now.

    :param by_header: whether the header of each CSV file has to name the columns of the schema.
    """
    known = StructType([field for field in rows.schema.fields if field.name != CORRUPT])
    if not known.fields:
        raise StorageError(
            f"source {', '.join(paths)} holds no record that can be read", todo="check --source and --source-format"
        )
    reader = reader.schema(known.add(CORRUPT, StringType())).option("columnNameOfCorruptRecord", CORRUPT)
    if by_header:
        reader = reader.option("enforceSchema", "false")
    names = [field.name for field in known.fields if field.name != CORRUPT]
    # Spark does not read the column of corrupt records alone: so the others stand beside it
    text = F.coalesce(F.col(CORRUPT), row_as_json(names))
    found = problem(
        ErrorReason.CORRUPT_RECORD, None, "a row can't be read by the source's schema:", text, F.input_file_name()
    )
    marked = _load(reader, paths).withColumn(PROBLEM, F.when(F.col(CORRUPT).isNotNull(), found))
    return CheckedRows(rows=marked.drop(CORRUPT))


def files_behind(source: DataFrame, options: IngestOptions, lake: Lake) -> SourceFiles | None:
    """The files of a source that tasks may read themselves, or why Spark has to; None where nobody would ask.

    :param source: what Spark reads by the options of an ingest, unchanged.
    """
    if (options.source_format or "parquet") != "parquet":
        return None
    why = _why_spark(source, options)
    if why is None:
        found = parquet_source(source_schema(source), source.inputFiles(), lake)
        if not isinstance(found, str):
            return SourceFiles(parquet=found, why_spark=None)
        why = f"spark: {found}"
    return SourceFiles(parquet=None, why_spark=why)


def _why_spark(source: DataFrame, options: IngestOptions) -> str | None:
    if options.source_reader is SourceReader.SPARK:
        return "spark, as --source-reader asks"
    lenient = lenient_settings(source.sparkSession, options)
    old_dates = str(source.sparkSession.conf.get(_REBASE)).upper() == "LEGACY"
    asked = needs_spark(options) or (_REBASE if old_dates else next(iter(lenient), None))
    return None if asked is None else f"spark, because of {asked}"


def lenient_settings(spark: SparkSession, options: IngestOptions) -> list[str]:
    """The settings by which Spark leaves out files that it can't read."""
    found = [name for name in _LENIENT if str(spark.conf.get(name, "false")).lower() == "true"]
    given = {name.lower(): str(value).lower() for name, value in dict(options.source_options).items()}
    return found + [name for name in _LENIENT_OPTIONS if given.get(name.lower()) == "true"]
