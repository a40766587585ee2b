"""The keys of the table lock."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import Key, choice, integer, text


class ConcurrencyMode(StrEnum):
    """Whether several writers work at a table (Hudi: WriteConcurrencyMode)."""

    SINGLE_WRITER = "single_writer"
    OPTIMISTIC_CONCURRENCY_CONTROL = "optimistic_concurrency_control"


LOCK_WAIT = Key(
    name="hoodie.write.lock.wait_time_ms",
    parse=integer(),
    default=60000,
    doc="Milliseconds to wait for the table lock.",
)
LOCK_PATH = Key(
    name="hoodie.write.lock.filesystem.path",
    parse=text,
    default="",
    doc="Directory of the lock file; empty: `.hoodie`.",
)
LOCK_EXPIRE = Key(
    name="hoodie.write.lock.filesystem.expire",
    parse=integer(),
    default=0,
    doc="Minutes after which a lock of Hudi's, or of another owner that does not renew it, is taken over; 0: never.",
)
LOCK_LEASE = Key(
    name="pyhudi.lock.lease_ms",
    parse=integer(),
    default=120_000,
    doc="Milliseconds for which a lock of this project holds without a renewal; its owner renews it six times as "
    "often. 0: for ever.",
)
LOCK_VALIDITY = Key(
    name="hoodie.write.lock.storage.validity.timeout.secs",
    parse=integer(250),
    default=300,
    doc="Seconds for which the lock on a store of objects holds without a renewal.",
)
LOCK_RENEWAL = Key(
    name="hoodie.write.lock.storage.renew.interval.secs",
    parse=integer(1),
    default=30,
    doc="Seconds between two renewals of the lock on a store of objects.",
    aliases=("hoodie.write.lock.storage.heartbeat.poll.secs",),
)
CONCURRENCY_MODE = Key(
    name="hoodie.write.concurrency.mode",
    parse=choice(ConcurrencyMode),
    default=ConcurrencyMode.SINGLE_WRITER,
    doc="Whether others write at the same time. Here the file lock is taken and conflicts are looked for in both "
    "modes; single_writer says that the lock of `hoodie.write.lock.provider` need not be taken.",
)
LOCK_PROVIDER = Key(
    name="hoodie.write.lock.provider",
    parse=text,
    default="org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
    doc="The lock of the other writers: Hudi's lock file, or on a store of objects its StorageBasedLockProvider, which "
    "is taken there without the key. A lock inside of a process is accepted with a note, any other is refused, but "
    "where the mode is given as single_writer.",
)
