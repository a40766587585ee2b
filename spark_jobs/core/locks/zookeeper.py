"""The lock in ZooKeeper: the queue of Curator's InterProcessMutex, on the wire.

Hudi: ZookeeperBasedLockProvider. Curator: LockInternals, StandardLockInternalsDriver, ProtectedUtils.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.owner import this_process
from spark_jobs.core.locks.zookeeper_settings import ZookeeperSettings

_NAME = "lock-"
"""Of the nodes of a queue, before their number (Curator: InterProcessMutex.LOCK_NAME)."""
_PAUSE = 0.1
"""Seconds before a question is asked again whose connection was lost."""
_LOG = logging.getLogger(f"{__name__}.client")
_LOG.setLevel(logging.CRITICAL)  # the errors that are raised say the same, once


class ZookeeperConnection:
    """A session, and the node by which it stands in the queue of the lock. The client keeps the session alive; when it
    ends, the server removes the node.
    """

    renewal_ms = 0.0

    def __init__(self, settings: ZookeeperSettings, clock: Clock) -> None:
        """
        :raises LockNotAcquiredError: no server answers.
        """
        self._settings = settings
        self._clock = clock
        self._node = ""
        self._client = KazooClient(
            hosts=settings.url, timeout=settings.session_ms / 1000, randomize_hosts=True, logger=_LOG
        )
        try:
            self._client.start(timeout=settings.answer_ms / 1000)
        except (KazooTimeoutError, KazooException) as error:
            self.close()
            raise self._silent() from error
        except BaseException:
            self.close()
            raise

    def attempt(self, token: str) -> str:
        name = f"_c_{token}-{_NAME}"
        queue = in_order(self._children())
        # also a node whose creation was not answered is found by its name
        if not any(child.startswith(name) for child in queue):
            with suppress(ConnectionLoss):
                self._ask_once(self._create, name)
            queue = in_order(self._children())
        own = [child for child in queue if child.startswith(name)]
        self._node = f"{self._settings.node}/{own[0]}" if own else ""
        return self._node if own and queue[0] == own[0] else ""

    def lasts_ms(self, handle: str) -> float:
        self._ask(self._client.sync_async, self._settings.node)  # a server may be behind its leader
        session = self._session()
        found = self._ask(self._client.exists_async, handle)
        if found is None or (handle == self._node and found.ephemeralOwner != session):
            return 0
        return float(self._client._session_timeout)  # the server sets bounds to what was asked for

    def give_back(self, handle: str) -> None:
        with suppress(NoNodeError):
            self._ask(self._client.delete_async, handle)

    def holder(self) -> str:
        try:
            for child in in_order(self._children())[:1]:
                data, _ = self._ask(self._client.get_async, f"{self._settings.node}/{child}")
                return data.decode("utf-8", "replace") or "another writer"
        except (LockNotAcquiredError, NoNodeError):
            pass
        return "another writer"

    def close(self) -> None:
        """Ends the session: the server removes its node."""
        with suppress(Exception):
            self._client.stop()
        with suppress(Exception):
            self._client.close()

    def _session(self) -> int:
        return int(self._client.client_id[0]) if self._client.client_id else 0

    def _children(self) -> list[str]:
        try:
            return list(self._ask(self._client.get_children_async, self._settings.node))
        except NoNodeError:
            return []

    def _create(self, name: str) -> Any:
        return self._client.create_async(
            f"{self._settings.node}/{name}",
            f"{this_process()}".encode(),
            ephemeral=True,
            sequence=True,
            makepath=True,
        )

    def _ask(self, call: Callable[..., Any], *arguments: str) -> Any:
        """
        :raises LockNotAcquiredError: the server does not answer.
        :raises NoNodeError: there is no such node.
        """
        deadline = self._clock.monotonic() + self._settings.answer_ms / 1000
        while True:
            left = max(deadline - self._clock.monotonic(), 0.001)
            try:
                return call(*arguments).get(timeout=left)
            except NoNodeError:
                raise
            except ConnectionLoss as error:  # the session may live on, by another connection or server
                if self._clock.monotonic() >= deadline:
                    raise self._silent(error) from error
                self._clock.sleep(_PAUSE)
            except (KazooException, KazooTimeoutError) as error:
                raise self._silent(error) from error

    def _ask_once(self, call: Callable[..., Any], *arguments: str) -> Any:
        """
        :raises ConnectionLoss: whether it was done is not known.
        :raises LockNotAcquiredError: the server does not answer, or refuses.
        """
        try:
            return call(*arguments).get(timeout=self._settings.answer_ms / 1000)
        except ConnectionLoss:
            raise
        except (KazooException, KazooTimeoutError) as error:
            raise self._silent(error) from error

    def _silent(self, error: Exception | None = None) -> LockNotAcquiredError:
        said = f" ({type(error).__name__})" if error is not None else ""
        return LockNotAcquiredError(
            f"no ZooKeeper answers at {self._settings.url} within {self._settings.answer_ms} ms{said}",
            todo="start it, or correct hoodie.write.lock.zookeeper.url",
            url=self._settings.url,
        )


def connect(settings: ZookeeperSettings, clock: Clock) -> ZookeeperConnection:
    """
    :raises LockNotAcquiredError: no server answers.
    """
    return ZookeeperConnection(settings, clock)


def in_order(children: Iterable[str]) -> list[str]:
    """The nodes of a queue, the one that has the lock first (Curator: StandardLockInternalsDriver.fixForSorting)."""
    return sorted(children, key=lambda name: name[name.rfind(_NAME) + len(_NAME) :] if _NAME in name else name)
