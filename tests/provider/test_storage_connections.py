"""Which storage options each type of Airflow's connections comes to, and which are refused."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from airflow_provider_pyhudi import HudiCleanOperator
from airflow_provider_pyhudi.hooks import lake as lakes
from airflow_provider_pyhudi.hooks.lake import StorageAccess
from airflow_provider_pyhudi.hooks.storage import StorageConnectionError, options_of
from spark_jobs.core.storage.objects.schemes import SCHEMES

pytestmark = pytest.mark.provider
KEY = {"login": "AKIA", "password": "of-the-key"}
IN_OPTIONS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "of-the-key"}
SAS = "sv=2024&sig=a%2Fb"
PRIVATE = {"type": "service_account", "private_key": "-----BEGIN\nabc\n"}


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Any:
    def add(conn_id: str, kind: str, **fields: Any) -> str:
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps({"conn_type": kind, **fields}))
        return conn_id

    return add


@pytest.mark.parametrize(
    ("kind", "fields", "options"),
    [
        ("aws", {}, {}),
        ("aws", KEY, IN_OPTIONS),
        ("aws", {**KEY, "extra": {"aws_access_key_id": "x", "aws_secret_access_key": "y"}}, IN_OPTIONS),
        ("aws", {"extra": {**IN_OPTIONS, "aws_session_token": "T"}}, {**IN_OPTIONS, "aws_session_token": "T"}),
        ("aws", {"extra": {"session_kwargs": {**IN_OPTIONS, "region_name": "r"}}}, {**IN_OPTIONS, "aws_region": "r"}),
        (
            "aws",
            {"extra": {"region_name": "eu-west-1", "endpoint_url": "http://h:1", "verify": False}},
            {
                "aws_region": "eu-west-1",
                "aws_endpoint_url": "http://h:1",
                "aws_allow_invalid_certificates": "true",
            },
        ),
        (
            "aws",
            {
                "extra": {
                    "endpoint_url": "http://other",
                    "verify": "/ca.pem",
                    "service_config": {"s3": {"endpoint_url": "http://s3"}},
                    "config_kwargs": {"s3": {"addressing_style": "virtual"}, "proxies": {"https": "http://p:1"}},
                }
            },
            {
                "aws_endpoint_url": "http://s3",
                "aws_ca_bundle": "/ca.pem",
                "aws_virtual_hosted_style_request": "true",
                "aws_proxy_url": "http://p:1",
            },
        ),
        (
            "aws",
            {"extra": {"config_kwargs": {"signature_version": "unsigned"}, "role_arn": "r"}},
            {"aws_skip_signature": "true"},
        ),
        ("google_cloud_platform", {"extra": {"project": "p"}}, {}),
        ("google_cloud_platform", {"extra": {"key_path": "/k.json"}}, {"google_service_account": "/k.json"}),
        (
            "google_cloud_platform",
            {"extra": {"extra__google_cloud_platform__keyfile_dict": json.dumps(PRIVATE)}},
            {"google_service_account_key": json.dumps(PRIVATE)},
        ),
        (
            "google_cloud_platform",
            {"extra": {"keyfile_dict": PRIVATE}},
            {"google_service_account_key": json.dumps(PRIVATE)},
        ),
        (
            "google_cloud_platform",
            {"extra": {"is_anonymous": True, "impersonation_chain": "a"}},
            {"google_skip_signature": "true"},
        ),
        (
            "wasb",
            {"login": "acc", "password": "K=="},
            {"azure_storage_account_name": "acc", "azure_storage_account_key": "K=="},
        ),
        (
            "wasb",
            {"host": "https://acc.blob.core.windows.net/", "extra": {"extra__wasb__shared_access_key": "K"}},
            {"azure_storage_account_name": "acc", "azure_storage_account_key": "K"},
        ),
        (
            "wasb",
            {"login": "acc", "extra": {"sas_token": f"?{SAS}"}},
            {"azure_storage_account_name": "acc", "azure_storage_sas_token": SAS},
        ),
        (
            "wasb",
            {"extra": {"sas_token": f"https://acc.blob.core.windows.net/?{SAS}"}},
            {"azure_storage_account_name": "acc", "azure_storage_sas_token": SAS},
        ),
        (
            "wasb",
            {"login": "app", "password": "s", "host": "acc", "extra": {"tenant_id": "t"}},
            {
                "azure_storage_account_name": "acc",
                "azure_client_id": "app",
                "azure_client_secret": "s",
                "azure_tenant_id": "t",
            },
        ),
        (
            "wasb",
            {"login": "acc", "extra": {"connection_string": "AccountName=acc;AccountKey=K"}},
            {"azure_storage_connection_string": "AccountName=acc;AccountKey=K"},
        ),
        (
            "wasb",
            {"host": "http://127.0.0.1:10000/devstoreaccount1", "password": "K"},
            {
                "azure_storage_account_name": "devstoreaccount1",
                "azure_storage_endpoint": "http://127.0.0.1:10000/devstoreaccount1",
                "azure_storage_account_key": "K",
            },
        ),
        (
            "wasb",
            {"login": "acc", "extra": {"managed_identity_client_id": "m"}},
            {"azure_storage_account_name": "acc", "azure_client_id": "m"},
        ),
        (
            "adls",
            {"host": "acc", "password": "K"},
            {"azure_storage_account_name": "acc", "azure_storage_account_key": "K"},
        ),
        (
            "adls",
            {"login": "app", "password": "s", "extra": {"account_url": "https://acc.dfs.core.chinacloudapi.cn"}},
            {
                "azure_storage_account_name": "acc",
                "azure_storage_endpoint": "https://acc.blob.core.chinacloudapi.cn",
                "azure_storage_account_key": "s",
            },
        ),
        (
            "hdfs",
            {"host": "name", "port": 8020, "extra": {"dfs.replication": "1", "autoconfig": True}},
            {"fs.defaultFS": "hdfs://name:8020", "dfs.replication": "1"},
        ),
    ],
)
def test_what_a_connection_comes_to(connect: Any, kind: str, fields: dict[str, Any], options: dict[str, str]) -> None:
    assert options_of(connect("store", kind, **fields)) == options
    lakes.own_lake(options)  # each is known


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("aws", {"login": "AKIA"}, "one half of a key alone"),
        ("aws", {"extra": {"aws_session_token": "T"}}, "a session token without its key"),
        ("aws", {**KEY, "extra": {"role_arn": "arn:r"}}, "role_arn without apache-airflow-providers-amazon"),
        ("aws", {"extra": {"session_kwargs": {"profile_name": "p"}}}, "profile_name without"),
        ("aws", {"extra": {"config_kwargs": {"use_fips_endpoint": True}}}, "config_kwargs.use_fips_endpoint"),
        ("google_cloud_platform", {"extra": {"impersonation_chain": "a@b"}}, "impersonation_chain without"),
        ("google_cloud_platform", {"extra": {"key_path": "/k.p12"}}, "a key file of the form P12"),
        ("google_cloud_platform", {"extra": {"key_path": "/k", "keyfile_dict": "{}"}}, "key_path beside keyfile_dict"),
        ("hdfs", {"host": "name", "login": "somebody"}, "the user somebody"),
        ("webhdfs", {"host": "name"}, "the protocol of WebHDFS"),
        ("http", {"host": "name"}, "of the type http: give one of aws, google_cloud_platform, wasb, adls, hdfs"),
    ],
)
def test_what_would_be_another_identity_is_refused(
    connect: Any, monkeypatch: pytest.MonkeyPatch, kind: str, fields: dict[str, Any], said: str
) -> None:
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    with pytest.raises(StorageConnectionError, match=said) as found:
        options_of(connect("store", kind, **fields))
    assert "of-the-key" not in str(found.value)


def test_a_connection_that_is_not_there_is_named() -> None:
    with pytest.raises(StorageConnectionError, match="storage_conn_id=nowhere is no connection of this Airflow"):
        options_of("nowhere")


def test_a_role_is_assumed_by_amazons_provider(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hook:
        """Stands for AwsBaseHook, whose provider the tests' environment can't have beside Airflow's own pins."""

        def __init__(self, aws_conn_id: str, client_type: str) -> None:
            assert (aws_conn_id, client_type) == ("store", "s3")

        def get_credentials(self) -> SimpleNamespace:
            return SimpleNamespace(access_key="ASIA", secret_key="of-the-session", token="T")

    module = ModuleType("base_aws")
    module.AwsBaseHook = Hook  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "airflow.providers.amazon.aws.hooks.base_aws", module)
    connect("store", "aws", **KEY, extra={"role_arn": "arn:r", "region_name": "eu-west-1"})
    assert options_of("store") == {
        "aws_access_key_id": "ASIA",
        "aws_secret_access_key": "of-the-session",
        "aws_session_token": "T",
        "aws_region": "eu-west-1",
    }


