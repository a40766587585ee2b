"""How Google Cloud Storage is reached, by the names that users have for it: those of Google's environment and delta-rs
(``google_service_account``), of PyIceberg (``gcs.oauth2.token``), and Hadoop's
(``fs.gs.auth.service.account.json.keyfile``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.options import Names

_CREDENTIALS: Final = frozenset(
    {"service_account", "service_account_key", "application_credentials", "bearer_token", "skip_signature"}
)
_OWN: Final = frozenset({*_CREDENTIALS, "base_url"})
_PROJECT: Final = "project_id"
"""Said everywhere, needed by nothing here: a bucket belongs to one project."""
_ELSEWHERE: Final[Mapping[str, str]] = {
    "gcs.oauth2.token": "bearer_token",
    "gcs.project-id": _PROJECT,
    "gcs.service.host": "base_url",
}
_ROOTS: Final = ("fs.gs.", "google.cloud.")
"""The later and the earlier names of the connector."""
_KEY: Final = "auth.service.account.private.key"
_KEY_FILE: Final = "auth.service.account.json.keyfile"
_IN_HADOOP: Final = frozenset(
    {
        *("auth.type", _KEY_FILE, _KEY, f"{_KEY}.id", "auth.service.account.email", "auth.null.enable"),
        *("encryption.key", "project.id", "proxy.address", "storage.root.url"),
    }
)
_BY_THE_MACHINE: Final = ("", "application_default", "compute_engine", "service_account_json_keyfile")
"""Ways to authenticate that need no more than a key file, or nothing."""


def _is_hadoops(key: str) -> bool:
    return any(key.startswith(root) and key.removeprefix(root) in _IN_HADOOP for root in _ROOTS)


def _of_hadoop(given: Mapping[str, str], bucket: str, others: Mapping[str, str]) -> dict[str, str]:
    """
    :raises ConfigError: a way to authenticate, or an encryption, that is not served.
    """
    del bucket, others  # the connector has none of one bucket
    values = {
        key.removeprefix(root): value
        for root in reversed(_ROOTS)
        for key, value in given.items()
        if key.startswith(root)
    }
    way = values.get("auth.type", "").lower()
    if way == "unauthenticated" or (not way and values.get("auth.null.enable", "").lower() == "true"):
        found = {"skip_signature": "true"}
    elif way not in _BY_THE_MACHINE:
        raise ConfigError(
            f"fs.gs.auth.type={way.upper()} is not served",
            todo="give the key file of a service account, or google_application_credentials",
        )
    elif values.get(_KEY_FILE):
        found = {"service_account": values[_KEY_FILE]}
    elif values.get(_KEY):
        key = {"private_key": values[_KEY], "private_key_id": values.get(f"{_KEY}.id", "")}
        found = {"service_account_key": json.dumps({**key, "client_email": values.get("auth.service.account.email")})}
    else:
        found = {}
    if values.get("encryption.key"):
        raise ConfigError(
            "fs.gs.encryption.key is not served: objects would not be encrypted so",
            todo="give the bucket a key of Cloud KMS",
        )
    if values.get("storage.root.url"):
        found["base_url"] = values["storage.root.url"].rstrip("/")
    if values.get("proxy.address"):
        found["proxy_url"] = f"http://{values['proxy.address']}"
    return found


def _completed(given: Mapping[str, str]) -> dict[str, str]:
    """With a key in one line, as it may have been read from its file.

    :raises ConfigError: the key is no JSON.
    """
    found = {name: value for name, value in given.items() if name != _PROJECT}
    key = found.get("service_account_key")
    if key is not None:
        try:
            found["service_account_key"] = json.dumps(json.loads(key))
        except ValueError:
            raise ConfigError(
                "the service_account_key is no JSON",
                todo="give the content of the key file, or its path as google_service_account",
            ) from None  # the error has the text of the key
    return found


GCS: Final = Names(
    service="GCS",
    own=_OWN | {_PROJECT},
    prefixes=("google_",),
    synonyms={"service_account_path": "service_account"},
    elsewhere=_ELSEWHERE,
    credentials=_CREDENTIALS,
    is_hadoops=_is_hadoops,
    of_hadoop=_of_hadoop,
    completed=_completed,
)
