"""What HiveSyncTool of Hudi 0.15.0 (with Spark 3.5.9, mode hms) left in a Hive metastore for tables that it synced.

``left_by_hudi.json`` has the tables as facts, and for each sync its options and what was in the metastore after it, but
for what the metastore adds by itself (times, sizes). ``{base}`` stands for the folder of the tables.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spark_jobs.hive.facts import TableFacts
from spark_jobs.hive.state import MetastorePartition, MetastoreTable

_TEXT = Path(__file__).with_name("left_by_hudi.json").read_text()
OF_THE_METASTORE = ("transient_lastDdlTime", "totalSize", "numFiles")
"""Parameters that a metastore sets by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """One sync: ``left`` holds what it left by table name."""

    name: str
    facts: TableFacts
    options: dict[str, str]
    left: dict[str, Any]


def synced_by_hudi(base: str = "/lake") -> list[Synced]:
    """All recorded syncs, of tables below ``base``."""
    recorded = json.loads(_TEXT.replace("{base}", base))
    facts = {name: _facts(values) for name, values in recorded["tables"].items()}
    return [
        Synced(name=one["name"], facts=facts[one["table"]], options=one["options"], left=one["left"])
        for one in recorded["synced"]
    ]


def facts_named(table: str, base: str = "/lake") -> TableFacts:
    """The facts of one of the tables."""
    return _facts(json.loads(_TEXT.replace("{base}", base))["tables"][table])


def described(table: MetastoreTable, partitions: list[MetastorePartition]) -> dict[str, Any]:
    """A table in the form of the record."""
    return {
        "location": table.location,
        "columns": [f"{column.name} {column.type}" for column in table.columns],
        "partition_keys": [f"{column.name} {column.type}" for column in table.partition_keys],
        "input_format": table.input_format,
        "output_format": table.output_format,
        "serde": table.serde,
        "serde_parameters": dict(table.serde_parameters),
        "parameters": {key: value for key, value in table.parameters.items() if key not in OF_THE_METASTORE},
        "partitions": [
            {"values": list(partition.values), "location": partition.location}
            for partition in sorted(partitions, key=lambda one: one.values)
        ],
    }


def without_element_nulls(described_table: dict[str, Any]) -> dict[str, Any]:
    """Hudi says of each array that it holds no nulls; we say what the Avro schema says, and differ in that alone."""
    text = json.dumps(described_table)
    return dict(json.loads(text.replace('\\"containsNull\\":true', '\\"containsNull\\":false')))


def _facts(values: dict[str, Any]) -> TableFacts:
    fields = ("partition_fields", "partitions")
    arguments: dict[str, Any] = {key: tuple(value) if key in fields else value for key, value in values.items()}
    return TableFacts(**arguments)
