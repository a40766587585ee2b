"""From the text of a path or URL to the storage that serves it."""

from __future__ import annotations

import os
from urllib.parse import unquote, urlsplit

from spark_jobs.core.errors import StorageError
from spark_jobs.core.storage.local import LocalStorage
from spark_jobs.core.storage.protocol import Storage


def locate(url: str) -> tuple[Storage, str]:
    """The storage for a URL, and the path as that storage takes it, without a trailing slash.

    :raises StorageError: no storage serves the scheme.
    """
    scheme = urlsplit(url).scheme if "://" in url or url.startswith("file:") else ""
    if scheme == "":
        return LocalStorage(), os.path.abspath(url)
    if scheme == "file":
        return LocalStorage(), os.path.abspath(unquote(urlsplit(url).path))
    raise StorageError(
        f"no storage for the scheme {scheme!r} of {url}", todo="this release serves local paths and file: URLs", url=url
    )
