"""How storage is reached by Airflow's connections: what each type has, as storage options of this project.

The fields are those that the providers of Amazon, Google, Microsoft and HDFS document. None of these providers has to
be installed, but where a connection asks for credentials that one of them alone can get.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, BaseHook, Connection

_AMAZON: Final = "airflow.providers.amazon.aws.hooks.base_aws"
_GOOGLE: Final = "airflow.providers.google.common.hooks.base_google"
_GOOGLE_TRANSPORT: Final = "google.auth.transport.requests"


class StorageConnectionError(AirflowFailException):
    """A connection that storage can't be reached by, or only with another identity than it names. No retry helps."""


def options_of(conn_id: str) -> dict[str, str]:
    """The storage options of a connection; empty where the environment or the machine has the credentials.

    :raises StorageConnectionError: it is not there, is of another type, or asks for what is not served.
    """
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        raise StorageConnectionError(
            f"storage_conn_id={conn_id} is no connection of this Airflow: add it, or name one that is there"
        ) from None
    reader = _READERS.get(connection.conn_type or "")
    if reader is None:
        raise StorageConnectionError(
            f"storage_conn_id={conn_id} is of the type {connection.conn_type}: give one of {', '.join(_READERS)}"
        )
    return {name: value for name, value in reader(connection, _extra(connection)).items() if value}


