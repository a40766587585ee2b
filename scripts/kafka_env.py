"""Fetch what the tests need of Kafka: a broker, and Spark's connector, as jars from Maven Central by Spark itself.

They live in ``$PYHUDI_KAFKA_ENV`` (default ``.cache/kafka`` below the repository's root); running it again is quick.
Progress goes to stderr; the last line on stdout is a JSON object ``{"broker": [jars], "connector": [jars]}``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pyspark
from real_hudi_env import exclusive, folder_of, java, print_made, resolve

VARIABLE = "PYHUDI_KAFKA_ENV"
SPARK_HOME = Path(pyspark.__file__).parent
BROKER = "org.apache.kafka:kafka_2.13:3.9.2"
"""Of the version whose client Spark 4.2 goes with."""
CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
TOKENS = "org.apache.spark:spark-token-provider-kafka-0-10_2.13"
TOKENS_VERSION = "4.0.0"
"""Not Spark's own: mirrors of Maven Central lack newer ones, and the connector asks the same of all."""
_NEEDED_BY_TOKENS = [
    "org.apache.kafka:kafka-clients",
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
]
"""Which are there with the connector, or with Spark."""
_OF_CONNECTOR = ("org.apache.spark_spark-", "org.apache.kafka_kafka-clients-", "org.apache.commons_commons-pool2-")
_NOT_OF_BROKER = ("org.apache.spark_spark-", "org.slf4j_slf4j-api-")
_OF_SPARK = ("scala-library-2.13", "slf4j-api-", "log4j-slf4j2-impl-", "log4j-api-", "log4j-core-", "log4j-1.2-api-")
"""Jars of PySpark that the broker needs: Ivy leaves Scala out, and the others log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaJars:
    """Paths of jars: those of a broker's process, and those that a Spark session needs."""

    broker: tuple[str, ...]
    connector: tuple[str, ...]


def directory() -> Path:
    """Where the jars are, or will be."""
    return folder_of(VARIABLE, "kafka")


def recorded() -> KafkaJars | None:
    """The jars that an earlier run fetched; None where there are none, or others are wanted now."""
    try:
        record = json.loads(_record().read_text())
        jars = KafkaJars(broker=tuple(record["broker"]), connector=tuple(record["connector"]))
    except (FileNotFoundError, ValueError, KeyError):
        return None
    whole = all(Path(jar).exists() for jar in (*jars.broker, *jars.connector))
    return jars if record.get("wanted") == _wanted() and whole else None


def prepare() -> KafkaJars:
    """The jars, fetched where they are not there.

    :raises SetupError: there is no Java, or Spark could not fetch them.
    """
    found = recorded()
    if found is not None:
        return found
    java()
    with exclusive(directory()):
        found = recorded()
        if found is not None:
            return found
        _say("the broker and Spark's connector (50 MB)")
        _fetch("all", [BROKER, CONNECTOR], [TOKENS])
        _fetch("tokens", [f"{TOKENS}:{TOKENS_VERSION}"], _NEEDED_BY_TOKENS)
        fetched = [path for name in ("all", "tokens") for path in sorted((directory() / name / "jars").glob("*.jar"))]
        broker = [path for path in fetched if not path.name.startswith(_NOT_OF_BROKER)]
        spark = [path for path in sorted((SPARK_HOME / "jars").glob("*.jar")) if path.name.startswith(_OF_SPARK)]
        connector = [path for path in fetched if path.name.startswith(_OF_CONNECTOR)]
        result = KafkaJars(broker=tuple(map(str, [*broker, *spark])), connector=tuple(map(str, connector)))
        _record().write_text(json.dumps({"wanted": _wanted(), **asdict(result)}, indent=2) + "\n")
    return result


def _record() -> Path:
    return directory() / "jars.json"


def _wanted() -> list[str]:
    return [BROKER, CONNECTOR, f"{TOKENS}:{TOKENS_VERSION}", str(SPARK_HOME)]


def _fetch(name: str, packages: list[str], excluded: list[str]) -> None:
    """Into the folder ``name``/jars."""
    resolve(packages, directory() / name, directory() / f"{name}.log", SPARK_HOME, sys.executable, excluded)


def _say(what: str) -> None:
    print(f"Kafka: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
