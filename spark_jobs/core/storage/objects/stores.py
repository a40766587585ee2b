"""The clients of a process: one for each bucket and the settings that it is reached by."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from obstore import exceptions
from obstore.store import ObjectStore

from spark_jobs.core.errors import ConfigError, StorageError
from spark_jobs.core.storage.objects.azure_store import new_azure_store
from spark_jobs.core.storage.objects.failure import reason_of
from spark_jobs.core.storage.objects.gcs_store import new_gcs_store
from spark_jobs.core.storage.objects.s3_store import new_s3_store
from spark_jobs.core.storage.objects.schemes import SCHEMES

if TYPE_CHECKING:
    from obstore.store import BackoffConfig, ClientConfig, RetryConfig


@dataclass(frozen=True, slots=True)
class _Patience:
    """For how long a request is waited for, and asked again."""

    retries: RetryConfig
    client: ClientConfig


Settings = tuple[tuple[tuple[str, str], ...], ...]
"""Names and values as users gave them (``*_names.py`` have which there are), each group over those before it; secrets
are among them.
"""

READ_SECONDS: Final = 180
CHANGE_SECONDS: Final = 40
"""For so long a change is asked for again: with the last request, and a look before, it is over in two minutes, which
a lock has to last after the look at it.
"""
_PAUSES: Final[BackoffConfig] = {
    "init_backoff": timedelta(milliseconds=100),
    "max_backoff": timedelta(seconds=3),
    "base": 6,
}
"""Between requests that the server didn't answer or wants later (429, 5xx). Each is drawn between the first one and six
times the last one, or they would hardly grow: sixteen last for 25 to 45 s.
"""
READS: Final = _Patience(
    {"max_retries": 16, "backoff": _PAUSES, "retry_timeout": timedelta(seconds=READ_SECONDS)},
    {"timeout": timedelta(minutes=2), "connect_timeout": timedelta(seconds=10)},
)
"""And uploads, of which nothing is there before their last request."""
CHANGES: Final = _Patience(
    {"max_retries": 16, "backoff": _PAUSES, "retry_timeout": timedelta(seconds=CHANGE_SECONDS)},
    {"timeout": timedelta(seconds=20), "connect_timeout": timedelta(seconds=10)},
)
_MAKERS: Final[Mapping[str, Callable[[str, dict[str, str], dict[str, Any], RetryConfig], ObjectStore]]] = {
    "S3": new_s3_store,
    "Azure": new_azure_store,
    "GCS": new_gcs_store,
}
"""Of a bucket's URL, the settings of its service and of its client, and how a request is repeated."""

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
    """The scheme, the bucket (the whole authority of the URL), and the key, as it is written: nothing of it is decoded.

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

    :raises StorageError: this process was forked from one that used a client, whose threads it has not; or certificates
        can't be read.
    :raises ConfigError: a setting that is not served, or a value that it can't have.
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
            found = _open[scheme, bucket, settings, changes] = _new(scheme, bucket, settings, patience)
        return found


def _new(scheme: str, bucket: str, settings: Settings, patience: _Patience) -> ObjectStore:
    names, url = SCHEMES[scheme], f"{scheme}://{bucket}"
    options = names.resolve([dict(one) for one in settings], url)
    client: dict[str, Any] = {**options.client, **patience.client}
    if path := client.pop("root_certificate", None):
        client["root_certificate"] = _certificates(str(path))
    try:
        return _MAKERS[names.service](url, dict(options.service), client, patience.retries)
    except (exceptions.BaseError, ValueError) as error:
        raise ConfigError(
            f"{url} can't be reached by these settings ({reason_of(error)})", todo="mend the storage options"
        ) from error


def _certificates(path: str) -> bytes:
    """
    :raises StorageError: the file can't be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise StorageError(f"the certificates {path} can't be read ({error.strerror})", path=path) from error
