"""The metastore's answers on the wire: late ones, and connections that are cut. A server of Thrift's own gives them, as
a Hive metastore can't be told to.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import LockNotAcquiredError
from spark_jobs.core.locks.metastore_settings import MetastoreSettings

pytest.importorskip("pymetastore")

from pymetastore.hive_metastore import ThriftHiveMetastore
from pymetastore.hive_metastore import ttypes as hive
from thrift.protocol.TBinaryProtocol import TBinaryProtocolFactory
from thrift.server.TServer import TThreadedServer
from thrift.transport.TSocket import TServerSocket
from thrift.transport.TTransport import TBufferedTransportFactory

from spark_jobs.core.locks import hive_metastore

pytestmark = pytest.mark.unit


@dataclass
class Metastore:
    """Gives one lock; its first ``slow`` answers about it come late."""

    slow: int = 0
    is_gone: bool = False
    unlocked: list[int] = field(default_factory=list)
    accepted: list[socket.socket] = field(default_factory=list)

    def get_config_value(self, name: str, otherwise: str) -> str:
        del name
        return otherwise

    def lock(self, request: Any) -> Any:
        del request
        return hive.LockResponse(lockid=7, state=hive.LockState.ACQUIRED)

    def check_lock(self, request: Any) -> Any:
        del request
        if self.is_gone:
            raise hive.NoSuchLockException("gone")
        if self.slow:
            self.slow -= 1
            time.sleep(0.6)
        return hive.LockResponse(lockid=7, state=hive.LockState.ACQUIRED)

    def unlock(self, request: Any) -> None:
        self.unlocked.append(request.lockid)


@pytest.fixture
def metastore() -> Metastore:
    return Metastore()


@pytest.fixture
def connection(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> Iterator[hive_metastore.MetastoreConnection]:
    monkeypatch.setattr(hive_metastore, "_ANSWER_MS", 300)
    listening = TServerSocket("127.0.0.1", 0)
    accept = listening.accept

    def accepted() -> Any:
        try:
            found = accept()
        except (OSError, AttributeError):
            raise SystemExit from None  # it was closed; the server would go on asking it
        metastore.accepted.append(found.handle)
        return found

    listening.accept = accepted
    processor = ThriftHiveMetastore.Processor(metastore)
    server = TThreadedServer(processor, listening, TBufferedTransportFactory(), TBinaryProtocolFactory(), daemon=True)
    threading.Thread(target=server.serve, daemon=True).start()
    while not (listening.handle and listening.handle.getsockname()[1]):
        time.sleep(0.01)
    port = listening.handle.getsockname()[1]
    settings = MetastoreSettings(
        uris=f"thrift://127.0.0.1:{port}", database="d", table="t", wait_ms=0, heartbeat_ms=60_000
    )
    found = hive_metastore.connect(settings, SYSTEM_CLOCK)
    yield found
    found.close()
    listening.close()


def cut(metastore: Metastore) -> None:
    for one in metastore.accepted:
        with suppress(OSError):  # cut before
            one.shutdown(socket.SHUT_RDWR)


def test_a_late_answer_is_not_taken_for_that_of_the_next_question(
    metastore: Metastore, connection: hive_metastore.MetastoreConnection
) -> None:
    handle = connection.attempt("token")
    metastore.slow = 2  # it is asked once more
    with pytest.raises(LockNotAcquiredError, match=r"no Hive metastore at .* gives locks"):
        connection.lasts_ms(handle)
    metastore.is_gone = True
    time.sleep(0.5)
    assert connection.lasts_ms(handle) == 0


def test_a_connection_that_was_cut_is_made_anew(
    metastore: Metastore, connection: hive_metastore.MetastoreConnection
) -> None:
    handle = connection.attempt("token")
    cut(metastore)
    assert connection.lasts_ms(handle) == 300_000
    cut(metastore)
    connection.give_back(handle)
    assert metastore.unlocked == [7]
