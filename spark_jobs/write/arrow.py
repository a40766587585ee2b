"""Writes of Arrow data by this process, without Spark: the same placing, files and commit as those of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from spark_jobs.core.config.keys.datasource import OPERATION, PARTITIONS_TO_DELETE
from spark_jobs.core.config.keys.errortable import ERROR_TABLE_ENABLE
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.writer_warnings import writer_warnings
from spark_jobs.core.writes import refuse_one_text
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.logged import LoggedProgress
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.options.result import JobResult
from spark_jobs.write.config import resolve
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.direct.choose import same_keys_without_spark
from spark_jobs.write.direct.columns import refuse_unusable_columns
from spark_jobs.write.source_rows import write_source

_ALL = frozenset(one.name for one in fields(IngestOptions)) - {"base_path", "op"}
_SPARK_ALONE = (
    "source",
    "source_format",
    "source_options",
    "source_schema",
    "transformer",
    "transformer_sql",
    "transformer_sql_file",
    "error_table",
    "explain",
    "dry_run",
)


def write_to(
    table: HudiTable,
    operation: str,
    data: Any,
    options: Mapping[str, Any],
    *,
    partitions: Sequence[str] = (),
    progress: Progress | None = None,
) -> JobResult:
    """Write Arrow data, or nothing but the deletion of partitions, to an open table, as it stands now.

    :param options: fields of :class:`IngestOptions` by their names; ``hoodie_conf`` may be a mapping.
    :param partitions: that a delete_partition takes off, by path, ``*`` for any text.
    :raises HudiError: the table is as it was then, but for a sync with Hive that failed after the commit, as it says.
    """
    conf = _conf_of(options)
    if partitions:
        _refuse_other_than_paths(partitions)
        conf[PARTITIONS_TO_DELETE.name] = ",".join(partitions)
    given = {**options, "hoodie_conf": tuple(conf.items()), "op": Operation(operation)}
    asked = IngestOptions(base_path=table.url, **given)
    for name in _SPARK_ALONE:
        if getattr(asked, name):
            raise ConfigError(f"{name} is an option of ingest.py", todo="leave it out, or run the job")
    return _write(table.refreshed(), data, asked, progress or LoggedProgress("write", table.clock))


def _conf_of(options: Mapping[str, Any]) -> dict[str, str]:
    """The ``hoodie.*`` values of the options: a mapping, or as a job has them, pairs or texts ``key=value``.

    :raises ConfigError: an option that no write has, or a value that is neither.
    """
    unknown = next((name for name in options if name not in _ALL), None)
    if unknown is not None:
        known = ", ".join(sorted(_ALL - set(_SPARK_ALONE)))
        raise ConfigError(f"{unknown} is no option of a write", todo=f"give some of {known}", option=unknown)
    given = options.get("hoodie_conf") or {}
    if isinstance(given, str):
        given = [given]
    try:
        pairs = given.items() if isinstance(given, Mapping) else map(_pair, given)
        conf = {str(name): str(value) for name, value in pairs}
    except (TypeError, ValueError):
        raise ConfigError(
            f"hoodie_conf={given!r} is no mapping", todo='give {"hoodie....": "value"}', option="hoodie_conf"
        ) from None
    for key, instead in ((OPERATION, "call the method of that name"), (ERROR_TABLE_ENABLE, "run ingest.py")):
        if conf.get(key.name, "false") != "false":
            raise ConfigError(f"{key.name} has no effect here", todo=instead, key=key.name)
    return conf


def _pair(given: Any) -> tuple[Any, Any]:
    name, value = given.split("=", 1) if isinstance(given, str) else given
    return name, value


def _refuse_other_than_paths(partitions: Sequence[str]) -> None:
    """
    :raises ConfigError: a text, whose letters would be taken for paths; or a path that the key can't have as it is.
    """
    refuse_one_text(partitions)
    for path in partitions:
        if not isinstance(path, str) or "," in path or path != path.strip() or not path:
            raise ConfigError(
                f"partitions has {path!r}: a path there is a text without commas and without space around it",
                todo="give a pattern (* for any text) that matches that path alone, or delete its records",
            )


def _write(table: HudiTable, data: Any, options: IngestOptions, progress: Progress) -> JobResult:
    progress.warn(*writer_warnings(dict(options.hoodie_properties())))
    table = replace(table, lists_storage=True)
    config = resolve(options, table, table.lake)
    source = None
    if config.operation is Operation.DELETE_PARTITION and not PARTITIONS_TO_DELETE.of(config.properties):
        raise ConfigError("no partitions to delete are named", todo="give their paths")
    if config.operation is not Operation.DELETE_PARTITION:
        source = ArrowSource.of(data, config.name)
        refuse_unusable_columns(source.schema, config, what="data")
        if not same_keys_without_spark(config.key_spec, source.schema, virtual=not config.populate_meta_fields):
            raise ConfigError(
                f"a key or partition column of table {config.name} holds floating-point numbers, or times in the zone "
                "of the machine, of which other writers may make other texts",
                todo="write by ingest.py",
                table=config.name,
            )
    return write_source(config, table, source, LocalEngine.of_machine(table.clock), progress)
