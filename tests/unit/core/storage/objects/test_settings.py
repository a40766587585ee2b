"""Settings of a store of objects that can't be: one line says which, and shows no secret."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from obstore.store import AzureStore, S3Store

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import LAKE
from spark_jobs.core.storage.objects.azure_store import new_azure_store
from spark_jobs.core.storage.objects.gcs_store import new_gcs_store
from spark_jobs.core.storage.objects.s3_credentials import credentials_of
from spark_jobs.core.storage.objects.s3_store import new_s3_store
from spark_jobs.core.storage.objects.schemes import SCHEMES

pytestmark = pytest.mark.unit
GIVEN = {
    "endpoint": "http://127.0.0.1:9",
    "region": "us-east-1",
    "access_key_id": "tests",
    "secret_access_key": "s3cr3t",
}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("region", "us\neast", "the region of s3://lake has a line break"),
        ("secret_access_key", "s3cr3t\x00", "the secret_access_key of s3://lake has a line break"),
        ("session_token", "s3cr3t\n2", "the session_token of s3://lake has a line break"),
        ("endpoint", "127.0.0.1:9", "the endpoint of s3://lake is no URL: '127.0.0.1:9'"),
        ("endpoint", "http://127.0.0.1:9/a b", "is no URL"),
        ("endpoint", "http://127.0.0.1:99999", "is no URL"),
        ("endpoint", "http://[::1", "is no URL"),
        ("endpoint", "ftp://user:s3cr3t@host", "is no URL: 'host'"),
        ("proxy_url", "http://user:s3cr3t@x y", "s3://lake can't be reached by these settings"),
        ("allow_http", "maybe", 'failed to parse "maybe" as boolean'),
        ("checksum_algorithm", "crc", '"crc" is not a valid checksum algorithm'),
        ("server_side_encryption", "aws:kmz", "Invalid encryption type: aws:kmz"),
    ],
)
def test_a_value_that_can_not_be(name: str, value: str, said: str) -> None:
    place = LAKE.reached_by({**GIVEN, name: value}).place("s3://lake/trips")
    with pytest.raises(ConfigError) as error:
        place.storage.list(place.path)
    assert said in str(error.value)
    assert "s3cr3t" not in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("missing", "token"), [("access_key_id", ""), ("secret_access_key", ""), ("secret_access_key", "t0k3n")]
)
def test_half_a_key_is_not_made_whole_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, missing: str, token: str
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another's")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another's")
    given = {name: value for name, value in {**GIVEN, "session_token": token}.items() if name != missing}
    place = LAKE.reached_by(given).place("s3://lake/trips")
    with pytest.raises(ConfigError, match=f"the key of s3://lake is given without its {missing}: give aws_{missing}"):
        place.storage.list(place.path)


@pytest.mark.parametrize(
    "given",
    [
        {"aws_role_arn": "arn:r", "aws_web_identity_token_file": "/t"},
        {"aws_container_credentials_full_uri": "http://127.0.0.1:9/c"},
    ],
)
def test_a_key_of_the_environment_is_not_taken_for_an_identity_that_is_given(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another's")
    place = LAKE.reached_by({"endpoint": GIVEN["endpoint"], **given}).place("s3://lake/trips")
    with pytest.raises(ConfigError, match="is given, and the environment has AWS_ACCESS_KEY_ID, too"):
        place.storage.list(place.path)


def test_a_profile_is_not_taken_for_an_identity_that_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files = tmp_path / "credentials"
    files.write_text("[default]\naws_access_key_id = A\naws_secret_access_key = S\n")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(files))
    monkeypatch.setattr("spark_jobs.core.storage.objects.s3_credentials.find_spec", lambda name: name)
    assert credentials_of("s3://lake", {"container_credentials_full_uri": "http://127.0.0.1:9/c"}) is None


def test_who_gives_a_key_or_a_token_is_not_anonymous_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    monkeypatch.setenv("GOOGLE_SKIP_SIGNATURE", "true")
    made = new_s3_store("s3://lake", dict(GIVEN), {}, {})
    assert made.config.get("skip_signature") == "false"
    token = new_gcs_store("gs://lake", {"bearer_token": "T"}, {}, {})
    assert token.config.get("skip_signature") == "false"


@pytest.mark.parametrize("given", [{"aws_role_arn": "arn:r"}, {"aws_profile": "lake"}])
def test_roles_and_profiles_need_boto3(monkeypatch: pytest.MonkeyPatch, given: dict[str, str]) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.delenv("AWS_WEB_IDENTITY_TOKEN_FILE", raising=False)
    place = LAKE.reached_by({"endpoint": GIVEN["endpoint"], **given}).place("s3://lake/trips")
    with pytest.raises(ConfigError, match=r"needs the package boto3: pip install 'pyhudi\[aws\]'"):
        place.storage.list(place.path)


AZURE = {"azure_storage_account_name": "acc"}
OTHERS = "abfss://lake@other.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("url", "given", "said"),
    [
        ("az://lake", {}, "az://lake names no storage account: give azure_storage_account_name"),
        (
            "az://lake",
            {**AZURE, "account_key": "s3cr3t!"},
            "can't be reached by these settings (Generic MicrosoftAzure",
        ),
        ("az://lake", {**AZURE, "sas_token": "s3cr3t"}, "Missing component in SAS query pair"),
        ("az://lake", {**AZURE, "client_id": "c", "client_secret": "s3cr3t"}, "is given without its tenant_id"),
        ("az://lake", {**AZURE, "azure_federated_token_file": "/t"}, "without its client_id and tenant_id"),
        ("az://lake", {**AZURE, "azure_endpoint": "http://u:s3cr3t@x y"}, "the endpoint of az://lake is no URL: 'x y'"),
        ("az://lake", {**AZURE, "azure_encryption_key": "s3cr3t"}, "Invalid encryption key"),
        (OTHERS, {**AZURE, "account_key": "s3cr3t"}, "the account_key that abfss://lake@other.dfs.core.windows.net"),
        (OTHERS, {**AZURE, "sas_token": "sig=s3cr3t"}, "would be opened with is one of the account acc"),
        (
            OTHERS,
            {"connection_string": "BlobEndpoint=https://acc.blob.core.windows.net/;SharedAccessSignature=sig=s3cr3t"},
            "would be opened with is one of the account acc",
        ),
        (
            OTHERS,
            {"azure_endpoint": "https://acc.blob.core.windows.net", "client_id": "c"},
            "would be opened at is one of the account acc: give one of other",
        ),
        ("abfss://lake@acc.file.core.windows.net", {}, "names no container of a storage account"),
        ("gs://lake", {"google_service_account": "/none.json"}, "Unable to open service account file from /none.json"),
        ("gs://lake", {"google_service_account_key": '{"private_key": "s3cr3t"}'}, "missing field `private_key_id`"),
        ("gs://lake", {"google_base_url": "ftp://u:s3cr3t@h"}, "the endpoint of gs://lake is no URL: 'h'"),
    ],
)
def test_a_setting_of_azure_or_gcs_that_can_not_be(
    monkeypatch: pytest.MonkeyPatch, url: str, given: dict[str, str], said: str
) -> None:
    without_environment(monkeypatch)
    place = LAKE.reached_by(given).place(f"{url}/trips")
    with pytest.raises(ConfigError) as error:
        place.storage.list(place.path)
    assert said in str(error.value)
    assert "s3cr3t" not in str(error.value)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("given", "variables", "way"),
    [
        ({"sas_token": "sig=s"}, {"ACCOUNT_KEY": "Sw=="}, "sas_token"),
        ({"account_key": "Sw=="}, {"TOKEN": "T", "SAS_KEY": "sig=s"}, "access_key"),
        ({"token": "T"}, {"ACCOUNT_KEY": "Sw=="}, "bearer_token"),
        ({"client_id": "c", "client_secret": "s", "tenant_id": "t"}, {"ACCOUNT_KEY": "Sw=="}, "client_secret"),
        ({"azure_use_azure_cli": "true"}, {"ACCOUNT_KEY": "Sw=="}, "azure_cli"),
        ({"client_id": "c"}, {"ACCOUNT_KEY": "Sw==", "CLIENT_SECRET": "s"}, "managed_identity"),
        ({"azure_credential_type": "managed_identity"}, {"ACCOUNT_KEY": "Sw=="}, "managed_identity"),
        ({}, {"ACCOUNT_KEY": "Sw=="}, None),
    ],
)
def test_credentials_of_the_environment_are_not_mixed_with_those_given(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], variables: dict[str, str], way: str | None
) -> None:
    without_environment(monkeypatch)
    for name, value in variables.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    service = dict(SCHEMES["az"].resolve([{**AZURE, **given}], "az://lake").service)
    made = new_azure_store("az://lake", service, {}, {})
    assert isinstance(made, AzureStore)
    assert made.config.get("credential_type") == way


@pytest.mark.parametrize(
    ("url", "given", "account", "endpoint"),
    [
        ("az://lake", AZURE, "acc", None),
        ("az://lake", {}, "environments", None),
        ("abfss://lake@other.dfs.core.windows.net", AZURE, "other", None),
        ("wasbs://lake@other.blob.core.chinacloudapi.cn", {}, "other", "https://other.blob.core.chinacloudapi.cn"),
        ("abfss://lake@other.dfs.core.chinacloudapi.cn", {"azure_endpoint": "https://x/"}, "other", "https://x"),
        ("az://lake", {"azure_use_emulator": "true"}, "environments", None),
    ],
)
def test_the_account_is_that_of_the_url_of_the_options_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, url: str, given: dict[str, str], account: str, endpoint: str | None
) -> None:
    without_environment(monkeypatch)
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "environments")
    made = new_azure_store(url, dict(SCHEMES["az"].resolve([given], url).service), {}, {})
    assert isinstance(made, AzureStore)
    assert (made.config.get("account_name"), made.config.get("endpoint")) == (account, endpoint)


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ("google_service_account", "GOOGLE_SERVICE_ACCOUNT_KEY"),
        ("google_service_account", "GOOGLE_BEARER_TOKEN"),
        ("google_application_credentials", "GOOGLE_SERVICE_ACCOUNT"),
    ],
)
def test_of_gcs_they_are_refused(monkeypatch: pytest.MonkeyPatch, given: str, variable: str) -> None:
    without_environment(monkeypatch)
    monkeypatch.setenv(variable, "s3cr3t")
    place = LAKE.reached_by({given: "/key.json"}).place("gs://lake/trips")
    with pytest.raises(ConfigError, match=f"is given, and the environment has {variable}, too: give one of the two"):
        place.storage.list(place.path)


def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in os.environ if one.startswith(("AZURE_", "GOOGLE_", "SERVICE_ACCOUNT"))]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"])
def test_an_endpoint_of_the_environment_may_be_without_tls(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "http://minio:9000")
    store = new_s3_store("s3://bucket", {"region": "us-east-1"}, {}, {})
    assert isinstance(store, S3Store)
    assert store.config.get("endpoint") == "http://minio:9000"
    assert (store.client_options or {}).get("allow_http") == "true"
