"""A server of S3 on this machine, for the demo: moto, which keeps conditional puts, in an environment of its own.

moto is Apache-2.0, kept by many, installed by pip alone, and what this project's tests run on. It holds all objects in
memory: they end with it. It needs other versions of packages than Airflow, so it is no extra of the demo: it is the
program that ``PYHUDI_S3_SERVER`` names, else ``moto_server`` on PATH, else it is installed below the demo's folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import urllib.request
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import StorageError

PROGRAM_VARIABLE = "PYHUDI_S3_SERVER"
PACKAGE = "moto[s3,server]==5.2.5"
_REGION = "us-east-1"
_SECONDS_TO_START = 120.0
_SECONDS_TO_END = 10.0


@contextmanager
def s3_server(home: Path, bucket: str, clock: Clock) -> Iterator[Mapping[str, str]]:
    """A server with one empty bucket, as long as this lasts; gives the variables by which AWS's clients reach it.

    :param home: a folder for the server's log and, where it is not installed, the server.
    :raises StorageError: it can't be installed, or does not start.
    """
    home.mkdir(parents=True, exist_ok=True)
    program = os.environ.get(PROGRAM_VARIABLE) or shutil.which("moto_server") or _installed(home)
    log = home / "s3.log"
    with open(log, "ab") as output, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
        probe.close()
        server = subprocess.Popen(
            [program, "-H", "127.0.0.1", "-p", str(port)], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
    try:
        _wait(server, port, log, clock)
        endpoint = f"http://127.0.0.1:{port}"
        urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()
        yield {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": _REGION,
            "AWS_ACCESS_KEY_ID": "pyhudi-demo",
            "AWS_SECRET_ACCESS_KEY": secrets.token_hex(16),
        }
    finally:
        server.terminate()
        try:
            server.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path, clock: Clock) -> None:
    deadline = clock.monotonic() + _SECONDS_TO_START
    while clock.monotonic() < deadline and server.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        clock.sleep(0.1)
    raise StorageError("the server of S3 did not start", todo=f"see {log}", path=str(log))


def _installed(home: Path) -> str:
    """The program in an environment below the folder, made where it is not whole."""
    target = home / "env"
    program, whole = target / "bin" / "moto_server", target / "whole"
    if not (whole.exists() and program.exists()):
        log = home / "pip.log"
        venv.create(target, with_pip=True, symlinks=True, clear=True)
        pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", PACKAGE]
        with open(log, "wb") as output:
            code = subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False).returncode
        if code != 0:
            raise StorageError(
                f"{PACKAGE}, the server of S3, can't be installed",
                todo=f"see {log}, or name another by {PROGRAM_VARIABLE}",
                path=str(log),
            )
        whole.touch()
    return str(program)
