"""Servers of objects for tests: where ``PYHUDI_S3=moto``, ``PYHUDI_AZURE=azurite`` or ``PYHUDI_GCS=own`` says so, each
test process starts one of its own; with the URL of another server it takes that.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage import Content, FileStatus
from spark_jobs.core.storage.objects.storage import ObjectStorage
from spark_jobs.core.storage.objects.stores import Settings
from spark_jobs.core.storage.protocol import SMALL_FILE

ROOT = Path(__file__).parents[2]
_SECONDS_TO_START = 60
_endpoints: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class DatedStorage(ObjectStorage):
    """The same, whose objects a test can date: no store lets anybody say when an object was put. What is put anew has
    the date of its put.
    """

    dates: dict[str, int] = field(default_factory=dict, compare=False)

    def date(self, path: str, modified_ms: int) -> None:
        self.dates[path] = modified_ms

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.dates.pop(path, None)
        ObjectStorage.create(self, path, data, durable=durable)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self.dates.pop(path, None)
        ObjectStorage.replace(self, path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        ObjectStorage.replace_if(self, path, data, etag)
        self.dates.pop(path, None)

    def stat(self, path: str) -> FileStatus | None:
        status = ObjectStorage.stat(self, path)
        return None if status is None else self._dated(status)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        found = ObjectStorage.load(self, path, most)
        return found and found._replace(status=self._dated(found.status))

    def list(self, path: str) -> list[FileStatus]:
        return [self._dated(one) for one in ObjectStorage.list(self, path)]

    def walk(self, path: str, after: str = "") -> Iterator[FileStatus]:
        return map(self._dated, ObjectStorage.walk(self, path, after))

    def _dated(self, status: FileStatus) -> FileStatus:
        found = self.dates.get(status.path)
        return status if found is None else replace(status, modified_ms=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One kind of server. ``start`` makes one that ends with this process and gives its endpoint; ``reached`` are the
    options that users would give for an endpoint; ``put_bucket`` gets the endpoint and the name of a new bucket.
    """

    kind: str
    scheme: str
    own: str
    start: Callable[[], str]
    reached: Callable[[str], dict[str, str]]
    put_bucket: Callable[[str, str], None]

    @property
    def is_own(self) -> bool:
        """Whether the tests start it."""
        return self._asked in ("", self.own)

    @property
    def _asked(self) -> str:
        return os.environ.get(f"PYHUDI_{self.kind.upper()}", "")

    def endpoint(self) -> str:
        if self.kind not in _endpoints:
            _endpoints[self.kind] = self.start() if self.is_own else self._asked
        return _endpoints[self.kind]

    def options(self, endpoint: str = "") -> dict[str, str]:
        return self.reached(endpoint or self.endpoint())

    def settings(self, endpoint: str = "") -> Settings:
        return (tuple(sorted(self.options(endpoint).items())),)

    def new_bucket(self) -> str:
        """The URL of a bucket that is made: servers for tests look through all of its keys for a listing."""
        bucket = SYSTEM_CLOCK.new_uuid()
        self.put_bucket(self.endpoint(), bucket)
        return f"{self.scheme}://{bucket}"

    def storage(self) -> DatedStorage:
        return DatedStorage(self.settings())


def environment(script: str) -> dict[str, str]:
    """What a script of ``scripts/`` makes, and prints as JSON."""
    made = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / script)], stdout=subprocess.PIPE, text=True, check=True
    )
    return dict(json.loads(made.stdout.splitlines()[-1]))


def started(name: str, command: Callable[[int], Sequence[str]]) -> str:
    """The address of a server that ends with this process.

    :param command: of a port, how it is started.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tempfile.NamedTemporaryFile(prefix=f"{name}-", suffix=".log", delete=False)  # noqa: SIM115
    server = subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    own = os.getpid()
    atexit.register(lambda: server.kill() if os.getpid() == own else None)
    deadline = SYSTEM_CLOCK.monotonic() + _SECONDS_TO_START
    while SYSTEM_CLOCK.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        SYSTEM_CLOCK.sleep(0.1)
    raise AssertionError(f"{name} did not start: see {log.name}")
