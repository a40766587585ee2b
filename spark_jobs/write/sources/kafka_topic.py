"""What a broker says of a topic, asked by Kafka's own client in the driver's JVM.

Spark's source finds offsets by the same client, but tells nobody of them before it reads; the client is there with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.source_packages import packages_for
from spark_jobs.write.sources.kafka_offsets import Offsets

SERVERS = "bootstrap.servers"
_BYTES = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_OWN = frozenset({"key.deserializer", "value.deserializer", "enable.auto.commit", "auto.offset.reset"})
"""Settings that reading by given offsets leaves no choice of."""


class KafkaTopic:
    """One topic seen by one client; only inside :func:`open_topic`."""

    def __init__(self, spark: SparkSession, name: str, servers: str, consumer: Any) -> None:
        self.name = name
        self._jvm: Any = spark._jvm
        self._servers = servers
        self._consumer = consumer
        self._places: dict[int, Any] = {}

    def earliest(self) -> Offsets:
        """The first message that each partition still has."""
        return self._offsets(self._consumer.beginningOffsets)

    def latest(self) -> Offsets:
        """Behind the last message of each partition, or the last one of a finished transaction where the client
        has ``isolation.level=read_committed``.
        """
        return self._offsets(self._consumer.endOffsets)

    def of_group(self) -> Offsets:
        """What the consumer group of ``group.id`` committed; the end of those partitions that it never read."""
        places = self._partitions()
        committed = self._consumer.committed(self._set(places.values()))
        latest = self.latest()
        found = {partition: committed.get(place) for partition, place in places.items()}
        return {one: latest[one] if kept is None else int(kept.offset()) for one, kept in found.items()}

    def _offsets(self, ask: Any) -> Offsets:
        places = self._partitions()
        found = ask(self._set(places.values()))
        return {partition: int(found.get(place)) for partition, place in places.items()}

    def _partitions(self) -> Mapping[int, Any]:
        """
        :raises StorageError: there is no such topic.
        """
        if not self._places:
            found = self._consumer.partitionsFor(self.name)
            numbers = sorted(int(one.partition()) for one in found) if found is not None else []
            if not numbers:
                raise StorageError(
                    f"topic {self.name} does not exist at {self._servers}", todo="check --source", topic=self.name
                )
            place = self._jvm.org.apache.kafka.common.TopicPartition
            self._places = {number: place(self.name, number) for number in numbers}
        return self._places

    def _set(self, places: Any) -> Any:
        held = self._jvm.java.util.HashSet()
        for one in places:
            held.add(one)
        return held


@contextmanager
def open_topic(spark: SparkSession, name: str, settings: Mapping[str, str]) -> Iterator[KafkaTopic]:
    """A client of the topic's broker.

    :param settings: of Kafka's consumer, by Kafka's names.
    :raises ConfigError: Spark has no Kafka, or a setting is not valid.
    :raises StorageError: no broker answers, or the topic does not exist.
    """
    servers = settings.get(SERVERS, "")
    if not servers:
        raise ConfigError(
            "no Kafka broker is given", todo="give --source-option kafka.bootstrap.servers=HOST:PORT,...", key=SERVERS
        )
    jvm: Any = spark._jvm
    asked = {"allow.auto.create.topics": "false", "default.api.timeout.ms": "30000", **settings}
    properties = jvm.java.util.Properties()
    for key, text in asked.items():
        if key not in _OWN:
            properties.setProperty(key, text)
    properties.setProperty("key.deserializer", _BYTES)
    properties.setProperty("value.deserializer", _BYTES)
    try:
        consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(properties)
    except TypeError as error:  # what py4j says of a class that is not there
        raise ConfigError(
            "--source-format kafka is not known to this Spark",
            todo=f"run spark-submit with --packages {','.join(packages_for('kafka'))}",
        ) from error
    except Py4JJavaError as error:
        why = failure_of(error).message
        raise ConfigError(
            f"Kafka's client refuses its settings ({why})", todo="check kafka.* of --source-option"
        ) from error
    try:
        yield KafkaTopic(spark, name, servers, consumer)
    except Py4JError as error:
        why = failure_of(error).message
        raise StorageError(
            f"topic {name} at {servers} can't be read ({why})", todo="check the broker, and kafka.bootstrap.servers"
        ) from error
    finally:
        consumer.close()
