"""The table that takes the rows that another one can't (Hudi: BaseErrorTableWriter, HoodieErrorTableConfig).

It is written under an idempotency key that follows from the write's own, before that one is completed: a retry finds
its rows there and adds none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config import transform_keys as keys
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.storage import locate
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.error_rows import FIELDS, MOST_SHOWN

ERROR_ID = "error_id"
_SHARED = ("hoodie.write.lock.", "hoodie.write.concurrency.", "hoodie.parquet.compression.")
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
        own, others = (f"{locate(one)[1].rstrip('/')}/" for one in (config.options.base_path, path))
        if own.startswith(others) or others.startswith(own):
            raise ConfigError(
                f"--error-table {path} and the table {config.options.base_path} lie in each other",
                todo="give it a folder of its own",
            )
        name = keys.ERROR_TABLE_NAME.of(config.properties) or f"{config.name}_errors"
        return ErrorTable(base_path=path, name=name, most=most, properties=config.options.hoodie_properties())

    def options(self, key: str) -> IngestOptions:
        """Those of the write that adds the rows."""
        return IngestOptions(
            base_path=self.base_path,
            table_name=self.name,
            op=Operation.BULK_INSERT,
            record_key_fields=(ERROR_ID,),
            idempotency_key=key,
            hoodie_conf={name: value for name, value in self.properties.items() if name.startswith(_SHARED)},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRows:
    """``rows`` have the columns :data:`~spark_jobs.write.error_rows.FIELDS`; ``by_reason`` counts them; ``digest`` is
    the same for the same rows in any order.
    """

    rows: DataFrame
    by_reason: Mapping[str, int]
    digest: str

    @property
    def count(self) -> int:
        return sum(self.by_reason.values())

    def key_of(self, config: WriteConfig, instant: str) -> str:
        """The idempotency key of their write: a retry of the same write, told by its own key and by how far it reads a
        source with a checkpoint, with the same rows adds none; one whose source changed meanwhile adds them all.
        """
        read_to = config.checkpoint.after if config.checkpoint else None
        write = " ".join(filter(None, (config.options.idempotency_key, read_to))) or instant
        return f"errors of {config.options.base_path} {write} {self.digest}"

    def as_errors(self, config: WriteConfig, instant: str, key: str) -> DataFrame:
        """What the error table stores of them.

        :param key: of the write to the error table; the ids of its rows begin with it.
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
        number = F.concat_ws("/", F.lit(key), F.monotonically_increasing_id().cast("string"))
        at = F.lit(SYSTEM_CLOCK.now()).cast("timestamp")
        told = [F.lit(value).cast("string").alias(name) for name, value in facts.items()]
        return self.rows.select(number.alias(ERROR_ID), *FIELDS, *told, at.alias("seen_at"))

    def first(self) -> str:
        """One of them, for a message."""
        row = self.rows.head()
        return "" if row is None else told_of(row.asDict())

    def refuse_more_than(self, most: int | None) -> None:
        """
        :raises BadRecordError: there are more than may go to an error table.
        """
        if most is not None and self.count > most:
            raise BadRecordError(
                f"{self.count} rows don't fit, and --max-errors={most} may go to the error table; {self.first()}",
                todo="correct them in the source, or let more go there",
            )


def told_of(row: Mapping[str, Any]) -> str:
    """``the first (<row> of <place>): <why>``."""
    text = " ".join(str(row["row"] or "").split())
    shown = text[:MOST_SHOWN] + ("..." if len(text) > MOST_SHOWN else "")
    where = f" of {row['place']}" if row["place"] else ""
    return f"the first ({shown}{where}): {row['message'].rstrip(':')}"


@contextmanager
def counted(parts: list[DataFrame], progress: Progress) -> Iterator[RefusedRows]:
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
        )
    finally:
        rows.unpersist()
