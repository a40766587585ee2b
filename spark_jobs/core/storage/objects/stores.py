"""The clients of a process: one for each bucket and the settings that it is reached by."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from obstore import exceptions
from obstore.store import ObjectStore, S3Store

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.storage.objects.failure import reason_of
from spark_jobs.core.storage.objects.s3_names import S3Options

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, ClientConfig, RetryConfig, S3Credential


@dataclass(frozen=True, slots=True)
class _Patience:
    """For how long a request is waited for, and asked again."""

    retries: RetryConfig
    client: ClientConfig


Settings = tuple[tuple[tuple[str, str], ...], ...]
"""Names and values as users gave them (``s3_names.py`` has which there are), each group over those before it; secrets
are among them.
"""

CHANGE_SECONDS: Final = 40
"""For so long a change is asked for again: with the last request, and a look before, it is over in two minutes, which
a lock has to last after the look at it.
"""
_PAUSES: Final[BackoffConfig] = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=15),
    "base": 2,
}
"""Between requests that the server didn't answer or wants later (429, 5xx); drawn at random."""
READS: Final = _Patience(
    {"max_retries": 10, "backoff": _PAUSES, "retry_timeout": timedelta(minutes=3)},
    {"timeout": timedelta(minutes=2), "connect_timeout": timedelta(seconds=10)},
)
"""And uploads, of which nothing is there before their last request."""
CHANGES: Final = _Patience(
    {"max_retries": 10, "backoff": _PAUSES, "retry_timeout": timedelta(seconds=CHANGE_SECONDS)},
    {"timeout": timedelta(seconds=20), "connect_timeout": timedelta(seconds=10)},
)
_HTTP: Final = "http://"

_open: dict[tuple[str, str, Settings, bool], ObjectStore] = {}
_lock = threading.Lock()
_inherited = False


def in_use() -> bool:
    """Whether this process has a client: it can't be forked any more then."""
    return bool(_open)


def _in_child() -> None:
    """The threads that carry out the requests are not in a process that was forked."""
    global _inherited, _lock
    _inherited = _inherited or bool(_open)
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_in_child)


def split(url: str) -> tuple[str, str, str]:
    """The scheme, the bucket, and the key, as it is written: nothing of it is decoded.

    :raises StorageError: there is no bucket.
    """
    scheme, _, rest = url.partition("://")
    bucket, _, key = rest.partition("/")
    if not bucket:
        raise StorageError(f"{url} names no bucket", todo=f"give {scheme}://bucket/folder", path=url)
    return scheme, bucket, key.strip("/")


def store_of(scheme: str, bucket: str, settings: Settings, *, changes: bool = False) -> ObjectStore:
    """The client of this process, for reads and uploads or for changes. Credentials that ``settings`` don't have come
    from the environment, or from the identity of the machine or pod.

    :raises StorageError: this process was forked from one that used a client, whose threads it has not.
    """
    if _inherited:
        raise StorageError(
            f"{scheme}://{bucket} can't be reached: this process was forked after its parent had used a store of "
            "objects",
            todo="start it by spawn or forkserver",
            path=f"{scheme}://{bucket}",
        )
    with _lock:
        found = _open.get((scheme, bucket, settings, changes))
        if found is None:
            patience = CHANGES if changes else READS
            found = _open[scheme, bucket, settings, changes] = _new_s3(bucket, settings, patience)
        return found


def _new_s3(bucket: str, settings: Settings, patience: _Patience) -> ObjectStore:
    """
    :raises StorageError: certificates can't be read.
    :raises ConfigError: a setting that is not served, or a value that it can't have.
    """
    options = S3Options.of([dict(one) for one in settings], bucket)
    service, client = dict(options.service), {**options.client, **patience.client}
    _refuse_unserved(service)
    endpoint = (
        service.pop("endpoint", None) or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    )
    if endpoint:
        service["endpoint"] = _host_of_bucket(endpoint, bucket, service)
        client.setdefault("allow_http", endpoint.startswith(_HTTP))  # who writes http:// means it
    if path := client.pop("root_certificate", None):
        client["root_certificate"] = _certificates(str(path))
    key = _given_key(service)
    try:
        return S3Store(
            bucket,
            config=service,  # type: ignore[arg-type]
            client_options=client,  # type: ignore[arg-type]
            retry_config=patience.retries,
            credential_provider=key,
        )
    except (exceptions.BaseError, ValueError) as error:
        raise ConfigError(
            f"s3://{bucket} can't be reached by these settings ({reason_of(error)})", todo="mend the storage options"
        ) from error


def _given_key(service: dict[str, str]) -> Callable[[], S3Credential] | None:
    """The key that was given, with its token or without one: a token of the environment is of another key."""
    key, secret = service.pop("access_key_id", None), service.pop("secret_access_key", None)
    token = service.pop("session_token", None)
    if key is None or secret is None:
        return None
    return lambda: {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}


def _host_of_bucket(endpoint: str, bucket: str, service: dict[str, str]) -> str:
    """The endpoint as obstore wants it: with the bucket in its host where requests name it there, as those to addresses
    of numbers can't.

    :raises ConfigError: it is no URL.
    """
    if not _is_url(endpoint):
        raise ConfigError(
            f"the endpoint of s3://{bucket} is no URL: {endpoint.rpartition('@')[2]!r}", todo="give https://host:port"
        )
    parts = urlsplit(endpoint)
    if service.get("virtual_hosted_style_request", "").lower() != "true":
        return endpoint
    if re.fullmatch(r"[\d.]+|.*:.*", parts.hostname or ""):
        service["virtual_hosted_style_request"] = "false"
        return endpoint
    before, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{before}{at}{bucket}.{host}").geturl()


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port = parts.port or 0
    except ValueError:
        return False
    return bool(parts.hostname) and parts.scheme in ("http", "https") and port >= 0 and not re.search(r"\s", text)


def _refuse_unserved(service: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a role without what it is assumed by.
    """
    if service.get("role_arn") and not (
        service.get("web_identity_token_file") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    ):
        raise ConfigError(
            f"the role {service['role_arn']} can't be assumed without a web identity token",
            todo="give its token file, or the credentials of a session in that role",
        )


def _certificates(path: str) -> bytes:
    """
    :raises StorageError: the file can't be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StorageError(f"the certificates {path} can't be read ({error.strerror})", path=path) from error
