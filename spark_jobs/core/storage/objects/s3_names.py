"""How S3 is reached, by the names that users have for it: those of AWS's environment and delta-rs
(``aws_access_key_id``), those of PyIceberg (``s3.access-key-id``), and Hadoop's (``fs.s3a.access.key``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from spark_jobs.core.errors import ConfigError

PYICEBERG: Final[Mapping[str, str]] = {
    "s3.access-key-id": "access_key_id",
    "s3.anonymous": "skip_signature",
    "s3.endpoint": "endpoint",
    "s3.force-virtual-addressing": "virtual_hosted_style_request",
    "s3.proxy-uri": "proxy_url",
    "s3.region": "region",
    "s3.role-arn": "role_arn",
    "s3.role-session-name": "role_session_name",
    "s3.secret-access-key": "secret_access_key",
    "s3.session-token": "session_token",
}
CREDENTIALS: Final = ("access_key_id", "secret_access_key", "session_token", "skip_signature")
"""Which come together from one place: a key is not used with the token of another."""
OF_S3: Final = frozenset(
    {
        *CREDENTIALS,
        *("region", "endpoint", "virtual_hosted_style_request", "request_payer", "server_side_encryption"),
        *("sse_kms_key_id", "sse_bucket_key_enabled", "sse_customer_key_base64", "role_arn", "role_session_name"),
        *("web_identity_token_file", "imdsv1_fallback", "metadata_endpoint", "unsigned_payload", "checksum_algorithm"),
        *("container_credentials_relative_uri", "container_credentials_full_uri"),
        "container_authorization_token_file",
    }
)
OF_THE_CLIENT: Final = frozenset(
    {
        *("allow_http", "allow_invalid_certificates", "root_certificate"),
        *("proxy_url", "proxy_ca_certificate", "proxy_excludes"),
    }
)
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "endpoint_url": "endpoint",
    "endpoint_url_s3": "endpoint",
    "default_region": "region",
    "ca_bundle": "root_certificate",
}
"""Of AWS's variables, behind ``aws_``."""
_HADOOP: Final = "fs.s3a."
_SPARK: Final = "spark.hadoop."
_OF_BUCKETS: Final = f"{_HADOOP}bucket."
_PLAIN_IN_HADOOP: Final[Mapping[str, str]] = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint.region": "region",
    "assumed.role.arn": "role_arn",
    "assumed.role.session.name": "role_session_name",
}
_IN_HADOOP: Final = frozenset(
    {
        *_PLAIN_IN_HADOOP,
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
_REGION: Final = re.compile(r"\bs3[.-](?:dualstack\.)?([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Options:
    """What obstore is told, by its own names: of the service, and of the client that speaks with it."""

    service: Mapping[str, str] = field(repr=False)
    client: Mapping[str, str] = field(repr=False)

    @staticmethod
    def of(sources: Sequence[Mapping[str, str]], bucket: str) -> S3Options:
        """
        :param sources: settings by any of the names, each mapping over those before it; of one mapping Hadoop's names
            count below others, and what is no name of a setting is passed over.
        :raises ConfigError: an encryption that is not known, a setting by two names with two values, or a value that
            can't be sent.
        """
        found: dict[str, str] = {}
        for source in sources:
            own = {**_of_hadoop(source, bucket), **_of_others(source)}
            if any(name in own for name in CREDENTIALS):
                found = {name: value for name, value in found.items() if name not in CREDENTIALS}
            found |= own
        for name, value in found.items():
            if not value.isprintable():
                raise ConfigError(
                    f"the {name} of s3://{bucket} has a line break or another sign that is not printed",
                    todo="give it without",
                )
        region = _REGION.search(found.get("endpoint", ""))
        if region:
            found.setdefault("region", region[1])
        return S3Options(
            service={name: value for name, value in found.items() if name in OF_S3},
            client={name: value for name, value in found.items() if name in OF_THE_CLIENT},
        )


def name_of(key: str) -> str | None:
    """obstore's name of a setting that AWS, delta-rs, PyIceberg or obstore call so."""
    lowered = key.lower()
    if lowered in PYICEBERG:
        return PYICEBERG[lowered]
    short = lowered.removeprefix("aws_")
    short = _OTHER_NAMES.get(short, short)
    return short if short in OF_S3 or short in OF_THE_CLIENT else None


def is_hadoops(key: str) -> bool:
    """Whether it is one of Hadoop's settings that are read here, for all buckets or for one."""
    name = key.removeprefix(_SPARK)
    if name.startswith(_OF_BUCKETS):
        name = _HADOOP + name.removeprefix(_OF_BUCKETS).partition(".")[2]
    return name.startswith(_HADOOP) and name.removeprefix(_HADOOP) in _IN_HADOOP


def refuse_unknown(given: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a storage option that nothing reads, or a value by two names.
    """
    unknown = next((key for key in sorted(given) if name_of(key) is None and not is_hadoops(key)), None)
    if unknown is not None:
        raise ConfigError(
            f"the storage option {unknown} is not known",
            todo="give those of AWS (aws_region, aws_endpoint_url, ...), PyIceberg (s3.region, ...) or Hadoop "
            "(fs.s3a.endpoint, ...)",
            key=unknown,
        )
    _of_others(given)


def _of_others(given: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in given.items():
        name = name_of(key)
        if name is None or not value.strip():
            continue
        if found.setdefault(name, value.strip()) != value.strip():
            raise ConfigError(f"the storage option {key} is given by another name, too", todo="give one of the two")
    return found


def _of_hadoop(given: Mapping[str, str], bucket: str) -> dict[str, str]:
    """Hadoop's settings of S3A, those of the bucket over those of all."""
    short = {key.removeprefix(_SPARK): value.strip() for key, value in given.items() if is_hadoops(key)}
    of_bucket = f"{_OF_BUCKETS}{bucket}."
    values = {key.removeprefix(_HADOOP): value for key, value in short.items() if not key.startswith(_OF_BUCKETS)}
    values |= {key.removeprefix(of_bucket): value for key, value in short.items() if key.startswith(of_bucket)}
    found = {name: values[key] for key, name in _PLAIN_IN_HADOOP.items() if values.get(key)}
    if endpoint := values.get("endpoint"):
        scheme = "http" if values.get("connection.ssl.enabled", "").lower() == "false" else "https"
        found["endpoint"] = endpoint if "://" in endpoint else f"{scheme}://{endpoint}"
    if style := values.get("path.style.access", "").lower():
        found["virtual_hosted_style_request"] = str(style == "false").lower()
    if values.get("requester.pays.enabled", "").lower() == "true":
        found["request_payer"] = "true"
    if values.get("aws.credentials.provider", "").partition(",")[0].strip().endswith(_ANONYMOUS):
        found["skip_signature"] = "true"
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
