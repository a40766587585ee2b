"""The server of S3 for tests: moto, in an environment of its own (``scripts/s3_env.py``)."""

from __future__ import annotations

import urllib.request

from tests.support.servers import Server, environment, started


def _start() -> str:
    program = environment("s3_env.py")["server"]
    return started("moto", lambda port: [program, "-p", str(port)])


def _reached(endpoint: str) -> dict[str, str]:
    return {"endpoint": endpoint, "region": "us-east-1", "access_key_id": "tests", "secret_access_key": "tests"}


def _put_bucket(endpoint: str, bucket: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{bucket}", method="PUT")).close()


S3_SERVER = Server(kind="s3", scheme="s3", own="moto", start=_start, reached=_reached, put_bucket=_put_bucket)
