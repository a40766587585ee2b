"""Keys of sources and of what happens to their rows before they are written (Hudi: those of Hudi Streamer)."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names, text


class OffsetReset(StrEnum):
    """Where reading a topic begins for a table without a checkpoint."""

    EARLIEST = "earliest"
    LATEST = "latest"
    GROUP = "group"


class MissingCheckpoint(StrEnum):
    """Where reading a table begins for a table without a checkpoint."""

    READ_UPTO_LATEST_COMMIT = "READ_UPTO_LATEST_COMMIT"
    READ_LATEST = "READ_LATEST"


SANITIZE_NAMES = Key(
    name="hoodie.streamer.source.sanitize.invalid.schema.field.names",
    parse=boolean,
    default=False,
    doc="Rename columns of the source whose names Avro does not have; else they are an error.",
    aliases=("hoodie.deltastreamer.source.sanitize.invalid.schema.field.names",),
)
SANITIZE_MASK = Key(
    name="hoodie.streamer.source.sanitize.invalid.char.mask",
    parse=text,
    default="__",
    doc="What stands in such a name for each character that Avro does not have.",
    aliases=("hoodie.deltastreamer.source.sanitize.invalid.char.mask",),
)
FILES_ROOT = Key(
    name="hoodie.streamer.source.dfs.root",
    aliases=("hoodie.deltastreamer.source.dfs.root",),
    parse=text,
    default="",
    doc="Path or URL of the source's files, where `--source` names none.",
)
PARQUET_MERGE_SCHEMA = Key(
    name="hoodie.streamer.source.parquet.dfs.merge_schema.enable",
    aliases=("hoodie.deltastreamer.source.parquet.dfs.merge_schema.enable",),
    parse=boolean,
    default=False,
    doc="The columns of all Parquet files of the source are read, not those of one file alone; "
    "`--source-option mergeSchema` wins.",
)
KAFKA_TOPIC = Key(
    name="hoodie.streamer.source.kafka.topic",
    aliases=("hoodie.deltastreamer.source.kafka.topic",),
    parse=text,
    default="",
    doc="Topic, where `--source` names none.",
)
KAFKA_MAX_EVENTS = Key(
    name="hoodie.streamer.kafka.source.maxEvents",
    aliases=("hoodie.deltastreamer.kafka.source.maxEvents",),
    parse=integer(1),
    default=5_000_000,
    doc="Messages that a batch has at most; `--source-limit` wins.",
)
KAFKA_FAIL_ON_DATA_LOSS = Key(
    name="hoodie.streamer.source.kafka.enable.failOnDataLoss",
    aliases=("hoodie.deltastreamer.source.kafka.enable.failOnDataLoss",),
    parse=boolean,
    default=True,
    doc="Refuse to go on where the topic no longer has the messages after the checkpoint; with false, go on at the "
    "first that it has (Hudi's default).",
)
KAFKA_MIN_PARTITIONS = Key(
    name="hoodie.streamer.source.kafka.minPartitions",
    aliases=("hoodie.deltastreamer.source.kafka.minPartitions",),
    parse=integer(),
    default=0,
    doc="Tasks that read a batch, at least; 0 for one for each partition of the topic.",
)
KAFKA_APPEND_OFFSETS = Key(
    name="hoodie.streamer.source.kafka.append.offsets",
    aliases=("hoodie.deltastreamer.source.kafka.append.offsets",),
    parse=boolean,
    default=False,
    doc="Add where each record came from: `_hoodie_kafka_source_offset`, `_hoodie_kafka_source_partition`, "
    "`_hoodie_kafka_source_timestamp`, `_hoodie_kafka_source_key`.",
)
AUTO_OFFSET_RESET = Key(
    name="auto.offset.reset",
    parse=choice(OffsetReset),
    default=OffsetReset.LATEST,
    doc="Where a table without a checkpoint begins: earliest, latest, or what a consumer group (`group.id`) committed.",
)
INCREMENTAL_PATH = Key(
    name="hoodie.streamer.source.hoodieincr.path",
    aliases=("hoodie.deltastreamer.source.hoodieincr.path",),
    parse=text,
    default="",
    doc="Base path of the table that is read, where `--source` names none.",
)
INCREMENTAL_INSTANTS = Key(
    name="hoodie.streamer.source.hoodieincr.num_instants",
    aliases=("hoodie.deltastreamer.source.hoodieincr.num_instants",),
    parse=integer(1),
    default=5,
    doc="Commits whose changes a batch has at most; `--source-limit` wins.",
)
INCREMENTAL_MISSING = Key(
    name="hoodie.streamer.source.hoodieincr.missing.checkpoint.strategy",
    aliases=("hoodie.deltastreamer.source.hoodieincr.missing.checkpoint.strategy",),
    parse=choice(MissingCheckpoint),
    default=MissingCheckpoint.READ_UPTO_LATEST_COMMIT,
    doc="Where a table without a checkpoint begins: READ_UPTO_LATEST_COMMIT reads the whole source, READ_LATEST its "
    "last commit alone (Hudi has no default).",
)
INCREMENTAL_READ_LATEST = Key(
    name="hoodie.streamer.source.hoodieincr.read_latest_on_missing_ckpt",
    aliases=("hoodie.deltastreamer.source.hoodieincr.read_latest_on_missing_ckpt",),
    parse=boolean,
    default=False,
    doc="The older spelling of READ_LATEST.",
)
SOURCE_SCHEMA_FILE = Key(
    name="hoodie.streamer.schemaprovider.source.schema.file",
    parse=text,
    default="",
    doc="Path or URL of a file with the source's schema in Avro's JSON, where `--source-schema` gives none.",
    aliases=("hoodie.deltastreamer.schemaprovider.source.schema.file",),
)
TRANSFORMER_SQL = Key(
    name="hoodie.streamer.transformer.sql",
    parse=text,
    default="",
    doc="A query over `<SRC>` that makes the rows to write from the source's.",
    aliases=("hoodie.deltastreamer.transformer.sql",),
)
TRANSFORMER_SQL_FILE = Key(
    name="hoodie.streamer.transformer.sql.file",
    parse=text,
    default="",
    doc="A file with such a query, or with several statements, the query last.",
    aliases=("hoodie.deltastreamer.transformer.sql.file",),
)
TRANSFORMERS = Key(
    name="pyhudi.transformer",
    parse=names,
    default=NO_NAMES,
    doc="Functions from rows to rows, as module:function.",
)
