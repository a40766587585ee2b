"""The job ``hive_sync.py`` as a user runs it: without a JVM of its own, on tables whose timeline alone is real."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from dags_examples.demo.metastore import EmbeddedMetastore
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.instant import Action, State
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.hive.client import ThriftMetastore
from spark_jobs.hive.facts import SyncedUntil, facts_of

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[3]
SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "trips",
    "fields": [{"name": "id", "type": "long"}, {"name": "month", "type": "int"}],
}


@pytest.fixture
def table(tmp_path: Path) -> HudiTable:
    """An empty table by month."""
    return HudiTable.create(
        str(tmp_path / "trips"),
        name="trips",
        record_key_fields=["id"],
        partition_fields=["month"],
        hive_style=True,
        key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
    )


def commit(
    table: HudiTable,
    timestamp: str,
    partitions: Iterable[str],
    *,
    dropped: Iterable[str] = (),
    schema: dict[str, Any] = SCHEMA,
) -> HudiTable:
    """Put a completed commit on the timeline, and the metafiles of its partitions."""
    drops = list(dropped)
    action = Action.REPLACE_COMMIT if drops else Action.COMMIT
    metadata = CommitMetadata(
        write_stats=tuple(
            WriteStat(file_id=f"{path}-0", path=f"{path}/x.parquet", partition_path=path) for path in partitions
        ),
        operation_type=OperationType.DELETE_PARTITION if drops else OperationType.UPSERT,
        extra_metadata={"schema": json.dumps(schema)},
        replaced_file_ids={path: (f"{path}-0",) for path in drops} if drops else None,
    )
    for path in partitions:
        ensure_partition_metafile(table.storage, table.base_path, path, timestamp)
    inflight = transition(table.timeline, request(table.timeline, timestamp, action), State.INFLIGHT, b"")
    transition(table.timeline, inflight, State.COMPLETED, metadata.payload())
    return table.refreshed()


def run(table: HudiTable, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the entry point in a process of its own, in which PySpark can't be imported."""
    entry = "runpy.run_module('spark_jobs.hive_sync', run_name='__main__')"
    blocked = f"import runpy, sys; sys.modules['pyspark'] = None; {entry}"
    return subprocess.run(
        [sys.executable, "-c", blocked, "--base-path", table.base_path, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def result(table: HudiTable, *words: str) -> dict[str, Any]:
    ended = run(table, *words)
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def test_a_table_through_its_life(table: HudiTable, server: EmbeddedMetastore, database: str) -> None:
    words = ["--metastore-uris", server.uri, "--database", database]
    assert result(table, *words)["reason"] == f"{table.base_path} has no completed commit yet"

    table = commit(table, "20240101000000000", ["month=1", "month=2"])
    planned = result(table, *words, "--dry-run")
    assert planned["state"] == "DRY_RUN"
    assert [event["event"] for event in planned["plan"]["events"]] == [
        "create database",
        "create table",
        "add partitions",
        "set properties",
    ]

    first = result(table, *words)
    assert (first["action"], first["state"], first["table"]) == ("hive_sync", "COMPLETED", "trips")
    assert first["extra"] == {
        "metastore": server.uri,
        "database": database,
        "synced_until": "20240101000000000",
        "databases_created": 1,
        "tables_created": 1,
        "schemas_changed": 0,
        "partitions_added": 2,
        "partitions_updated": 0,
        "partitions_dropped": 0,
        "properties_set": 1,
    }
    second = result(table, *words)
    assert second["state"] == "NOTHING_TO_DO"
    assert second["reason"] == f"{database}.trips is in sync with instant 20240101000000000"

    table = commit(table, "20240102000000000", [], dropped=["month=1"])
    table = commit(table, "20240103000000000", ["month=3"])
    third = result(table, *words)
    assert third["extra"]["partitions_added"] == 1
    assert third["extra"]["partitions_dropped"] == 1
    with ThriftMetastore.connect(server.uri) as metastore:
        assert [one.values for one in metastore.partitions(database, "trips")] == [("2",), ("3",)]

    # Without the time of the last sync all partitions are compared, and the dropped one stays dropped.
    whole = result(table, *words, "--hoodie-conf", "hoodie.meta.sync.incremental=false")
    assert whole["state"] == "NOTHING_TO_DO"


def test_changes_of_the_timeline(table: HudiTable) -> None:
    table = commit(table, "20240101000000000", ["month=1", "month=2"])
    table = commit(table, "20240102000000000", [], dropped=["month=1", "month=2"])
    table = commit(table, "20240103000000000", ["month=2"])
    facts = facts_of(table, SyncedUntil(instant="20240101000000000"))
    assert facts.changes is not None
    assert [(change.instant, change.written, change.dropped) for change in facts.changes] == [
        ("20240102000000000", (), ("month=1", "month=2")),
        ("20240103000000000", ("month=2",), ()),
    ]
    assert facts.partitions == ("month=2",)
    before_all = facts_of(table, SyncedUntil(instant="2023"))
    assert before_all.changes is not None
    assert len(before_all.changes) == 3  # nothing was archived: all that ever happened is known
    Path(table.base_path, ".hoodie", "archived", ".commits_.archive.1_1-0-1").touch()
    assert facts_of(table.refreshed(), SyncedUntil(instant="2023")).changes is None
    assert facts_of(table).changes is None


def test_a_commit_with_an_older_instant_that_ends_later_is_seen(
    table: HudiTable, server: EmbeddedMetastore, database: str
) -> None:
    words = ["--metastore-uris", server.uri, "--database", database]
    table = commit(table, "20240101000000000", ["month=1"])
    table = commit(table, "20240103000000000", ["month=3"])
    assert result(table, *words)["extra"]["partitions_added"] == 2
    table = commit(table, "20240102000000000", ["month=2"])
    assert result(table, *words)["extra"]["partitions_added"] == 1


def test_errors_are_one_line(table: HudiTable, server: EmbeddedMetastore) -> None:
    nowhere = run(table, "--metastore-uris", "thrift://127.0.0.1:1")
    assert nowhere.returncode == 1
    (line,) = nowhere.stderr.splitlines()
    assert line.startswith("hive_sync: error: no Hive metastore answers at thrift://127.0.0.1:1 (")

    jdbc = run(table, "--sync-mode", "jdbc")
    assert jdbc.returncode == 2
    assert "hoodie.datasource.hive_sync.mode=jdbc is not served" in jdbc.stderr

    missing = run(table, "--base-path", table.base_path + "/no", "--metastore-uris", server.uri)
    assert missing.returncode == 5
    assert "is not a Hudi table" in missing.stderr


def test_failures_can_be_ignored(table: HudiTable) -> None:
    ignored = result(table, "--metastore-uris", "thrift://127.0.0.1:1", "--ignore-exceptions", "true")
    assert ignored["state"] == "NOTHING_TO_DO"
    assert ignored["reason"].startswith("not synced: no Hive metastore answers at thrift://127.0.0.1:1 (")
