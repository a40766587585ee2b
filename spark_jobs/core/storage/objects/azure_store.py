"""A client of one container of Azure Blob Storage or ADLS Gen2, by the protocol of blobs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from obstore.store import AzureStore, ObjectStore

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.azure_names import AZURE, Container, account_at, of_environment
from spark_jobs.core.storage.objects.endpoints import allow_http, refuse_no_url
from spark_jobs.core.storage.objects.options import is_anonymous, says_yes

if TYPE_CHECKING:
    from obstore.store import RetryConfig

_WAYS: Final[Mapping[str, str]] = {
    "token": "bearer_token",
    "account_key": "access_key",
    "federated_token_file": "workload_identity",
    "client_secret": "client_secret",
    "sas_key": "sas_token",
    "use_azure_cli": "azure_cli",
    "client_id": "managed_identity",
    "object_id": "managed_identity",
    "msi_resource_id": "managed_identity",
}
"""By what was given to obstore's name of the way to authenticate; the first counts."""
_OF_AN_APPLICATION: Final = ("client_id", "tenant_id")
"""Without which a client secret, or the token of a workload, is none."""
_OF_THE_ACCOUNT: Final = ("account_key", "sas_key")


def new_azure_store(url: str, service: dict[str, str], client: dict[str, Any], retries: RetryConfig) -> ObjectStore:
    """
    :param url: of the container.
    :raises ConfigError: there is no account, or a setting has a value that it can't have.
    """
    place = Container.of(url.partition("://")[2])
    account = service["account_name"] = _account(url, place, service)
    endpoint = service.pop("endpoint", "") or of_environment("STORAGE_ENDPOINT", "ENDPOINT") or place.endpoint
    if endpoint:
        refuse_no_url(endpoint, url)
        if account_at(endpoint) not in ("", account):
            raise ConfigError(
                f"the endpoint that {url} would be opened at is one of the account {account_at(endpoint)}",
                todo=f"give one of {account}, or none: by options, AZURE_STORAGE_ENDPOINT or AZURE_ENDPOINT",
            )
        allow_http(client, endpoint)
        service["endpoint"] = endpoint.rstrip("/")
    elif _uses_emulator(service):
        client.setdefault("allow_http", True)
    return AzureStore(
        place.name,
        config={**service, **_way(url, service)},  # type: ignore[arg-type]
        client_options=client,  # type: ignore[arg-type]
        retry_config=retries,
    )


def _account(url: str, place: Container, service: Mapping[str, str]) -> str:
    """That of the URL, of the options, of the environment.

    :raises ConfigError: there is none; or the key or SAS token that was given is another's.
    """
    given = service.get("account_name", "")
    if place.account and given and given != place.account:
        of_given = next((name for name in _OF_THE_ACCOUNT if name in service), None)
        if of_given is not None:
            raise ConfigError(
                f"the {of_given} that {url} would be opened with is one of the account {given}",
                todo=f"give one of {place.account}, with azure_storage_account_name={place.account}",
            )
    account = place.account or given or of_environment("STORAGE_ACCOUNT_NAME")
    if account:
        return account
    if _uses_emulator(service):
        return "devstoreaccount1"
    raise ConfigError(
        f"{url} names no storage account",
        todo="give azure_storage_account_name, or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/...",
    )


def _way(url: str, service: Mapping[str, str]) -> dict[str, str]:
    """What makes obstore authenticate by what was given alone: it would take what the environment has beside that, as
    a key before a SAS token.

    :raises ConfigError: a part of what is given is missing.
    """
    given = [name for name in AZURE.credentials if service.get(name)]
    if not given or is_anonymous(service):
        return {}
    name = next((one for one in _WAYS if one in given), "")
    if name in ("client_secret", "federated_token_file"):
        missing = [one for one in _OF_AN_APPLICATION if one not in given]
        if missing:
            raise ConfigError(
                f"the {name} of {url} is given without its {' and '.join(missing)}",
                todo="give " + " and ".join(f"azure_{one}" for one in missing),
            )
    way = service.get("credential_type") or _WAYS.get(name, "")
    return {"skip_signature": "false", **({"credential_type": way} if way else {})}


def _uses_emulator(service: Mapping[str, str]) -> bool:
    return says_yes(service.get("use_emulator") or of_environment("STORAGE_USE_EMULATOR"))
