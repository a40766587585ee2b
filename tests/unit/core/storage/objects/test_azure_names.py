"""Each user's names of Azure's settings come to one meaning, as a table of examples."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.azure_names import AZURE, Container
from spark_jobs.core.storage.objects.options import StoreOptions

pytestmark = pytest.mark.unit
URL = "abfss://lake@acc.dfs.core.windows.net"
KEY = {"account_name": "acc", "account_key": "K=="}
CLIENT = {"client_id": "C", "client_secret": "S", "tenant_id": "T"}
OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2"
HOST = "acc.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("given", "service"),
    [
        (KEY, KEY),
        ({f"azure_storage_{name}": value for name, value in KEY.items()}, KEY),
        ({f"AZURE_STORAGE_{name.upper()}": value for name, value in KEY.items()}, KEY),
        ({"azure_storage_access_key": "K=="}, {"account_key": "K=="}),
        ({"adls.account-name": "acc", "adls.account-key": "K=="}, KEY),
        ({"AZURE_STORAGE_SAS_TOKEN": "sig=s"}, {"sas_key": "sig=s"}),
        ({"sas_token": "sig=s"}, {"sas_key": "sig=s"}),
        ({"adls.sas-token": "sig=s"}, {"sas_key": "sig=s"}),
        ({f"azure_{name}": value for name, value in CLIENT.items()}, CLIENT),
        ({f"azure_storage_{name}": value for name, value in CLIENT.items()}, CLIENT),
        ({"adls.client-id": "C", "adls.client-secret": "S", "adls.tenant-id": "T"}, CLIENT),
        ({"anon": "true"}, {"skip_signature": "true"}),
        ({"azure_endpoint": "https://x"}, {"endpoint": "https://x"}),
        ({"account_key": " "}, {}),
    ],
)
def test_the_service(given: dict[str, str], service: dict[str, str]) -> None:
    assert AZURE.resolve([given], URL) == StoreOptions(service=service, client={})


@pytest.mark.parametrize(
    ("text", "service"),
    [
        ("DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=K==;EndpointSuffix=core.windows.net", KEY),
        (
            "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=K==;EndpointSuffix=core.chinacloudapi.cn",
            {**KEY, "endpoint": "https://acc.blob.core.chinacloudapi.cn"},
        ),
        (
            "AccountName=acc;AccountKey=K==;BlobEndpoint=http://127.0.0.1:1/acc;",
            {**KEY, "endpoint": "http://127.0.0.1:1/acc"},
        ),
        (
            "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sv=1&sig=s%3D",
            {"endpoint": "https://acc.blob.core.windows.net/", "sas_key": "sv=1&sig=s%3D", "account_name": "acc"},
        ),
        (
            "BlobEndpoint=https://acc-secondary.blob.core.windows.net/;SharedAccessSignature=sig=s",
            {
                "endpoint": "https://acc-secondary.blob.core.windows.net/",
                "sas_key": "sig=s",
                "account_name": "acc",
            },
        ),
        ("UseDevelopmentStorage=true", {"use_emulator": "true"}),
    ],
)
@pytest.mark.parametrize("name", ["connection_string", "AZURE_STORAGE_CONNECTION_STRING", "adls.connection-string"])
def test_connection_strings(name: str, text: str, service: dict[str, str]) -> None:
    assert AZURE.resolve([{name: text}], URL).service == service


def test_what_is_no_connection_string_is_refused_and_not_shown() -> None:
    with pytest.raises(ConfigError, match="the connection string names no account of Azure") as error:
        AZURE.resolve([{"connection_string": "hush"}], URL)
    assert "hush" not in str(error.value)


@pytest.mark.parametrize(
    ("given", "service"),
    [
        ({f"fs.azure.account.key.{HOST}": "K"}, {"account_key": "K"}),
        ({"fs.azure.account.key.acc.blob.core.windows.net": "K"}, {"account_key": "K"}),
        ({"spark.hadoop.fs.azure.account.key": "of all", f"fs.azure.account.key.{HOST}": "K"}, {"account_key": "K"}),
        ({"fs.azure.account.key.another.dfs.core.windows.net": "K"}, {}),
        ({"fs.azure.sas.lake.acc.blob.core.windows.net": "sig=s"}, {"sas_key": "sig=s"}),
        ({"fs.azure.sas.other.acc.blob.core.windows.net": "sig=s"}, {}),
        (
            {f"fs.azure.account.auth.type.{HOST}": "SAS", f"fs.azure.sas.fixed.token.{HOST}": "sig=s"},
            {"sas_key": "sig=s"},
        ),
        (
            {
                f"spark.hadoop.fs.azure.account.auth.type.{HOST}": "OAuth",
                f"spark.hadoop.fs.azure.account.oauth.provider.type.{HOST}": f"{OAUTH}.ClientCredsTokenProvider",
                f"spark.hadoop.fs.azure.account.oauth2.client.id.{HOST}": "C",
                f"spark.hadoop.fs.azure.account.oauth2.client.secret.{HOST}": "S",
                f"spark.hadoop.fs.azure.account.oauth2.client.endpoint.{HOST}": "https://login.x.com/T/oauth2/token",
                f"spark.hadoop.fs.azure.account.key.{HOST}": "not taken",
            },
            {**CLIENT, "authority_host": "https://login.x.com"},
        ),
        (
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{OAUTH}.MsiTokenProvider",
                "fs.azure.account.oauth2.client.id": "C",
            },
            {"client_id": "C", "credential_type": "managed_identity"},
        ),
        (
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{OAUTH}.WorkloadIdentityTokenProvider",
                "fs.azure.account.oauth2.client.id": "C",
                "fs.azure.account.oauth2.msi.tenant": "T",
                "fs.azure.account.oauth2.token.file": "/token",
            },
            {"client_id": "C", "tenant_id": "T", "federated_token_file": "/token"},
        ),
        ({"fs.azure.encryption.encoded.client-provided-key": "E"}, {"encryption_key": "E"}),
    ],
)
def test_hadoops(given: dict[str, str], service: dict[str, str]) -> None:
    assert AZURE.resolve([given], URL).service == service
    assert all(AZURE.knows(name) for name in given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fs.azure.account.auth.type": "Custom"}, "fs.azure.account.auth.type=custom is not served"),
        ({"fs.azure.account.auth.type": "SAS"}, "SAS without fs.azure.sas.fixed.token is not served"),
        (
            {
                f"fs.azure.account.keyprovider.{HOST}": "azurebfs.services.ShellDecryptionKeyProvider",
                f"fs.azure.account.key.{HOST}": "K",
            },
            "keyprovider=azurebfs.services.ShellDecryptionKeyProvider is not served",
        ),
        (
            {
                "fs.azure.account.auth.type": "OAuth",
                "fs.azure.account.oauth.provider.type": f"{OAUTH}.UserPasswordTokenProvider",
            },
            "provider.type=UserPasswordTokenProvider is not served",
        ),
    ],
)
def test_ways_that_are_not_served_are_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        AZURE.resolve([given], URL)


def test_hadoops_of_one_account_count_where_options_name_that_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    of_spark = {f"fs.azure.account.key.{HOST}": "K"}
    assert AZURE.resolve([of_spark], "az://lake").service == {}
    for sources in ([{**of_spark, "azure_storage_account_name": "acc"}], [{"adls.account-name": "acc"}, of_spark]):
        assert AZURE.resolve(sources, "az://lake").service == {"account_name": "acc", "account_key": "K"}
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "acc")
    assert AZURE.resolve([of_spark], "az://lake").service == {"account_key": "K"}


def test_a_key_is_not_used_with_the_token_of_another() -> None:
    of_spark = {f"fs.azure.account.key.{HOST}": "K"}
    assert AZURE.resolve([of_spark, {"sas_token": "sig=s"}], URL).service == {"sas_key": "sig=s"}
    assert AZURE.resolve([{"azure_client_secret": "S", "endpoint": "e"}, of_spark], URL).service == {
        "account_key": "K",
        "endpoint": "e",
    }
    assert AZURE.resolve([CLIENT, {"connection_string": "AccountName=acc;AccountKey=K=="}], URL).service == KEY


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(AZURE.resolve([{"account_key": "hush", "proxy_url": "http://u:hush@p"}], URL))


@pytest.mark.parametrize(
    ("authority", "container"),
    [
        ("lake", ("lake", "", "")),
        ("lake@acc.dfs.core.windows.net", ("lake", "acc", "")),
        ("lake@acc.blob.core.windows.net", ("lake", "acc", "")),
        ("lake@acc.z12.dfs.storage.azure.net", ("lake", "acc", "https://acc.z12.blob.storage.azure.net")),
        ("lake@acc.dfs.core.usgovcloudapi.net", ("lake", "acc", "https://acc.blob.core.usgovcloudapi.net")),
        ("ws@onelake.dfs.fabric.microsoft.com", ("ws", "onelake", "https://onelake.blob.fabric.microsoft.com")),
    ],
)
def test_what_a_url_names(authority: str, container: tuple[str, str, str]) -> None:
    found = Container.of(authority)
    assert (found.name, found.account, found.endpoint) == container


@pytest.mark.parametrize("authority", ["lake@acc", "@acc.dfs.core.windows.net", "lake@acc.file.core.windows.net"])
def test_what_names_no_container(authority: str) -> None:
    with pytest.raises(ConfigError, match="names no container of a storage account"):
        Container.of(authority)
