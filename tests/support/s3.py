"""Folders of an S3 server: with ``PYHUDI_S3=moto`` each test process starts one of its own, with the URL of another
server it takes that.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage import Content, FileStatus
from spark_jobs.core.storage.objects.storage import ObjectStorage
from spark_jobs.core.storage.objects.stores import Settings
from spark_jobs.core.storage.protocol import SMALL_FILE

SERVER = os.environ.get("PYHUDI_S3", "")
OWN = "moto"
_ENVIRONMENT = Path(__file__).parents[2] / "scripts" / "s3_env.py"
_SECONDS_TO_START = 60


@dataclass(frozen=True, slots=True)
class DatedStorage(ObjectStorage):
    """The same, whose objects a test can date: no store lets anybody say when an object was put."""

    dates: dict[str, int] = field(default_factory=dict, compare=False)

    def date(self, path: str, modified_ms: int) -> None:
        self.dates[path] = modified_ms

    def stat(self, path: str) -> FileStatus | None:
        status = ObjectStorage.stat(self, path)
        return None if status is None else self._dated(status)

    def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
        found = ObjectStorage.load(self, path, most)
        return found and found._replace(status=self._dated(found.status))

    def list(self, path: str) -> list[FileStatus]:
        return [self._dated(one) for one in ObjectStorage.list(self, path)]

    def walk(self, path: str) -> Iterator[FileStatus]:
        return map(self._dated, ObjectStorage.walk(self, path))

    def _dated(self, status: FileStatus) -> FileStatus:
        found = self.dates.get(status.path)
        return status if found is None else replace(status, modified_ms=found)


def storage_of(bucket: str) -> DatedStorage:
    """With a bucket that is made: servers for tests look through all of its keys for a listing."""
    make_bucket(bucket)
    return DatedStorage(settings())


def make_bucket(bucket: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{endpoint()}/{bucket}", method="PUT")).close()


def options() -> dict[str, str]:
    """How the server is reached, as users say it."""
    return {"endpoint": endpoint(), "region": "us-east-1", "access_key_id": "tests", "secret_access_key": "tests"}


def settings(server: str | None = None) -> Settings:
    return (tuple(sorted({**options(), "endpoint": server or endpoint()}.items())),)


@cache
def endpoint() -> str:
    return _started() if SERVER in ("", OWN) else SERVER


def _started() -> str:
    """A server that ends with this process."""
    made = subprocess.run([sys.executable, str(_ENVIRONMENT)], stdout=subprocess.PIPE, text=True, check=True)
    program = json.loads(made.stdout.splitlines()[-1])["server"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tempfile.NamedTemporaryFile(prefix="moto-", suffix=".log", delete=False)  # noqa: SIM115
    server = subprocess.Popen([program, "-p", str(port)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    own = os.getpid()
    atexit.register(lambda: server.kill() if os.getpid() == own else None)
    deadline = SYSTEM_CLOCK.monotonic() + _SECONDS_TO_START
    while SYSTEM_CLOCK.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return f"http://127.0.0.1:{port}"
        SYSTEM_CLOCK.sleep(0.1)
    raise AssertionError(f"the S3 server did not start: see {log.name}")
