"""Who asks S3: a key that is given, a role that is assumed by one, or a profile of AWS's files. Roles and profiles are
boto3's, which renews what ends; all else is obstore's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.options import is_anonymous

if TYPE_CHECKING:
    from obstore.store import S3Credential

Credentials = Callable[[], "S3Credential"]
_OF_A_ROLE: Final = {"role_arn": "RoleArn", "role_session_name": "RoleSessionName", "external_id": "ExternalId"}
_BEFORE_FILES: Final = (
    *("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
)
"""Variables that say who asks."""
_IDENTITIES: Final = (
    "web_identity_token_file",
    "container_credentials_relative_uri",
    "container_credentials_full_uri",
)
_FILES: Final = {"AWS_SHARED_CREDENTIALS_FILE": "~/.aws/credentials", "AWS_CONFIG_FILE": "~/.aws/config"}
_PROFILE: Final = "AWS_PROFILE"


def credentials_of(url: str, service: dict[str, str]) -> Credentials | None:
    """What gives the key of each request; None where obstore looks for one by itself: in the environment, then at the
    machine or pod. Takes what it uses out of ``service``.

    :param url: of the bucket.
    :raises ConfigError: half a key; a role or a profile without boto3; a profile that is not there.
    """
    key = _key_of(url, service)
    profile = service.pop("profile", "")
    if is_anonymous(service):
        return None
    _refuse_two(url, service)
    external = service.get("external_id")
    by_token = service.get("web_identity_token_file") or os.environ.get("AWS_WEB_IDENTITY_TOKEN_FILE")
    if service.get("role_arn") and not (by_token and key is None and not profile and not external):
        role = {name: value for word, name in _OF_A_ROLE.items() if (value := service.pop(word, None))}
        session = _session(f"the role {role['RoleArn']}", service, key, profile)
        provider = import_module("obstore.auth.boto3").StsCredentialProvider
        return _called(provider(session, **{"RoleSessionName": "pyhudi", **role}))
    if key is not None:
        given = key
        return lambda: given
    if any(service.get(name) for name in _IDENTITIES):
        return None
    return _of_profile(service, profile)


def _refuse_two(url: str, service: Mapping[str, str]) -> None:
    """
    :raises ConfigError: obstore would take a key of the environment in the place of the identity that is given.
    """
    given = next((name for name in _IDENTITIES if service.get(name)), None)
    if given is not None and os.environ.get("AWS_ACCESS_KEY_ID"):
        raise ConfigError(
            f"the {given} of {url} is given, and the environment has AWS_ACCESS_KEY_ID, too", todo="give one of the two"
        )


def _key_of(url: str, service: dict[str, str]) -> S3Credential | None:
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
    return {"access_key_id": key, "secret_access_key": secret, "token": token, "expires_at": None}


def _of_profile(service: dict[str, str], profile: str) -> Credentials | None:
    """That of the profile that is given or that the environment names, else the one that AWS's files have."""
    named = profile
    if not named and not any(map(os.environ.get, _BEFORE_FILES)):
        named = os.environ.get(_PROFILE, "")
        if not named and not (_has_files() and find_spec("boto3")):
            return None
    elif not named:
        return None
    session = _session(f"the profile {named}" if named else "a profile", service, None, named)
    if session.get_credentials() is None:
        if named:
            raise ConfigError(f"the profile {named} has no credentials", todo="log in, or give another one")
        return None
    return _called(import_module("obstore.auth.boto3").Boto3CredentialProvider(session))


def _has_files() -> bool:
    return any(Path(os.environ.get(name) or path).expanduser().is_file() for name, path in _FILES.items())


def _session(what: str, service: dict[str, str], key: S3Credential | None, profile: str) -> Any:
    """boto3's, with the region of the profile where there is no other.

    :raises ConfigError: boto3 is not installed, or there is no such profile.
    """
    try:
        boto3 = import_module("boto3")
        exceptions = import_module("botocore.exceptions")
    except ImportError:
        raise ConfigError(
            f"{what} needs the package boto3", todo="pip install 'pyhudi[aws]', or give the key of a session"
        ) from None
    named = (
        {}
        if key is None
        else {
            "aws_access_key_id": key["access_key_id"],
            "aws_secret_access_key": key["secret_access_key"],
            "aws_session_token": key["token"],
        }
    )
    try:
        session = boto3.Session(region_name=service.get("region"), profile_name=profile or None, **named)
    except exceptions.BotoCoreError as error:
        raise ConfigError(f"{what} can't be used ({error})", todo="give another one, or correct ~/.aws") from error
    if session.region_name:
        service.setdefault("region", session.region_name)
    return session


def _called(provider: Callable[[], S3Credential]) -> Credentials:
    """Without the settings that a provider of obstore's has beside what it gives; its end in the zone of Python's own,
    which obstore's client wants, and botocore's times are not in.
    """

    def given() -> S3Credential:
        found = provider()
        end = found["expires_at"]
        return {**found, "expires_at": None if end is None else end.astimezone(UTC)}

    return given
