"""The server of Azure's blobs for tests: Azurite, in an environment of its own (``scripts/azurite_env.py``)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import urllib.request
from email.utils import format_datetime

from spark_jobs.core.clock import SYSTEM_CLOCK
from tests.support.servers import Server, environment, started

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the account that Azurite has from the start, as its documentation says."""
_VERSION = "2023-11-03"


def _start() -> str:
    made = environment("azurite_env.py")
    address = started(
        "azurite",
        lambda port: [
            *(made["node"], made["server"], "--blobHost", "127.0.0.1", "--blobPort", str(port)),
            *("--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"),
        ],
    )
    return f"{address}/{ACCOUNT}"


def _reached(endpoint: str) -> dict[str, str]:
    return {
        "azure_storage_endpoint": endpoint,
        "azure_storage_account_name": ACCOUNT,
        "azure_storage_account_key": KEY,
    }


def _put_bucket(endpoint: str, bucket: str) -> None:
    """Signed with the account's key (Authorize with Shared Key, in the reference of Azure's REST API)."""
    headers = {
        "x-ms-date": format_datetime(SYSTEM_CLOCK.now(), usegmt=True),
        "x-ms-version": _VERSION,
    }
    named = "".join(f"{name}:{value}\n" for name, value in sorted(headers.items()))
    signed = f"PUT{chr(10) * 12}{named}/{ACCOUNT}/{ACCOUNT}/{bucket}\nrestype:container"
    signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)).decode()
    asked = urllib.request.Request(
        f"{endpoint}/{bucket}?restype=container",
        method="PUT",
        headers={**headers, "Authorization": f"SharedKey {ACCOUNT}:{signature}"},
    )
    urllib.request.urlopen(asked).close()


AZURE_SERVER = Server(kind="azure", scheme="az", own="azurite", start=_start, reached=_reached, put_bucket=_put_bucket)
