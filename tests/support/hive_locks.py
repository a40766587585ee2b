"""A real Hive metastore that gives locks, of the jars that PySpark brings, that ends with the test process."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import suppress
from functools import cache

from dags_examples.demo.metastore import start_metastore, stop_metastore
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.metastore_settings import MetastoreSettings

PROVIDER = "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"
TIMEOUT_SECONDS = 4
"""After which a lock without a heartbeat is anybody's; the server looks as often."""
_JVM = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:UseAVX=2", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_SETTINGS = (
    "-Ddatanucleus.connectionPoolingType=dbcp",  # the pool that is Hive's default is not among the jars
    f"-Dhive.txn.timeout={TIMEOUT_SECONDS}s",
    "-Dhive.timedout.txn.reaper.interval=1s",
    "-Dhive.timedout.txn.reaper.start=1s",
    "-Dhive.support.concurrency=true",
    # a metastore looks for the locks of silent owners only with these
    "-Dhive.compactor.initiator.on=true",
    "-Dhive.txn.manager=org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
)
_MAKES_TABLES = "-Dhive.in.test=true"
"""In its tests, Hive makes the tables of transactions itself at the first call about a lock, which schematool does
elsewhere; but it refuses locks that say nothing of an operation, as Hudi's do."""


def keys(table: str) -> dict[str, str]:
    prefix = "hoodie.write.lock.hivemetastore."
    return {
        "hoodie.write.lock.provider": PROVIDER,
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        f"{prefix}uris": uri(),
        f"{prefix}database": "default",
        f"{prefix}table": table,
        "hoodie.write.lock.heartbeat_interval_ms": "1000",
    }


@cache
def uri() -> str:
    folder = tempfile.mkdtemp(prefix="metastore-")
    made = start_metastore(folder, java_options=(*_JVM, *_SETTINGS, _MAKES_TABLES))
    with suppress(LockNotAcquiredError):
        of = MetastoreSettings(uris=made.uri, database="default", table="t", wait_ms=0, heartbeat_ms=1000)
        of.connect(SYSTEM_CLOCK).attempt("first")
    stop_metastore(folder)
    server = start_metastore(folder, java_options=(*_JVM, *_SETTINGS))
    own = os.getpid()
    atexit.register(lambda: os.getpid() == own and stop_metastore(folder))
    return server.uri
