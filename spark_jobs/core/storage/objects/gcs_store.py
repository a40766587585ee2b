"""A client of one bucket of Google Cloud Storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from obstore.store import GCSStore, ObjectStore

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.endpoints import allow_http, refuse_no_url
from spark_jobs.core.storage.objects.gcs_names import GCS

if TYPE_CHECKING:
    from obstore.store import GCSCredential, RetryConfig

_PATHS: Final = ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH", "SERVICE_ACCOUNT")
_KEY: Final = "GOOGLE_SERVICE_ACCOUNT_KEY"
_TOKEN: Final = "GOOGLE_BEARER_TOKEN"
_BEFORE: Final[Mapping[str, tuple[str, ...]]] = {
    "service_account": (_KEY, _TOKEN),
    "service_account_key": (*_PATHS, _TOKEN),
    "application_credentials": (*_PATHS, _KEY, _TOKEN),
}
"""Variables that obstore takes before, or beside, what was given."""


def new_gcs_store(url: str, service: dict[str, str], client: dict[str, Any], retries: RetryConfig) -> ObjectStore:
    """
    :param url: of the bucket.
    :raises ConfigError: a setting has a value that it can't have, or the environment has credentials that would be
        taken in place of those that are given.
    """
    for name, variables in _BEFORE.items():
        found = next((one for one in variables if name in service and os.environ.get(one)), None)
        if found is not None:
            raise ConfigError(
                f"the {name} of {url} is given, and the environment has {found}, too", todo="give one of the two"
            )
    endpoint = service.get("base_url") or os.environ.get("GOOGLE_BASE_URL")
    if endpoint:
        refuse_no_url(endpoint, url)
        allow_http(client, endpoint)
        service["base_url"] = endpoint.rstrip("/")
    GCS.sign_if_given(service)
    token = _given_token(service)
    return GCSStore(
        url.partition("://")[2],
        config=service,  # type: ignore[arg-type]
        client_options=client,  # type: ignore[arg-type]
        retry_config=retries,
        credential_provider=token,
    )


def _given_token(service: dict[str, str]) -> Callable[[], GCSCredential] | None:
    token = service.pop("bearer_token", None)
    if token is None:
        return None
    return lambda: {"token": token, "expires_at": None}
