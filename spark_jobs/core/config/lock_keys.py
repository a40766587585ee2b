"""The keys of the table lock."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, integer, text

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
