"""A real Kafka broker for the tests: one process of its own, topics and messages by Spark and Kafka's own client."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.java import QUICK

ROOT = Path(__file__).resolve().parents[2]
CLUSTER = "cHlodWRpLXRlc3RzLTAwMQ"
SECONDS_TO_START = 60


class KafkaBroker:
    """One broker that is its own controller (KRaft), on ports that were free, its files in a folder that goes with it.

    :param jars: of the broker's process.
    """

    def __init__(self, jars: Sequence[str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="kafka-"))
        port, controller = _free_ports(2)
        self.servers = f"127.0.0.1:{port}"
        settings = self._folder / "server.properties"
        settings.write_text(_settings(self._folder, port, controller))
        java = ["java", *QUICK.split(), "-Xmx256m", "-Xms64m", "-cp", ":".join(jars)]
        subprocess.run(
            [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings)],
            check=True,
            capture_output=True,
        )
        self._log = self._folder / "broker.log"
        with open(self._log, "wb") as output:
            self._process = subprocess.Popen(
                [*java, "kafka.Kafka", str(settings)], stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )
        self._wait(port)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait(self, port: int) -> None:
        until = time.monotonic() + SECONDS_TO_START
        while time.monotonic() < until and self._process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.1)
        log = self._log.read_text(errors="replace")[-2000:]
        self.stop()
        raise RuntimeError(f"the broker did not start: {log}")


class Topic:
    """A topic of the broker, made for one test."""

    def __init__(self, spark: SparkSession, servers: str, name: str, partitions: int) -> None:
        self.spark, self.servers, self.name = spark, servers, name
        with _Admin(spark, servers) as admin:
            kind = admin.jvm.org.apache.kafka.clients.admin.NewTopic
            topics = admin.jvm.java.util.ArrayList()
            topics.add(kind(name, partitions, 1))
            admin.client.createTopics(topics).all().get()

    def send(self, messages: Iterable[Any], partition: int = 0, key: str | None = None) -> None:
        """Append messages: texts and bytes as they are, None for a tombstone, anything else as JSON."""
        values = [one if isinstance(one, str | bytes | None) else json.dumps(one) for one in messages]
        rows = [
            (key, bytearray(one.encode() if isinstance(one, str) else one) if one is not None else None, partition)
            for one in values
        ]
        frame = self.spark.createDataFrame(rows, "key string, value binary, partition int").coalesce(1)
        frame.write.format("kafka").options(**{"kafka.bootstrap.servers": self.servers, "topic": self.name}).save()

    def forget(self, offsets: Mapping[int, int]) -> None:
        """Delete the messages before an offset of a partition, as retention does."""
        with _Admin(self.spark, self.servers) as admin:
            jvm = admin.jvm
            before = jvm.java.util.HashMap()
            for partition, offset in offsets.items():
                place = jvm.org.apache.kafka.common.TopicPartition(self.name, partition)
                before.put(place, _before(self.spark, place, offset))
            admin.client.deleteRecords(before).all().get()

    def commit(self, group: str, offsets: Mapping[int, int]) -> None:
        """Let a consumer group have read up to an offset of each partition."""
        with _Admin(self.spark, self.servers) as admin:
            jvm = admin.jvm
            reached = jvm.java.util.HashMap()
            for partition, offset in offsets.items():
                place = jvm.org.apache.kafka.common.TopicPartition(self.name, partition)
                reached.put(place, jvm.org.apache.kafka.clients.consumer.OffsetAndMetadata(offset))
            admin.client.alterConsumerGroupOffsets(group, reached).all().get()

    def grow(self, partitions: int) -> None:
        """More partitions, up to so many."""
        with _Admin(self.spark, self.servers) as admin:
            wanted = admin.jvm.java.util.HashMap()
            wanted.put(self.name, admin.jvm.org.apache.kafka.clients.admin.NewPartitions.increaseTo(partitions))
            admin.client.createPartitions(wanted).all().get()


class _Admin:
    """Kafka's admin client in the session's JVM."""

    def __init__(self, spark: SparkSession, servers: str) -> None:
        self.jvm: Any = spark._jvm
        settings = self.jvm.java.util.Properties()
        settings.setProperty("bootstrap.servers", servers)
        self.client = self.jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)

    def __enter__(self) -> _Admin:
        return self

    def __exit__(self, *error: object) -> None:
        self.client.close()


def _before(spark: SparkSession, place: Any, offset: int) -> Any:
    """``RecordsToDelete.beforeOffset(offset)``, by reflection: py4j sees the method of an instance of the same name."""
    gateway: Any = spark.sparkContext._gateway
    kind = place.getClass().getClassLoader().loadClass("org.apache.kafka.clients.admin.RecordsToDelete")
    types = gateway.new_array(gateway.jvm.java.lang.Class, 1)
    types[0] = gateway.jvm.java.lang.Long.TYPE
    arguments = gateway.new_array(gateway.jvm.java.lang.Object, 1)
    arguments[0] = offset
    return kind.getMethod("beforeOffset", types).invoke(None, arguments)


def prepared_jars() -> dict[str, list[str]]:
    """What ``scripts/kafka_env.py`` fetched or fetches: the jars of the broker and of Spark's connector.

    :raises RuntimeError: they could not be had.
    """
    script = ROOT / "scripts" / "kafka_env.py"
    done = subprocess.run([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{script.name} failed with exit code {done.returncode}: run it by hand to see why")
    jars: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return jars


def _free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports: list[int] = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def _settings(folder: Path, port: int, controller: int) -> str:
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": f"{folder}/logs",
        "num.partitions": "1",
        "auto.create.topics.enable": "false",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "num.network.threads": "1",
        "num.io.threads": "2",
        "log.cleaner.enable": "false",
    }
    return "".join(f"{key}={value}\n" for key, value in settings.items())
