"""How Azure Blob Storage and ADLS Gen2 are reached, by the names that users have for it: those of Azure's environment
and delta-rs (``azure_storage_account_key``), of adlfs (``account_key``), of PyIceberg (``adls.account-key``), and
Hadoop's (``fs.azure.account.key.ACCOUNT.dfs.core.windows.net``).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.options import Names

_CREDENTIALS: Final = frozenset(
    {
        *("account_key", "sas_key", "token", "client_id", "client_secret", "tenant_id", "federated_token_file"),
        *("object_id", "msi_resource_id", "use_azure_cli", "skip_signature", "credential_type"),
    }
)
_OWN: Final = frozenset(
    {
        *_CREDENTIALS,
        *("account_name", "endpoint", "authority_host", "msi_endpoint", "encryption_key", "use_emulator"),
    }
)
_CONNECTION: Final = "connection_string"
_SYNONYMS: Final[Mapping[str, str]] = {
    "anon": "skip_signature",
    "authority_id": "tenant_id",
    "bearer_token": "token",
    "identity_endpoint": "msi_endpoint",
    "sas_token": "sas_key",
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "azure_storage_access_key": "account_key",
    "azure_storage_master_key": "account_key",
    "adls.account-key": "account_key",
    "adls.account-name": "account_name",
    "adls.anon": "skip_signature",
    "adls.client-id": "client_id",
    "adls.client-secret": "client_secret",
    "adls.connection-string": _CONNECTION,
    "adls.sas-token": "sas_key",
    "adls.tenant-id": "tenant_id",
    "adls.token": "token",
}
"""Two of Azure's variables, and the names of PyIceberg."""
_IN_CONNECTION: Final[Mapping[str, str]] = {
    "accountname": "account_name",
    "accountkey": "account_key",
    "sharedaccesssignature": "sas_key",
    "blobendpoint": "endpoint",
    "usedevelopmentstorage": "use_emulator",
}
_HOST: Final = re.compile(r"(?P<account>[^.]+)(?P<zone>(?:\.z\d+)?)\.(?:dfs|blob)\.(?P<rest>.+)")
_OF_AZURE: Final = "core.windows.net"
_SAS: Final = "fs.azure.sas."
_PLAIN_KEYS: Final = ("", "SimpleKeyProvider")
"""Hadoop's class for keys that stand in the settings as they are."""
_IN_HADOOP: Final = (
    "fs.azure.account.auth.type",
    "fs.azure.account.key",
    "fs.azure.account.keyprovider",
    "fs.azure.account.oauth.provider.type",
    "fs.azure.account.oauth2.client.endpoint",
    "fs.azure.account.oauth2.client.id",
    "fs.azure.account.oauth2.client.secret",
    "fs.azure.account.oauth2.msi.endpoint",
    "fs.azure.account.oauth2.msi.tenant",
    "fs.azure.account.oauth2.token.file",
    "fs.azure.encryption.encoded.client-provided-key",
    "fs.azure.sas.fixed.token",
)
"""Of all accounts, or with a host behind it of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """What the authority of a URL names; ``account`` and ``endpoint`` are empty where it names none: the account of the
    options, and its endpoint at Azure.
    """

    name: str
    account: str
    endpoint: str

    @staticmethod
    def of(authority: str) -> Container:
        """
        :param authority: ``container``, or ``container@account.dfs.core.windows.net``, of other clouds too.
        :raises ConfigError: the host names no account.
        """
        name, _, host = authority.partition("@")
        if not host:
            return Container(name=name, account="", endpoint="")
        found = _HOST.fullmatch(host.partition(":")[0])
        if found is None or not name:
            raise ConfigError(
                f"{authority} names no container of a storage account",
                todo=f"give CONTAINER@ACCOUNT.dfs.{_OF_AZURE}, or CONTAINER and azure_storage_account_name",
            )
        account, zone, rest = found["account"], found["zone"], found["rest"]
        endpoint = "" if rest == _OF_AZURE and not zone else f"https://{account}{zone}.blob.{rest}"
        return Container(name=name, account=account, endpoint=endpoint)


def _is_hadoops(key: str) -> bool:
    if any(key == name or key.startswith(f"{name}.") for name in _IN_HADOOP):
        return True
    return key.startswith(_SAS) and _HOST.fullmatch(key.removeprefix(_SAS).partition(".")[2]) is not None


def account_at(endpoint: str) -> str:
    """The account whose blobs a host serves; empty for the hosts of emulators, gateways and private links."""
    found = _HOST.fullmatch(urlsplit(endpoint).hostname or "")
    return "" if found is None else found["account"].removesuffix("-secondary")


def of_environment(*names: str) -> str:
    """The first of Azure's variables that is there, by what follows ``AZURE_``."""
    return next(filter(None, (os.environ.get(f"AZURE_{name}", "") for name in names)), "")


