"""The table that takes the rows that another one can't (Hudi: BaseErrorTableWriter, HoodieErrorTableConfig).

It is written under an idempotency key that follows from the write's own, before that one is completed: a retry finds
its rows there and adds none. Where the source has changed until then, the keys of those that are the same are too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.core.config.keys import errortable as keys
from spark_jobs.core.config.keys.parquet import SMALL_FILE_LIMIT
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.error_rows import FIELDS, MOST_SHOWN

ERROR_ID = "error_id"
_SHARED = (
    *("hoodie.write.lock.", "hoodie.write.concurrency.", "hoodie.parquet.compression."),
    *("pyhudi.lock.", "pyhudi.durable"),
)
"""Settings of the write that hold for its error table too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorTable:
    """Where the rows go; ``most``: how many may, None for any number; ``properties`` of the write itself."""

    base_path: str
    name: str
    most: int | None
    properties: Mapping[str, str]

    @staticmethod
    def of(config: WriteConfig) -> ErrorTable | None:
        """
        :raises ConfigError: a limit without the table, or a table that is, or lies in, the one that is written.
        """
        path, most = config.options.error_table, config.options.max_errors
        if not keys.ERROR_TABLE_ENABLE.of(config.properties):
            path = None
        elif not path and config.properties.get(keys.ERROR_TABLE_ENABLE.name):
            raise ConfigError(
                f"{keys.ERROR_TABLE_ENABLE.name}=true says not where", todo="give --error-table and its base path"
            )
        if not path:
            if most is not None:
                raise ConfigError("--max-errors is for an error table", todo="give --error-table too")
            return None
        own, others = (f"{config.lake.place(one).path.rstrip('/')}/" for one in (config.options.base_path, path))
        if own.startswith(others) or others.startswith(own):
            raise ConfigError(
                f"--error-table {path} and the table {config.options.base_path} lie in each other",
                todo="give it a folder of its own",
            )
        name = keys.ERROR_TABLE_NAME.of(config.properties) or f"{config.name}_errors"
        return ErrorTable(base_path=path, name=name, most=most, properties=config.options.hoodie_properties())

    def options(self, origin: ErrorOrigin, digest: str) -> IngestOptions:
        """Those of the write that adds the rows.

        Each write makes files of its own, so that writers which share the error table don't meet in one.

        :param digest: of the rows.
        """
        shared = {name: value for name, value in self.properties.items() if name.startswith(_SHARED)}
        return IngestOptions(
            base_path=self.base_path,
            table_name=self.name,
            op=Operation.UPSERT if origin.may_come_again else Operation.BULK_INSERT,
            record_key_fields=(ERROR_ID,),
            idempotency_key=f"{origin.write} {digest}",
            hoodie_conf={**shared, SMALL_FILE_LIMIT.name: "0"},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorOrigin:
    """What a write is called in the error table: ``write`` is the same for its retries, and ``start`` for those of
    them too that read a live source further than the first one did.
    """

    write: str
    start: str
    may_come_again: bool

    @staticmethod
    def of(config: WriteConfig, instant: str) -> ErrorOrigin:
        """
        :param instant: of the write, for one that nothing else tells from others.
        """
        key, move = config.options.idempotency_key, config.checkpoint
        known = " ".join(filter(None, (key, move.after if move else None)))
        start = known or instant
        if move is not None:
            start = f"{move.before} {move.orders if move.orders.are_new_to(move.before) else ''}"
        return ErrorOrigin(
            write=f"errors of {config.options.base_path} {known or instant}",
            start=f"{config.options.base_path} {start}",
            may_come_again=bool(known),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRows:
    """``rows`` have the columns :data:`~spark_jobs.write.error_rows.FIELDS`; ``by_reason`` counts them; ``digest`` is
    the same for the same rows in any order.
    """

    rows: DataFrame
    by_reason: Mapping[str, int]
    digest: str
    shows_values: bool

    @property
    def count(self) -> int:
        return sum(self.by_reason.values())

    def as_errors(self, config: WriteConfig, instant: str, origin: ErrorOrigin) -> DataFrame:
        """What the error table stores of them.

        A row's id is made of the write's start, of what stands in the row, and of how many rows before it are alike.
        """
        options = config.options
        source = " ".join([options.source_format or "parquet", *options.source])
        facts = {
            "source": source,
            "target_table": config.name,
            "target_base_path": options.base_path,
            "target_instant": instant,
            "idempotency_key": options.idempotency_key,
        }
        start = hashlib.sha256(origin.start.encode()).hexdigest()[:16]
        alike = Window.partitionBy("_pyhudi_content").orderBy(*FIELDS)
        named = self.rows.withColumn("_pyhudi_content", F.hex(F.xxhash64(*FIELDS)))
        number = F.concat_ws("/", F.lit(start), F.col("_pyhudi_content"), F.row_number().over(alike).cast("string"))
        at = F.lit(config.lake.clock.now()).cast("timestamp")
        literals = [F.lit(value).cast("string").alias(name) for name, value in facts.items()]
        return named.select(number.alias(ERROR_ID), *FIELDS, *literals, at.alias("seen_at"))

    def first(self) -> str:
        """One of them, for a message."""
        row = self.rows.head()
        return "" if row is None else message_of(row.asDict(), shows_value=self.shows_values)

    def refuse_more_than(self, most: int | None) -> None:
        """
        :raises BadRecordError: there are more than may go to an error table.
        """
        if most is not None and self.count > most:
            raise BadRecordError(
                f"{self.count} rows don't fit, and --max-errors={most} may go to the error table; {self.first()}",
                todo="correct them in the source, or let more go there",
            )


def message_of(row: Mapping[str, Any], *, shows_value: bool) -> str:
    """``the first (<value> of <place>): <why>``.

    :param row: the columns :data:`~spark_jobs.write.error_rows.FIELDS` of one.
    :param shows_value: without it, neither a value nor a reason that may quote one.
    """
    if not shows_value:
        where = f" ({row['place']})" if row["place"] else ""
        column = f", by its column {row['column']}" if row["column"] else ""
        return f"the first{where} is refused as {row['reason']}{column}: {keys.SHOW_VALUES.name}=false"
    text = " ".join(_value_at_fault(row).split())
    shown = text[:MOST_SHOWN] + ("..." if len(text) > MOST_SHOWN else "")
    where = " ".join(filter(None, [shown, f"of {row['place']}" if row["place"] else ""]))
    return f"the first ({where}): {row['message'].rstrip(':')}" if where else f"the first: {row['message'].rstrip(':')}"


def _value_at_fault(row: Mapping[str, Any]) -> str:
    """``column=value`` where a column is at fault; the text of a row that can't be read."""
    text, columns = str(row["row"] or ""), (row["column"] or "").split(",")
    if not columns[0]:
        return text
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        return ""
    return next((f"{one}={json.dumps(values[one], ensure_ascii=False)}" for one in columns if one in values), "")


@contextmanager
def counted(parts: list[DataFrame], config: WriteConfig, progress: Progress) -> Iterator[RefusedRows]:
    """Refused rows of several checks, computed once and kept until the end."""
    rows = parts[0]
    for part in parts[1:]:
        rows = rows.unionByName(part)
    rows = rows.persist()
    try:
        with progress.phase("check"):
            whole = F.xxhash64("reason", "column", "message", "row").cast("decimal(38,0)")
            found = rows.groupBy("reason").agg(F.count("*"), F.sum(whole)).orderBy("reason").collect()
        digest = "".join(f"{row[0]} {row[1]} {row[2]};" for row in found)
        yield RefusedRows(
            rows=rows,
            by_reason={row[0]: row[1] for row in found},
            digest=hashlib.sha256(digest.encode()).hexdigest()[:16],
            shows_values=keys.SHOW_VALUES.of(config.properties),
        )
    finally:
        rows.unpersist()
