"""Whether the lock that a configuration names is one that this release takes."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.config.lock_keys import CONCURRENCY_MODE, LOCK_PROVIDER, ConcurrencyMode
from spark_jobs.core.config.unserved import refuse_unserved
from spark_jobs.core.errors import ConfigError

_INSIDE_A_PROCESS = frozenset({"InProcessLockProvider", "NoopLockProvider"})


def lock_notes(properties: Mapping[str, str]) -> list[str]:
    """What the file lock, which is taken whatever the configuration says, does not exclude by it.

    A provider counts as it does for Hudi, which takes any that is not its default also where no mode is given (Hudi:
    HoodieWriteConfig.isLockRequired).

    :raises ConfigError: other writers hold a lock that is not taken here.
    """
    provider = LOCK_PROVIDER.of(properties).strip()
    if provider == LOCK_PROVIDER.default:
        return []
    name = provider.rpartition(".")[2]
    is_alone = CONCURRENCY_MODE.of(properties) is ConcurrencyMode.SINGLE_WRITER
    if name in _INSIDE_A_PROCESS:
        return [
            f"{LOCK_PROVIDER.name}={provider} excludes nobody outside of its process: the file lock is taken, which "
            "excludes writers of this project, and Hudi's where they take the file lock too"
        ]
    if is_alone and properties.get(CONCURRENCY_MODE.name):
        return [
            f"{LOCK_PROVIDER.name}={provider} is not taken, as {CONCURRENCY_MODE.name} says that nobody else writes; "
            "the file lock is, which writers with that provider don't see"
        ]
    raise ConfigError(
        f"{LOCK_PROVIDER.name}={provider} is a lock that this release does not take",
        todo=f"give all writers of the table {LOCK_PROVIDER.default}; or, if no other writer is ever at work "
        f"meanwhile, {CONCURRENCY_MODE.name}={ConcurrencyMode.SINGLE_WRITER.value}",
        key=LOCK_PROVIDER.name,
        value=provider,
    )


def writer_warnings(properties: Mapping[str, str]) -> list[str]:
    """What a job that writes has to say of its configuration, a line each.

    :raises ConfigError: as :func:`lock_notes` and :func:`refuse_unserved`.
    """
    refuse_unserved(properties)
    return [*lock_notes(properties), *unknown_key_warnings(properties)]
