"""How S3 is reached, by the names that users have for it: those of AWS's environment and delta-rs
(``aws_access_key_id``), those of PyIceberg (``s3.access-key-id``), and Hadoop's (``fs.s3a.access.key``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.options import Names

_PYICEBERG: Final[Mapping[str, str]] = {
    "s3.access-key-id": "access_key_id",
    "s3.anonymous": "skip_signature",
    "s3.endpoint": "endpoint",
    "s3.force-virtual-addressing": "virtual_hosted_style_request",
    "s3.profile-name": "profile",
    "s3.proxy-uri": "proxy_url",
    "s3.region": "region",
    "s3.role-arn": "role_arn",
    "s3.role-session-name": "role_session_name",
    "s3.secret-access-key": "secret_access_key",
    "s3.session-token": "session_token",
}
_CREDENTIALS: Final = frozenset(
    {
        *("access_key_id", "secret_access_key", "session_token", "skip_signature", "profile"),
        *("role_arn", "role_session_name", "external_id", "web_identity_token_file"),
        *("container_credentials_relative_uri", "container_credentials_full_uri"),
        "container_authorization_token_file",
    }
)
_OWN: Final = frozenset(
    {
        *_CREDENTIALS,
        *("region", "endpoint", "virtual_hosted_style_request", "request_payer", "server_side_encryption"),
        *("sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64"),
        *("imdsv1_fallback", "metadata_endpoint", "unsigned_payload", "checksum_algorithm"),
    }
)
_SYNONYMS: Final[Mapping[str, str]] = {
    "endpoint_url": "endpoint",
    "endpoint_url_s3": "endpoint",
    "default_region": "region",
    "ca_bundle": "root_certificate",
    "profile_name": "profile",
}
"""Of AWS's variables."""
_HADOOP: Final = "fs.s3a."
_OF_BUCKETS: Final = f"{_HADOOP}bucket."
_PLAIN_IN_HADOOP: Final[Mapping[str, str]] = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
}
_ROLE_IN_HADOOP: Final[Mapping[str, str]] = {
    "assumed.role.arn": "role_arn",
    "assumed.role.session.name": "role_session_name",
    "assumed.role.external.id": "external_id",
}
_IN_HADOOP: Final = frozenset(
    {
        *_PLAIN_IN_HADOOP,
        *_ROLE_IN_HADOOP,
        *("endpoint", "connection.ssl.enabled", "path.style.access", "requester.pays.enabled"),
        *("aws.credentials.provider", "proxy.host", "proxy.port", "proxy.ssl.enabled", "encryption.algorithm"),
        *("encryption.key", "server-side-encryption-algorithm", "server-side-encryption.key"),
    }
)
_ENCRYPTIONS: Final[Mapping[str, str]] = {
    "aes256": "AES256",
    "sse-kms": "aws:kms",
    "dsse-kms": "aws:kms:dsse",
    "sse-c": "sse-c",
}
_ANONYMOUS: Final = "AnonymousAWSCredentialsProvider"
_BY_ROLE: Final = "AssumedRoleCredentialProvider"
_REGION: Final = re.compile(r"\bs3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com")


def _is_hadoops(key: str) -> bool:
    """For all buckets or for one."""
    if key.startswith(_OF_BUCKETS):  # whose names may have dots
        return any(key.endswith(f".{name}") for name in _IN_HADOOP)
    return key.startswith(_HADOOP) and key.removeprefix(_HADOOP) in _IN_HADOOP


def _completed(given: Mapping[str, str]) -> dict[str, str]:
    """With the region that an endpoint of AWS names."""
    region = _REGION.search(given.get("endpoint", ""))
    return {**({"region": region[1]} if region else {}), **given}


def _of_hadoop(given: Mapping[str, str], bucket: str, others: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings of S3A, those of the bucket over those of all."""
    del others
    of_bucket = f"{_OF_BUCKETS}{bucket}."
    values = {key.removeprefix(_HADOOP): value for key, value in given.items() if not key.startswith(_OF_BUCKETS)}
    own = {key.removeprefix(of_bucket): value for key, value in given.items() if key.startswith(of_bucket)}
    if own.get("access.key") and own.get("secret.key"):
        values.pop("session.token", None)  # of another key
    values |= own
    found = {name: values[key] for key, name in _PLAIN_IN_HADOOP.items() if values.get(key)}
    if endpoint := values.get("endpoint"):
        scheme = "http" if values.get("connection.ssl.enabled", "").lower() == "false" else "https"
        found["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if style := values.get("path.style.access", "").lower():
        found["virtual_hosted_style_request"] = str(style == "false").lower()
    if values.get("requester.pays.enabled", "").lower() == "true":
        found["request_payer"] = "true"
    provider = values.get("aws.credentials.provider", "").partition(",")[0].strip()
    if provider.endswith(_ANONYMOUS):
        found["skip_signature"] = "true"
    if provider.endswith(_BY_ROLE):
        found |= {name: values[key] for key, name in _ROLE_IN_HADOOP.items() if values.get(key)}
    if host := values.get("proxy.host"):
        secure = values.get("proxy.ssl.enabled", "").lower() == "true"
        port = values.get("proxy.port") or ("443" if secure else "80")
        found["proxy_url"] = f"{'https' if secure else 'http'}://{host}:{port}"
    return {**found, **_encryption(values)}


def _encryption(values: Mapping[str, str]) -> dict[str, str]:
    kind = values.get("encryption.algorithm") or values.get("server-side-encryption-algorithm") or ""
    key = values.get("encryption.key") or values.get("server-side-encryption.key") or ""
    if not kind:
        return {}
    algorithm = _ENCRYPTIONS.get(kind.lower())
    if algorithm is None:
        raise ConfigError(
            f"fs.s3a.encryption.algorithm={kind} is not served: objects would not be encrypted so",
            todo="give SSE-KMS, DSSE-KMS, SSE-C or AES256",
        )
    name = "sse_customer_key_base64" if algorithm == "sse-c" else "sse_kms_key_id"
    return {"server_side_encryption": algorithm, **({name: key} if key and algorithm != "AES256" else {})}


S3: Final = Names(
    service="S3",
    own=_OWN,
    prefixes=("aws_",),
    synonyms=_SYNONYMS,
    elsewhere=_PYICEBERG,
    credentials=_CREDENTIALS,
    is_hadoops=_is_hadoops,
    of_hadoop=_of_hadoop,
    completed=_completed,
)
