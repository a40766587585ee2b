"""A DataFrame written to a table: what ``ingest.py`` does with the rows of a source."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.engine.logged import LoggedProgress
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.ingest import write_frame

_OF_SOURCES = frozenset(
    (
        *("source", "source_format", "source_options", "source_schema", "source_reader", "source_limit"),
        *("checkpoint", "ignore_checkpoint", "available_now", "continuous", "min_sync_interval_seconds"),
        *("base_path", "engine", "attempt", "result_file", "debug"),
    )
)
_FIELDS = frozenset(field.name for field in fields(IngestOptions)) - _OF_SOURCES


def write(data: DataFrame, path: str, *, lake: Lake = LAKE, **options: Any) -> JobResult:
    """Write the rows of a DataFrame by Spark; where no table is, the first write makes it.

    :param options: Hudi's own write options (``**{"hoodie.datasource.write.operation": "upsert"}``), and those of
        ``ingest.py`` by the names of their fields (``op="upsert"``, ``record_key_fields=["id"]``), which win.
    :raises ConfigError: an option or a column is at fault.
    :raises BadRecordError: rows don't fit.
    :raises WriteConflictError: another writer was faster; the same call can be made again.
    """
    keys = {name: value for name, value in options.items() if "." in name}
    given = {name: value for name, value in options.items() if name not in keys}
    unknown = next((name for name in given if name not in _FIELDS), None)
    if unknown is not None:
        raise ConfigError(
            f"{unknown} is no option of a write of a DataFrame", todo="give one of " + ", ".join(sorted(_FIELDS))
        )
    conf = {**{name: _text(value) for name, value in keys.items()}, **dict(given.pop("hoodie_conf", ()))}
    asked = IngestOptions(base_path=path, hoodie_conf=tuple(conf.items()), **given)
    lake = lake.reached_by(dict(asked.storage_options))
    return write_frame(data.sparkSession, data, asked, LoggedProgress("write", lake.clock), lake=lake)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
