"""A client of one bucket of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from obstore.store import ObjectStore, S3Store

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.endpoints import allow_http, refuse_no_url

if TYPE_CHECKING:
    from obstore.store import RetryConfig, S3Credential

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Variables: two of AWS's own, and one of obstore's and delta-rs's."""


def new_s3_store(url: str, service: dict[str, str], client: dict[str, Any], retries: RetryConfig) -> ObjectStore:
    """
    :param url: of the bucket.
    :raises ConfigError: a setting that is not served, or a value that it can't have.
    """
    bucket = url.partition("://")[2]
    _refuse_unserved(service)
    endpoint = service.pop("endpoint", None) or next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    if endpoint:
        refuse_no_url(endpoint, url)
        allow_http(client, endpoint)
        service["endpoint"] = _host_of_bucket(endpoint, bucket, service)
    key = _given_key(url, service)
    return S3Store(
        bucket,
        config=service,  # type: ignore[arg-type]
        client_options=client,  # type: ignore[arg-type]
        retry_config=retries,
        credential_provider=key,
    )


def _given_key(url: str, service: dict[str, str]) -> Callable[[], S3Credential] | None:
    """The key that was given, with its token or without one: a token of the environment is of another key.

    :raises ConfigError: a part of the key is missing, in whose place that of another identity would be taken.
    """
    key, secret = service.pop("access_key_id", None), service.pop("secret_access_key", None)
    token = service.pop("session_token", None)
    if key is None or secret is None:
        if not (key is secret is token is None):
            missing = "access_key_id" if key is None else "secret_access_key"
            raise ConfigError(f"the key of {url} is given without its {missing}", todo=f"give aws_{missing}")
        return None
    return lambda: {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}


def _host_of_bucket(endpoint: str, bucket: str, service: dict[str, str]) -> str:
    """The endpoint as obstore wants it: with the bucket in its host where requests name it there, as those to addresses
    of numbers can't.
    """
    parts = urlsplit(endpoint)
    if service.get("virtual_hosted_style_request", "").lower() != "true":
        return endpoint
    if re.fullmatch(r"[\d.]+|.*:.*", parts.hostname or ""):
        service["virtual_hosted_style_request"] = "false"
        return endpoint
    before, at, host = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{before}{at}{bucket}.{host}").geturl()


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
