"""Where a server of objects is, as users give it."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

from spark_jobs.core.errors import ConfigError


def refuse_no_url(endpoint: str, url: str) -> None:
    """
    :param url: of the bucket, for the error, which shows no password of the endpoint.
    :raises ConfigError: the endpoint is no URL of HTTP.
    """
    if not _is_url(endpoint):
        raise ConfigError(
            f"the endpoint of {url} is no URL: {endpoint.rpartition('@')[2]!r}", todo="give https://host:port"
        )


def allow_http(client: dict[str, Any], endpoint: str) -> None:
    """Let a client go to an endpoint without TLS: who writes ``http://`` means it."""
    client.setdefault("allow_http", endpoint.startswith("http://"))


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port or 0
    except ValueError:
        return False
    return bool(parts.hostname) and parts.scheme in ("http", "https") and port >= 0 and not re.search(r"\s", text)
