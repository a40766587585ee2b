"""The server of S3 for tests: moto, in an environment of its own (``scripts/s3_env.py``); or where ``PYHUDI_S3`` is its
URL, another one that knows the key ``tests`` with the secret ``tests``. ``PYHUDI_S3_FOLDER`` is the folder that it
gives, whose folders are buckets, as versitygw has it: it makes none for a request without a signature.
"""

from __future__ import annotations

import os
import urllib.request
from pathlib import Path

from tests.support.servers import Server, environment, started


def _start() -> str:
    program = environment("s3_env.py")["server"]
    return started("moto", lambda port: [program, "-p", str(port)])


def _reached(endpoint: str) -> dict[str, str]:
    return {"endpoint": endpoint, "region": "us-east-1", "access_key_id": "tests", "secret_access_key": "tests"}


def _put_bucket(endpoint: str, bucket: str) -> None:
    if folder := os.environ.get("PYHUDI_S3_FOLDER"):
        (Path(folder) / bucket).mkdir()
        return
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()


S3_SERVER = Server(kind="s3", scheme="s3", own="moto", start=_start, reached=_reached, put_bucket=_put_bucket)
