"""A topic of Kafka as a source: offsets are chosen on the driver, messages read by Spark (Hudi: KafkaSource)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.core.config.keys import streamer as keys
from spark_jobs.core.config.keys.streamer import OffsetReset
from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.sources.kafka_offsets import (
    Offsets,
    checkpoint_of,
    first_offsets,
    for_spark,
    limited,
    offsets_of,
)
from spark_jobs.write.sources.kafka_topic import KafkaTopic, open_topic
from spark_jobs.write.sources.kafka_values import PREFIX, MessageValues
from spark_jobs.write.sources.protocol import SourceBatch, SourceRows

_KAFKA = "kafka."
_REFUSED_BY_SPARK = frozenset(
    {
        "auto.offset.reset",
        "enable.auto.commit",
        "interceptor.classes",
        "key.deserializer",
        "value.deserializer",
        "key.serializer",
        "value.serializer",
    }
)
_OURS = ("startingoffsets", "endingoffsets", "subscribe", "subscribepattern", "assign", "failondataloss")
_LIMITS = ("maxoffsetspertrigger",)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource:
    """One topic; ``client`` are the settings of Kafka's consumer, ``reader`` further options of Spark's source."""

    topic: str
    client: Mapping[str, str]
    reader: Mapping[str, str]
    values: MessageValues
    reset: OffsetReset
    limit: int
    strict: bool
    min_partitions: int

    @staticmethod
    def of(options: IngestOptions, table: HudiTable | None, lake: Lake) -> KafkaSource:
        """
        :param options: effective ones.
        :param table: the one that is written to, which may know the schema of the values.
        :raises ConfigError: one of them is missing or not valid.
        """
        properties, given = options.hoodie_properties(), dict(options.source_options)
        topics = options.source or tuple(filter(None, [keys.KAFKA_TOPIC.of(properties)]))
        if len(topics) != 1 or "," in topics[0]:
            raise ConfigError(
                f"--source-format kafka reads one topic, not {len(topics)}: {', '.join(topics)}"
                if topics
                else "no topic is given",
                todo="give --source TOPIC",
            )
        for key in given:
            if key.lower() in (*_OURS, *_LIMITS):
                raise ConfigError(
                    f"--source-option {key} is not yours to give: the table's checkpoint says where reading goes on",
                    todo="use --checkpoint, --source-limit or --hoodie-conf auto.offset.reset=earliest|latest",
                )
        client = {key: text for key, text in properties.items() if not key.startswith(("hoodie.", "pyhudi."))}
        client |= {key.removeprefix(_KAFKA): text for key, text in given.items() if key.startswith(_KAFKA)}
        return KafkaSource(
            topic=topics[0],
            client=client,
            reader={key: text for key, text in given.items() if not key.startswith((_KAFKA, PREFIX))},
            values=MessageValues.of(options, table, lake),
            reset=keys.AUTO_OFFSET_RESET.of(client),
            limit=options.source_limit or keys.KAFKA_MAX_EVENTS.of(properties),
            strict=keys.KAFKA_FAIL_ON_DATA_LOSS.of(properties),
            min_partitions=keys.KAFKA_MIN_PARTITIONS.of(properties),
        )

    @property
    def name(self) -> str:
        return f"topic {self.topic}"

    def next_batch(self, spark: SparkSession, checkpoint: str | None) -> SourceBatch:
        """The messages between the checkpoint and the end that the topic has now, at most ``limit`` of them.

        Both ends are numbers from here on: a task that runs again reads the same messages.
        """
        with open_topic(spark, self.topic, self.client) as topic:
            latest = topic.latest()
            start, notes = self._start(topic, checkpoint, latest)
        end = limited(start, latest, self.limit)
        count = sum(end.values()) - sum(start.values())
        left = sum(max(0, offset - end[one]) for one, offset in latest.items())
        summary = f"{count} messages after {checkpoint_of(self.topic, start)} in {len(start)} partitions, {left} left"
        return SourceBatch(
            rows=self.rows(self._read(spark, start, end)),
            checkpoint=checkpoint_of(self.topic, end),
            summary="; ".join([summary, *notes]),
            is_last=left == 0,
        )

    def start(self, spark: SparkSession, checkpoint: str | None) -> tuple[Offsets, list[str]]:
        """Where a stream begins, and notes about that for the log."""
        with open_topic(spark, self.topic, self.client) as topic:
            return self._start(topic, checkpoint, topic.latest())

    def stream(self, spark: SparkSession, start: Offsets) -> DataFrame:
        """The messages from ``start`` on as a stream; partitions that come are read from their first message."""
        options = {"subscribe": self.topic, "startingOffsets": for_spark(self.topic, start)}
        if self.limit:
            options["maxOffsetsPerTrigger"] = str(self.limit)
        reader = spark.readStream.format("kafka").options(**{**self._options(), **options})
        try:
            return reader.load()
        except (PySparkException, Py4JError) as error:
            raise self._unreadable(error) from error

    def rows(self, messages: DataFrame) -> SourceRows:
        """The rows of a micro-batch."""
        return self.values.rows(messages)

    def no_rows(self, spark: SparkSession, start: Offsets) -> SourceRows:
        """None, with the columns that they would have."""
        return self.rows(self._read(spark, start, start))

    def _start(self, topic: KafkaTopic, checkpoint: str | None, latest: Offsets) -> tuple[Offsets, list[str]]:
        earliest = topic.earliest()
        if checkpoint is not None:
            return self._known(offsets_of(checkpoint, self.topic), earliest, latest, "the checkpoint")
        if self.reset is OffsetReset.EARLIEST:
            return earliest, []
        start, lost = latest, list[str]()
        if self.reset is OffsetReset.GROUP:
            start, lost = self._known(topic.of_group(), earliest, latest, "the consumer group's offset")
        before = sum(start.values()) - sum(earliest.values())
        skipped = f"the table had no checkpoint, and {keys.AUTO_OFFSET_RESET.name} is {self.reset.value}"
        return start, [*lost, *([f"{skipped}: {before} messages before that are not read"] if before else [])]

    def _known(self, known: Offsets, earliest: Offsets, latest: Offsets, name: str) -> tuple[Offsets, list[str]]:
        """Where a batch begins of which somebody knew where; and a line for each partition that lost messages."""
        start, lost = first_offsets(known, earliest, latest, topic=self.topic, strict=self.strict, known=name)
        return start, [f"messages are lost: {one}" for one in lost]

    def _read(self, spark: SparkSession, start: Offsets, end: Offsets) -> DataFrame:
        places = f'{{"{self.topic}":{sorted(start)}}}'
        options = {
            "assign": places,
            "startingOffsets": for_spark(self.topic, start),
            "endingOffsets": for_spark(self.topic, end),
        }
        try:
            return spark.read.format("kafka").options(**{**self._options(), **options}).load()
        except (PySparkException, Py4JError) as error:
            raise self._unreadable(error) from error

    def _options(self) -> dict[str, str]:
        client = {f"{_KAFKA}{key}": text for key, text in self.client.items() if key not in _REFUSED_BY_SPARK}
        spread = {"minPartitions": str(self.min_partitions)} if self.min_partitions else {}
        return {**spread, **self.reader, **client, "failOnDataLoss": "true"}

    def _unreadable(self, error: BaseException) -> StorageError:
        why = failure_of(error).message
        return StorageError(f"{self.name} can't be read ({why})", todo="check --source and --source-option")
