"""The lock in the Hive metastore: an exclusive lock of Hive's transaction manager on a table, kept by heartbeats.

Hudi: HiveMetastoreBasedLockProvider. Hive: TxnHandler, LockRequestBuilder.
"""

from __future__ import annotations

import getpass
import re
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.metastore_settings import DEFAULT_PORT, MetastoreSettings
from spark_jobs.core.locks.owner import this_process

T = TypeVar("T")
_ANSWER_MS = 60_000
_AT_ONCE_S = 5.0
_ANSWERS = (
    hive.NoSuchLockException,
    hive.NoSuchTxnException,
    hive.TxnAbortedException,
    hive.TxnOpenException,
    hive.ConfigValSecurityException,
)
_TIMEOUT = "hive.txn.timeout"
_DEFAULT_TIMEOUT_MS = 300_000
_UNITS_MS = {"": 1000, "us": 0.001, "ms": 1, "s": 1000, "sec": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000}
"""Of a time in Hive's configuration (Hive: HiveConf.unitFor); seconds where it has none."""


class MetastoreConnection:
    """A lock that does not come at once is taken back, as Hudi does: a request that waits at the server would keep all
    others out if its writer died. The handle is the server's number of the lock.
    """

    def __init__(self, settings: MetastoreSettings, clock: Clock) -> None:
        """
        :raises LockNotAcquiredError: no server answers.
        """
        self._settings = settings
        self._clock = clock
        self._one_at_a_time = threading.Lock()
        self._holder = ""
        self._client, self._transport = self._opened()
        self._is_open, self._is_over = True, False
        self._lasts_ms = self._timeout_ms()

    @property
    def renewal_ms(self) -> float:
        """As the key says, and four times at least in the time that the server waits for one."""
        return min(float(self._settings.heartbeat_ms), self._lasts_ms / 4)

    def attempt(self, token: str) -> str:
        component = hive.LockComponent(
            type=hive.LockType.EXCLUSIVE,
            level=hive.LockLevel.TABLE,
            dbname=self._settings.database.lower(),
            tablename=self._settings.table.lower(),
        )
        request = hive.LockRequest(
            component=[component],
            user=_user(),
            hostname=socket.gethostname(),
            agentInfo=f"{this_process()} {token}",
        )
        found = self._ask(lambda client: client.lock(request))
        if found.state == hive.LockState.ACQUIRED:
            return str(found.lockid)
        self.give_back(str(found.lockid))
        return ""

    def lasts_ms(self, handle: str) -> float:
        try:
            found = self._again(lambda client: client.check_lock(hive.CheckLockRequest(lockid=int(handle))))
        except (hive.NoSuchLockException, hive.NoSuchTxnException, hive.TxnAbortedException):
            return 0
        return self._lasts_ms if found.state == hive.LockState.ACQUIRED else 0

    def give_back(self, handle: str) -> None:
        with suppress(hive.NoSuchLockException, hive.TxnOpenException):
            self._again(lambda client: client.unlock(hive.UnlockRequest(lockid=int(handle))))

    def holder(self) -> str:
        try:
            request = hive.ShowLocksRequest(dbname=self._settings.database.lower())
            for one in self._ask(lambda client: client.show_locks(request)).locks or ():
                if one.tablename == self._settings.table.lower() and one.state == hive.LockState.ACQUIRED:
                    return f"{one.user} on {one.hostname} ({one.agentInfo})"
        except (LockNotAcquiredError, TException):
            pass
        return "another writer"

    def close(self) -> None:
        self._is_over = True
        self._drop()

    def _drop(self) -> None:
        self._is_open = False
        with suppress(Exception):
            self._transport.close()

    def _opened(self) -> tuple[Any, Any]:
        said = "no URI"
        for uri in self._settings.uris.split(","):
            parts = urlsplit(uri.strip())
            wire = TSocket(parts.hostname, parts.port or DEFAULT_PORT)
            wire.setTimeout(_ANSWER_MS)
            transport = TBufferedTransport(wire)
            try:
                transport.open()
            except TTransportException as error:
                said = type(error).__name__ if not error.message else " ".join(str(error.message).split())
                continue
            return ThriftHiveMetastore.Client(TBinaryProtocol(transport)), transport
        raise self._silent(said)

    def _timeout_ms(self) -> float:
        with suppress(hive.ConfigValSecurityException):
            text = self._ask(lambda client: client.get_config_value(_TIMEOUT, "300s"))
            return time_ms(text) or _DEFAULT_TIMEOUT_MS
        return _DEFAULT_TIMEOUT_MS

    def _again(self, call: Callable[[Any], T]) -> T:
        """What may be asked twice: a connection that was cut says nothing of the lock, and another one is as good.

        :raises LockNotAcquiredError: as :meth:`_ask`, for the second time; or for the first, after a wait.
        """
        begun = self._clock.monotonic()
        try:
            return self._ask(call)
        except LockNotAcquiredError:
            if self._clock.monotonic() - begun > _AT_ONCE_S:
                raise
        return self._ask(call)

    def _ask(self, call: Callable[[Any], T]) -> T:
        """
        :raises LockNotAcquiredError: the server does not answer, or keeps no locks.
        """
        with self._one_at_a_time:
            try:
                if not self._is_open and not self._is_over:
                    self._client, self._transport = self._opened()
                    self._is_open = True
                return call(self._client)
            except _ANSWERS:
                raise
            except (TException, OSError) as error:
                # nobody compares numbers of answers: one that comes late would be taken for that of the next question
                self._drop()
                raise self._silent(" ".join(str(error).split()) or type(error).__name__) from error

    def _silent(self, said: str) -> LockNotAcquiredError:
        return LockNotAcquiredError(
            f"no Hive metastore at {self._settings.uris} gives locks ({said})",
            todo="start it, or correct hoodie.write.lock.hivemetastore.uris; its database needs the tables of Hive's "
            "transactions (schematool makes them)",
            uris=self._settings.uris,
        )


def connect(settings: MetastoreSettings, clock: Clock) -> MetastoreConnection:
    """
    :raises LockNotAcquiredError: no server answers.
    """
    return MetastoreConnection(settings, clock)


def time_ms(text: str) -> float:
    """Milliseconds of a time in Hive's configuration; 0 for a text that is none."""
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    unit = _UNITS_MS.get(found[2].rstrip("s") or found[2] if len(found[2]) > 2 else found[2]) if found else None
    return 0 if found is None or unit is None else int(found[1]) * unit


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "pyhudi"