def _of_hadoop(given: Mapping[str, str], authority: str, others: Mapping[str, str]) -> dict[str, str]:
    """Hadoop's settings of an account over those of all; the way to authenticate is the one that they name.

    :raises ConfigError: a way that is not served.
    """
    place = Container.of(authority)
    account = place.account or others.get("account_name") or of_environment("STORAGE_ACCOUNT_NAME")
    values: dict[str, str] = {}
    for name in _IN_HADOOP:
        of_account = (value for key, value in given.items() if key.startswith(f"{name}.{account}."))
        values[name] = (next(of_account, "") if account else "") or given.get(name, "")
    of_container = (value for key, value in given.items() if key.startswith(f"{_SAS}{place.name}.{account}."))
    sas = values["fs.azure.sas.fixed.token"] or (next(of_container, "") if account else "")
    way = values["fs.azure.account.auth.type"].lower()
    if way == "oauth":
        found = _of_oauth(values)
    elif way == "sas":
        if not sas:
            raise _unserved("fs.azure.account.auth.type=SAS without fs.azure.sas.fixed.token")
        found = {"sas_key": sas}
    elif way in ("", "sharedkey"):
        key, provider = values["fs.azure.account.key"], values["fs.azure.account.keyprovider"]
        if provider.rpartition(".")[2] not in _PLAIN_KEYS:
            raise _unserved(f"fs.azure.account.keyprovider={provider}")
        found = {"account_key": key} if key else {"sas_key": sas} if sas else {}
    else:
        raise _unserved(f"fs.azure.account.auth.type={way}")
    encryption = values["fs.azure.encryption.encoded.client-provided-key"]
    return {**found, **({"encryption_key": encryption} if encryption else {})}


def _of_oauth(values: Mapping[str, str]) -> dict[str, str]:
    provider = values["fs.azure.account.oauth.provider.type"].rpartition(".")[2]
    endpoint = urlsplit(values["fs.azure.account.oauth2.client.endpoint"])
    found = {
        "client_id": values["fs.azure.account.oauth2.client.id"],
        "tenant_id": values["fs.azure.account.oauth2.msi.tenant"] or endpoint.path.strip("/").partition("/")[0],
        "authority_host": f"{endpoint.scheme}://{endpoint.netloc}" if endpoint.netloc else "",
    }
    if provider == "ClientCredsTokenProvider":
        found["client_secret"] = values["fs.azure.account.oauth2.client.secret"]
    elif provider == "WorkloadIdentityTokenProvider":
        found["federated_token_file"] = values["fs.azure.account.oauth2.token.file"]
    elif provider == "MsiTokenProvider":
        found |= {"credential_type": "managed_identity", "msi_endpoint": values["fs.azure.account.oauth2.msi.endpoint"]}
    else:
        raise _unserved(f"fs.azure.account.oauth.provider.type={provider}")
    return {name: value for name, value in found.items() if value}


def _unserved(what: str) -> ConfigError:
    return ConfigError(
        f"{what} is not served",
        todo="give a key, a SAS token, or OAuth of a client, a workload or a managed identity",
    )


def _completed(given: Mapping[str, str]) -> dict[str, str]:
    """With what a connection string says, below what is said beside it, and with the account that an endpoint names.

    :raises ConfigError: it is none.
    """
    own = {name: value for name, value in given.items() if name != _CONNECTION}
    text = given.get(_CONNECTION)
    found = own if text is None else {**_of_connection(text), **own}
    account = account_at(found.get("endpoint", ""))
    return {**({"account_name": account} if account else {}), **found}


def _of_connection(text: str) -> dict[str, str]:
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    words = {name.strip().lower(): value.strip() for name, value in parts.items()}
    found = {name: words[word] for word, name in _IN_CONNECTION.items() if words.get(word)}
    if not found:
        raise ConfigError("the connection string names no account of Azure", todo="give it as Azure's portal shows it")
    scheme, suffix = words.get("defaultendpointsprotocol", "https"), words.get("endpointsuffix", _OF_AZURE)
    if "account_name" in found and (scheme, suffix) != ("https", _OF_AZURE):
        found.setdefault("endpoint", f"{scheme}://{found['account_name']}.blob.{suffix}")
    return found


AZURE: Final = Names(
    service="Azure",
    own=_OWN | {_CONNECTION},
    prefixes=("azure_storage_", "azure_"),
    synonyms=_SYNONYMS,
    elsewhere=_ELSEWHERE,
    credentials=_CREDENTIALS,
    is_hadoops=_is_hadoops,
    of_hadoop=_of_hadoop,
    completed=_completed,
)