def test_a_task_may_reach_its_storage_by_another_connection_than_its_lake(connect: Any) -> None:
    connect("keys", "aws", **KEY, extra={"region_name": "eu-west-1"})
    connect("machine", "aws")
    connect(
        "lake", "hudi", extra={"storage_conn_id": "keys", "storage_options": {"s3.region": "r", "azure_client_id": "a"}}
    )
    assert StorageAccess(hudi_conn_id="lake").options() == {**IN_OPTIONS, "s3.region": "r", "azure_client_id": "a"}
    assert StorageAccess(hudi_conn_id="lake", storage_conn_id="machine").options() == {}
    own = {"access_key_id": "B", "secret_access_key": "C"}
    assert StorageAccess(hudi_conn_id="lake", own=own).options() == {"s3.region": "r", "azure_client_id": "a", **own}


def test_secrets_are_masked_and_stand_in_the_private_file_alone(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    masked: list[str] = []
    monkeypatch.setattr(lakes, "mask_secret", masked.append)
    connect("keys", "aws", **KEY, extra={"region_name": "eu-west-1"})
    operator = HudiCleanOperator(task_id="t", base_path="s3://lake/t", storage_conn_id="keys")
    options = operator.build_options({})  # type: ignore[typeddict-item]
    assert options.private_values() == {"storage_options": {**IN_OPTIONS, "aws_region": "eu-west-1"}}
    assert "of-the-key" not in " ".join(options.to_args("/f")) + repr(options) + repr(operator._access)
    assert set(masked) == {"AKIA", "of-the-key"}


def test_settings_of_spark_reach_the_tasks_own_process_too(connect: Any) -> None:
    conf = {"spark.hadoop.fs.s3a.access.key": "A", "spark.hadoop.fs.s3a.endpoint": "h:1", "spark.executor.memory": "1g"}
    access = StorageAccess(settings=conf, own={"aws_region": "r"})
    found = SCHEMES["s3"].resolve(access.lake().object_settings, "s3://lake").service
    assert found == {"access_key_id": "A", "endpoint": "https://h:1", "region": "r"}