def _of_aws(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    session = extra.get("session_kwargs") or {}
    config, service = extra.get("config_kwargs") or {}, (extra.get("service_config") or {}).get("s3") or {}
    for name in ("use_fips_endpoint", "use_dualstack_endpoint"):
        if config.get(name):
            raise _unserved(connection, f"config_kwargs.{name}", "give that endpoint as endpoint_url")
    style = (config.get("s3") or {}).get("addressing_style", "")
    verify = service.get("verify", extra.get("verify"))
    proxies = config.get("proxies") or {}
    found = {
        "aws_region": extra.get("region_name") or session.get("region_name"),
        "aws_endpoint_url": service.get("endpoint_url") or extra.get("endpoint_url"),
        "aws_virtual_hosted_style_request": {"virtual": "true", "path": "false"}.get(style),
        "aws_allow_invalid_certificates": "true" if verify is False else None,
        "aws_ca_bundle": verify if isinstance(verify, str) else None,
        "aws_proxy_url": proxies.get("https") or proxies.get("http"),
    }
    if config.get("signature_version") == "unsigned":
        return _texts({**found, "aws_skip_signature": "true"})
    by_provider = [name for name in _OF_AMAZONS_PROVIDER if extra.get(name) or session.get(name)]
    if by_provider:
        return _texts({**found, **_amazons_session(connection, by_provider[0])})
    pairs: list[tuple[Any, Any]] = [(connection.login, connection.password)]
    pairs += [(one.get("aws_access_key_id"), one.get("aws_secret_access_key")) for one in (extra, session)]
    key, secret = next((pair for pair in pairs if all(pair)), (None, None))
    if not key and any(map(any, pairs)):
        raise _unserved(connection, "one half of a key alone", "give access key and secret key, or none of them")
    token = extra.get("aws_session_token") or session.get("aws_session_token")
    if token and not key:
        raise _unserved(connection, "a session token without its key", "give access key and secret key with it")
    keys = {"aws_access_key_id": key, "aws_secret_access_key": secret, "aws_session_token": token}
    return _texts({**found, **keys})


_OF_AMAZONS_PROVIDER: Final = ("role_arn", "profile_name", "s3_config_file")
"""What Amazon's provider makes a session of."""


def _amazons_session(connection: Connection, asked: str) -> dict[str, Any]:
    """The credentials that Amazon's provider has for the connection; they end with its session."""
    try:
        hooks = import_module(_AMAZON)
    except ImportError:
        raise _unserved(
            connection, f"{asked} without apache-airflow-providers-amazon", "install it, or give the keys of a session"
        ) from None
    hook = hooks.AwsBaseHook(aws_conn_id=connection.conn_id, client_type="s3")
    credentials = hook.get_credentials()
    return {
        "aws_access_key_id": credentials.access_key,
        "aws_secret_access_key": credentials.secret_key,
        "aws_session_token": credentials.token,
    }


def _of_google(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    if extra.get("is_anonymous"):
        return {"google_skip_signature": "true"}
    by_provider = [name for name in _OF_GOOGLES_PROVIDER if extra.get(name)]
    if by_provider:
        return {"google_bearer_token": _googles_token(connection, by_provider[0])}
    path, key = extra.get("key_path"), extra.get("keyfile_dict")
    if path and key:
        raise _unserved(connection, "key_path beside keyfile_dict", "give one of the two")
    if path and str(path).endswith(".p12"):
        raise _unserved(connection, "a key file of the form P12", "give one of JSON")
    return _texts({"google_service_account": path, "google_service_account_key": key})


_OF_GOOGLES_PROVIDER: Final = (*("impersonation_chain", "credential_config_file", "key_secret_name", "idp_issuer_url"),)
"""What Google's provider gets a token by."""


def _googles_token(connection: Connection, asked: str) -> str:
    """A token that Google's provider has for the connection, which ends an hour later."""
    try:
        hooks, transport = import_module(_GOOGLE), import_module(_GOOGLE_TRANSPORT)
    except ImportError:
        raise _unserved(
            connection, f"{asked} without apache-airflow-providers-google", "install it, or give the key of an account"
        ) from None
    credentials = hooks.GoogleBaseHook(gcp_conn_id=connection.conn_id).get_credentials()
    credentials.refresh(transport.Request())
    return str(credentials.token)


def _of_wasb(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    if extra.get("connection_string"):
        return _texts({"azure_storage_connection_string": extra["connection_string"]})
    sas = str(extra.get("sas_token") or "")
    of_sas, _, query = sas.partition("?") if sas.startswith("https://") else ("", "", sas.lstrip("?"))
    tenant = extra.get("tenant_id")
    # behind a tenant the login is an application, else it names the account
    found = _account(connection.host or of_sas or ("" if tenant else connection.login or ""))
    if tenant:
        return _texts({**found, **_application(connection, extra, tenant)})
    key = extra.get("shared_access_key")
    if not key and sas:
        return _texts({**found, "azure_storage_sas_token": query})
    key = key or connection.password or extra.get("account_key")
    return _texts({**found, **({"azure_storage_account_key": key} if key else _identity(extra))})


def _of_adls(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    if extra.get("connection_string"):
        return _texts({"azure_storage_connection_string": extra["connection_string"]})
    found = _account(str(extra.get("account_url") or connection.host or ""))
    if extra.get("tenant_id"):
        return _texts({**found, **_application(connection, extra, extra["tenant_id"])})
    key = connection.password
    return _texts({**found, **({"azure_storage_account_key": key} if key else _identity(extra))})


def _account(place: str) -> dict[str, Any]:
    """The account of its URL, its host or its name; an address outside of Azure's public cloud is its endpoint.

    The endpoint is that of blobs, also where the URL names that of ADLS.
    """
    text = place.rstrip("/")
    parts = urlsplit(text if "://" in text else f"https://{text}")
    host = (parts.hostname or "").replace(".dfs.", ".blob.", 1)
    if not host:
        return {}
    name = host.partition(".")[0]
    if ("." not in host and "://" not in text) or host == f"{name}.blob.core.windows.net":
        return {"azure_storage_account_name": name}
    if ".blob." in host:
        return {"azure_storage_account_name": name, "azure_storage_endpoint": f"{parts.scheme}://{host}"}
    # a server that has accounts in its paths, as Azurite
    in_path = parts.path.strip("/").partition("/")[0]
    return {"azure_storage_account_name": in_path or name, "azure_storage_endpoint": text}


def _application(connection: Connection, extra: Mapping[str, Any], tenant: Any) -> dict[str, Any]:
    return {
        "azure_client_id": connection.login,
        "azure_client_secret": connection.password,
        "azure_tenant_id": tenant,
        "azure_authority_host": (extra.get("client_secret_auth_config") or {}).get("authority"),
    }


def _identity(extra: Mapping[str, Any]) -> dict[str, Any]:
    """A managed identity, or a workload's where the pod has a token for it; nothing for that of the environment."""
    client, tenant = extra.get("managed_identity_client_id"), extra.get("workload_identity_tenant_id")
    token = os.environ.get("AZURE_FEDERATED_TOKEN_FILE")
    if not client:
        return {}
    if tenant and token:
        return {"azure_client_id": client, "azure_tenant_id": tenant, "azure_federated_token_file": token}
    return {"azure_client_id": client}


def _of_hdfs(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    user = connection.login or extra.get("proxy_user")
    if user and user != os.environ.get("HADOOP_USER_NAME"):
        raise _unserved(
            connection, f"the user {user}", "set HADOOP_USER_NAME for Airflow's processes: it is read there alone"
        )
    place = f"hdfs://{connection.host}" + (f":{connection.port}" if connection.port else "") if connection.host else ""
    settings = {name: value for name, value in extra.items() if name.startswith(("dfs.", "hadoop.", "fs."))}
    return _texts({"fs.defaultFS": place, **settings})


def _of_webhdfs(connection: Connection, extra: Mapping[str, Any]) -> dict[str, str]:
    raise _unserved(connection, "the protocol of WebHDFS", "give a connection of type hdfs, to the port of RPC")


_READERS: Final[Mapping[str, Callable[[Connection, Mapping[str, Any]], dict[str, str]]]] = {
    "aws": _of_aws,
    "google_cloud_platform": _of_google,
    "wasb": _of_wasb,
    "adls": _of_adls,
    "hdfs": _of_hdfs,
    "webhdfs": _of_webhdfs,
}


def _extra(connection: Connection) -> dict[str, Any]:
    """The extra of a connection, by the short names of its fields; forms of Airflow 2 wrote longer ones."""
    prefix = f"extra__{connection.conn_type}__"
    given = connection.extra_dejson
    longer = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    return {**longer, **{name: value for name, value in given.items() if not name.startswith(prefix)}}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: json.dumps(value) if isinstance(value, dict) else str(value)
        for name, value in values.items()
        if value is not None and value != ""
    }


def _unserved(connection: Connection, what: str, todo: str) -> StorageConnectionError:
    return StorageConnectionError(f"connection {connection.conn_id} has {what}, which is not served: {todo}")
