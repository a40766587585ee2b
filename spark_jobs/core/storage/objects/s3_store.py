"""A client of one bucket of S3, or of a server that speaks its protocol."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from obstore.store import ObjectStore, S3Store

from spark_jobs.core.storage.objects.endpoints import allow_http, refuse_no_url
from spark_jobs.core.storage.objects.s3_credentials import credentials_of
from spark_jobs.core.storage.objects.s3_names import S3

if TYPE_CHECKING:
    from obstore.store import RetryConfig

_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
"""Variables: two of AWS's own, and one of obstore's and delta-rs's."""


def new_s3_store(url: str, service: dict[str, str], client: dict[str, Any], retries: RetryConfig) -> ObjectStore:
    """
    :param url: of the bucket.
    :raises ConfigError: a setting that is not served, or a value that it can't have.
    """
    bucket = url.partition("://")[2]
    endpoint = service.pop("endpoint", None) or next(filter(None, map(os.environ.get, _ENDPOINTS)), None)
    if endpoint:
        refuse_no_url(endpoint, url)
        allow_http(client, endpoint)
        service["endpoint"] = _host_of_bucket(endpoint, bucket, service)
    S3.sign_if_given(service)
    credentials = credentials_of(url, service)
    if credentials is not None:
        service.setdefault("skip_signature", "false")  # of a profile that the environment names
    return S3Store(
        bucket,
        config=service,  # type: ignore[arg-type]
        client_options=client,  # type: ignore[arg-type]
        retry_config=retries,
        credential_provider=credentials,
    )


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
