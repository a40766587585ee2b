"""Files as the source of an ingest: what its options say of them, and which of these need Spark to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from spark_jobs.core.config.keys.streamer import FILES_ROOT, PARQUET_MERGE_SCHEMA, SANITIZE_NAMES, SOURCE_SCHEMA_FILE
from spark_jobs.options.choices import SourceReader
from spark_jobs.options.ingest import IngestOptions

TEXT_FORMATS = frozenset(("csv", "json", "xml"))
"""Formats of which Spark may meet rows that it can't read."""
FILE_FORMATS = TEXT_FORMATS | {"parquet", "orc", "avro", "text"}
WILDCARDS = frozenset("*?[{")


def with_files_by_keys(options: IngestOptions) -> IngestOptions:
    """The options of an ingest from files, with what only Hudi Streamer's keys say of them.

    :param options: effective ones.
    :raises ConfigError: a key's value is not valid.
    """
    source_format = options.source_format or "parquet"
    if source_format not in FILE_FORMATS:
        return options
    properties, added = options.hoodie_properties(), dict(options.source_options)
    has_choice = any(name.lower() == "mergeschema" for name in added)
    if source_format == "parquet" and not has_choice and PARQUET_MERGE_SCHEMA.of(properties):
        added["mergeSchema"] = "true"
    root = FILES_ROOT.of(properties)
    return replace(options, source=options.source or ((root,) if root else ()), source_options=added)


def needs_spark(options: IngestOptions) -> str | None:
    """The option for which Spark has to read the source, or to go on with its rows; None where none is.

    :param options: effective ones, of a Parquet source.
    """
    return needs_spark_to_read(options) or changes_rows(options)


def needs_spark_to_read(options: IngestOptions) -> str | None:
    """The option that only Spark's own reader of Parquet follows; None where none is given."""
    found = {
        "--source-reader": options.source_reader is SourceReader.SPARK,
        "--source-option": options.source_options,
        "--source-schema": options.source_schema,
        SOURCE_SCHEMA_FILE.name: SOURCE_SCHEMA_FILE.of(options.hoodie_properties()),
        "--source, of which several may have one file": may_overlap(options.source),
    }
    return next((name for name, is_given in found.items() if is_given), None)


def changes_rows(options: IngestOptions) -> str | None:
    """The option by which rows are changed, or looked through, between the source and the write; None where none is
    given.
    """
    found = {
        "--transformer-sql": options.transformer_sql,
        "--transformer-sql-file": options.transformer_sql_file,
        "--transformer": options.transformer,
        "--error-table": options.error_table,
        "--max-errors": options.max_errors is not None,
        SANITIZE_NAMES.name: SANITIZE_NAMES.of(options.hoodie_properties()),
    }
    return next((name for name, is_given in found.items() if is_given), None)


def may_overlap(paths: Sequence[str]) -> bool:
    """Whether Spark might read a file twice, which its list of files does not tell."""
    if len(paths) < 2:
        return False
    folders = sorted(f"{path.rstrip('/')}/" for path in paths)
    return any(WILDCARDS & set(path) for path in paths) or any(
        later.startswith(earlier) for earlier, later in pairwise(folders)
    )
