"""The Python side of ``hfile_server.py``: Hudi's own HFile classes, of 0.15.0 or of a newer release."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.interop.lines import LineClient
from tests.interop.real_hudi import ROOT, prepare_environment
from tests.java import QUICK

NEWER_BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:1.0.2"

Entries = list[tuple[bytes, bytes]]


class HudiHFiles(LineClient):
    """
    :param log: takes what the JVM prints.
    :param bundle: Maven coordinates of a bundle to take in place of that of 0.15.0; Spark gets it.
    """

    def __init__(self, log: Path, bundle: str | None = None) -> None:
        environment = prepare_environment()
        self._scratch = tempfile.TemporaryDirectory(prefix="hudi-hfiles-")
        if bundle is None:
            jars = ["--driver-class-path", ":".join(environment["jars"])]
        else:
            jars = ["--packages", bundle, "--conf", f"spark.jars.ivy={ROOT / '.cache' / 'hudi-newer'}"]
        arguments = ["--master", "local[1]", "--driver-java-options", QUICK, *jars, "pyspark-shell"]
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SPARK_", "PYSPARK_", "PYTHONPATH"))
        }
        variables = {
            **kept,
            "PYTHONPATH": str(ROOT),
            "SPARK_HOME": environment["spark_home"],
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_SUBMIT_ARGS": shlex.join(arguments),
        }
        command = [environment["python"], "-m", "tests.interop.hfile_server"]
        super().__init__(command, variables, log, Path(self._scratch.name))

    def entries(self, path: Path, reader: str) -> Entries:
        found = self.ask("entries", path=str(path), reader=reader)
        return [(bytes.fromhex(key), bytes.fromhex(value)) for key, value in found]

    def count(self, path: Path, reader: str) -> int:
        number: int = self.ask("count", path=str(path), reader=reader)
        return number

    def get(self, path: Path, reader: str, keys: Sequence[bytes]) -> list[bytes | None]:
        found = self.ask("get", path=str(path), reader=reader, keys=[key.hex() for key in keys])
        return [None if value is None else bytes.fromhex(value) for value in found]

    def info(self, path: Path, reader: str, key: str) -> bytes | None:
        found = self.ask("info", path=str(path), reader=reader, key=key)
        return None if found is None else bytes.fromhex(found)

    def meta(self, path: Path, reader: str, name: str) -> bytes | None:
        found = self.ask("meta", path=str(path), reader=reader, name=name)
        return None if found is None else bytes.fromhex(found)

    def write(self, path: Path, entries: Entries, compression: str, block_size: int, comparator: str) -> None:
        """A file by HBase's writer."""
        pairs = [(key.hex(), value.hex()) for key, value in entries]
        self.ask(
            "write", path=str(path), entries=pairs, compression=compression, block_size=block_size, name=comparator
        )
