"""The rows of a source on their way to a write: transformed, named, and those that don't fit set apart or refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.core.config.keys.errortable import SHOW_VALUES
from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.error_rows import CheckedRows
from spark_jobs.write.error_table import ErrorTable, RefusedRows, counted
from spark_jobs.write.row_checks import check_rows
from spark_jobs.write.schema import with_valid_names
from spark_jobs.write.transformers import steps_of, transform


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyRows:
    """``rows`` to write, None for a write that needs none; with an error table ``refused`` has those that don't fit.

    ``origin`` is what was read.
    """

    rows: DataFrame | None
    origin: DataFrame | None = None
    error_table: ErrorTable | None = None
    refused: RefusedRows | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """For a result or a plan."""
        if self.error_table is None or self.refused is None:
            return {}
        return {
            "error_table": self.error_table.base_path,
            "error_rows": self.refused.count,
            "errors_by_reason": dict(self.refused.by_reason),
        }


@contextmanager
def ready_rows(
    source: DataFrame | CheckedRows | None, config: WriteConfig, table: HudiTable | None, progress: Progress
) -> Iterator[ReadyRows]:
    """The rows through the transformers, and through the checks where there is an error table.

    Without one, a row that doesn't fit fails whatever reads it; :func:`detailed_failure` then counts them.

    :raises ConfigError: a transformer, the error table or the columns are at fault.
    :raises BadRecordError: more rows don't fit than may.
    """
    error_table = ErrorTable.of(config)
    if source is None:
        yield ReadyRows(rows=None)
        return
    origin = source.rows if isinstance(source, CheckedRows) else source
    if error_table is None:
        yield ReadyRows(rows=_transformed(_refusing(source), config), origin=origin)
        return
    with ExitStack() as held:
        refused_parts = []
        if isinstance(source, CheckedRows):
            read = _held(source, held)
            refused_parts.append(read.bad)
            source = read.good
        checked = _held(check_rows(_transformed(source, config), config, table, retype=True), held)
        refused_parts.append(checked.bad)
        refused = held.enter_context(counted(refused_parts, config, progress))
        refused.refuse_more_than(error_table.most)
        yield ReadyRows(rows=checked.good, origin=origin, error_table=error_table, refused=refused)


def _held(checked: CheckedRows, until: ExitStack) -> CheckedRows:
    """The rows as they were judged once: read again, or with other columns, a row might be judged otherwise."""
    rows = checked.rows.persist()
    until.callback(rows.unpersist)
    return replace(checked, rows=rows)


def _refusing(source: DataFrame | CheckedRows) -> DataFrame:
    return source.refusing if isinstance(source, CheckedRows) else source


def _transformed(source: DataFrame, config: WriteConfig) -> DataFrame:
    steps = steps_of(config.options)
    if steps:
        done = transform(source, steps, config.options.hoodie_properties(), config.lake)
        ordering = (
            () if config.operation in (Operation.DELETE, Operation.DELETE_PARTITION) else (config.precombine_field,)
        )
        wanted = (*config.key_spec.record_key_fields, *config.key_spec.partition_fields, *filter(None, ordering))
        done.refuse_dropped(wanted)
        source = done.rows
    return with_valid_names(source, config.properties)


def detailed_failure(
    error: Exception,
    source: DataFrame | CheckedRows | None,
    config: WriteConfig,
    table: HudiTable | None,
    progress: Progress,
) -> BadRecordError | None:
    """The error of a write that met a row that doesn't fit, with their number and the first of them.

    The source is read once more. None where the error is another one, or nothing is found.
    """
    if source is None or "BadRecordError" not in f"{type(error).__name__} {error}":
        return None
    try:
        if isinstance(source, CheckedRows):
            with counted([source.bad], config, progress) as refused:
                if refused.count:
                    return _refusal(refused)
        checked = check_rows(_transformed(_refusing(source), config), config, table, retype=False)
        with counted([checked.bad], config, progress) as refused:
            return _refusal(refused) if refused.count else _unseen(config)
    except Exception as other:
        unseen = _unseen(config)
        if unseen is not None:
            return unseen
        return BadRecordError(f"{failure_of(error).message} (a look at the others failed: {failure_of(other).message})")


def _unseen(config: WriteConfig) -> BadRecordError | None:
    """In place of an error whose words may quote a row, where no value is to be shown."""
    if SHOW_VALUES.of(config.properties):
        return None
    return BadRecordError("a row doesn't fit", todo=f"say {SHOW_VALUES.name}=true to see which value is at fault")


def _refusal(refused: RefusedRows) -> BadRecordError:
    rows = "1 row doesn't fit" if refused.count == 1 else f"{refused.count} rows don't fit"
    return BadRecordError(f"{rows}; {refused.first()}", count=refused.count)
