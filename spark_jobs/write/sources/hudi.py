"""Another Hudi table as a source: what its commits wrote since (Hudi: HoodieIncrSource, IncrSourceHelper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.core.config.keys import streamer as keys
from spark_jobs.core.config.keys.streamer import MissingCheckpoint
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant import COMMITS, Action
from spark_jobs.core.format.instant_time import query_instant
from spark_jobs.core.format.order import AFTER_ALL, EARLIEST, earliest, follows, is_up_to
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.table import HudiTable
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.query.incremental import read_incremental
from spark_jobs.write.sources.protocol import SourceBatch

BEGIN = "hoodie.datasource.read.begin.instanttime"


@dataclass(frozen=True, slots=True, kw_only=True)
class HudiSource:
    """The table at ``path``; a table without a checkpoint begins after ``begin``, or by ``missing`` without it."""

    path: str
    limit: int
    missing: MissingCheckpoint
    begin: str | None
    lake: Lake

    @staticmethod
    def of(options: IngestOptions, lake: Lake) -> HudiSource:
        """
        :param options: effective ones.
        :raises ConfigError: one of them is missing or not valid.
        """
        properties, given = options.hoodie_properties(), dict(options.source_options)
        paths = options.source or tuple(filter(None, [keys.INCREMENTAL_PATH.of(properties)]))
        if len(paths) != 1:
            raise ConfigError(f"--source-format hudi reads one table, not {len(paths)}", todo="give --source PATH")
        unknown = sorted(set(given) - {BEGIN})
        if unknown:
            raise ConfigError(f"--source-option {unknown[0]} is not known for hudi", todo=f"{BEGIN} is the only one")
        latest = keys.INCREMENTAL_READ_LATEST.of(properties)
        return HudiSource(
            path=paths[0],
            limit=options.source_limit or keys.INCREMENTAL_INSTANTS.of(properties),
            missing=MissingCheckpoint.READ_LATEST if latest else keys.INCREMENTAL_MISSING.of(properties),
            begin=query_instant(given[BEGIN]) if BEGIN in given else None,
            lake=lake,
        )

    @property
    def name(self) -> str:
        return f"table {self.path}"

    def next_batch(self, spark: SparkSession, checkpoint: str | None) -> SourceBatch:
        """What the commits after the checkpoint wrote, without Hudi's columns: of at most ``limit`` commits, or of all
        at the first time.
        """
        table = HudiTable.open(self.path, lake=self.lake)
        commits = readable_commits(table)
        begin = self._begin(checkpoint, commits)
        new = [one for one in commits if follows(one, begin)]
        if not new:
            summary = f"no commits after {begin}" if commits else "no commits yet"
            rows = _no_rows(spark, table) if commits else None
            return SourceBatch(rows=rows, checkpoint=begin, summary=summary, is_last=True)
        asked = new if checkpoint is None and self.begin is None else new[: self.limit]
        found, end = self._read(spark, table, begin, asked[-1], new[-1])
        taken = sum(is_up_to(one, end) for one in new)
        summary = f"{taken} commits after {begin} up to {end}, {len(new) - taken} left"
        return SourceBatch(rows=found.drop(*META_FIELDS), checkpoint=end, summary=summary, is_last=taken == len(new))

    def _begin(self, checkpoint: str | None, commits: Sequence[str]) -> str:
        if checkpoint is not None:
            if not (checkpoint.isdigit() and checkpoint.isascii()):
                raise ConfigError(
                    f"the table's checkpoint {checkpoint!r} is no instant of a Hudi table",
                    todo="check --source-format, or give --ignore-checkpoint to begin anew",
                )
            return checkpoint
        if self.begin is not None:
            return self.begin
        if self.missing is MissingCheckpoint.READ_LATEST and len(commits) > 1:
            return commits[-2]
        return EARLIEST

    def _read(self, spark: SparkSession, table: HudiTable, begin: str, end: str, last: str) -> tuple[DataFrame, str]:
        """The rows up to ``end``, or up to ``last`` where cleaning took files of that moment: then a row that was
        written again since is read once, as it is now.
        """
        try:
            return read_incremental(spark, table, begin, end), end
        except ConfigError:
            if end == last:
                raise
            return read_incremental(spark, table, begin, last), last


def _no_rows(spark: SparkSession, table: HudiTable) -> DataFrame | None:
    """None of the table's rows, with their columns; None where it has none."""
    known = table.known_avro_schema()
    if known is None:
        return None
    schema = from_arrow_schema(arrow_schema_of(known), prefer_timestamp_ntz=True)
    return spark.createDataFrame([], schema).drop(*META_FIELDS)


def readable_commits(table: HudiTable) -> list[str]:
    """Instants of completed commits, oldest first, that no write under way could still come before.

    Hudi: TimelineUtils.handleHollowCommitIfNeeded, which blocks there for this source.
    """
    clusterings = set(table.pending.clustering.values())
    pending = [
        one.timestamp
        for one in table.timeline.pending(COMMITS)
        if one.action is not Action.REPLACE_COMMIT or one.timestamp not in clusterings
    ]
    return [one.timestamp for one in table.timeline.commits_before(earliest(pending, AFTER_ALL))]
