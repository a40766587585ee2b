"""The tables of a benchmark in S3: a gateway (versitygw) gives a folder of this machine, in which tables are copied and
their files counted, and a proxy before it makes each request take longer.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.request_log import request_log
from benchmarks.sides import start_hudi
from tests.interop.lines import LineClient
from tests.support.s3 import S3_SERVER
from tests.support.s3a import s3a_jars, s3a_session

BUCKET: Final = "lineitem"
PROCEDURES: Final[Mapping[str, str]] = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
}
"""Hudi's would else make a lock file, and can't on S3A."""


@dataclass(frozen=True, slots=True)
class OnS3:
    """``folder`` is what the gateway gives; ``endpoint`` that of the proxy."""

    folder: Path
    endpoint: str

    @staticmethod
    @contextmanager
    def reached(gateway: str, folder: Path, delay_ms: int) -> Iterator[OnS3]:
        """Our jobs find it by their environment."""
        with (
            tempfile.TemporaryDirectory(prefix="on-s3-") as scratch,
            request_log(gateway, Path(scratch) / "log", delay_ms=delay_ms) as log,
        ):
            given = S3_SERVER.options(log.url)
            os.environ.update({f"AWS_{name.upper()}": value for name, value in given.items()})
            yield OnS3(folder.resolve(), log.url)

    @property
    def tables(self) -> Path:
        return self.folder / BUCKET

    def address(self, side: str, table: Path) -> str:
        return f"{'s3a' if side == 'hudi' else 's3'}://{table.relative_to(self.folder)}"

    def start_hudi(self, log: Path, memory: str) -> LineClient:
        given = S3_SERVER.options(self.endpoint)
        session = s3a_session(self.endpoint, given["access_key_id"], given["secret_access_key"])
        return start_hudi(log, memory, session, s3a_jars())
