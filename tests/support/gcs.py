"""The server of GCS for tests: one of this project's own (``gcs_server.py``), as no other serves what obstore asks."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

from tests.support.servers import Server, started

_PROGRAM = Path(__file__).with_name("gcs_server.py")
TOKEN = "tests"


def _start() -> str:
    return started("gcs", lambda port: [sys.executable, str(_PROGRAM), str(port)])


def _reached(endpoint: str) -> dict[str, str]:
    return {"google_base_url": endpoint, "google_bearer_token": TOKEN}


def _put_bucket(endpoint: str, bucket: str) -> None:
    asked = urllib.request.Request(f"{endpoint}/{bucket}", method="PUT", headers={"Authorization": f"Bearer {TOKEN}"})
    urllib.request.urlopen(asked).close()


GCS_SERVER = Server(kind="gcs", scheme="gs", own="own", start=_start, reached=_reached, put_bucket=_put_bucket)
