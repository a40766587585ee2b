"""One lake opens several kinds of stores: each reads its own options, and what none reads is refused."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import LAKE
from spark_jobs.core.storage.objects.schemes import SCHEMES, is_hadoops, laid_over, refuse_unknown

pytestmark = pytest.mark.unit
OF_ALL = {
    "aws_region": "eu-west-1",
    "s3.access-key-id": "A",
    "azure_storage_account_name": "acc",
    "adls.account-key": "K",
    "google_service_account": "/key.json",
    "fs.gs.project.id": "p",
    "proxy_url": "http://p:1",
}


def test_each_reads_its_own() -> None:
    refuse_unknown(OF_ALL)
    found = {scheme: SCHEMES[scheme].resolve([OF_ALL], f"{scheme}://lake") for scheme in ("s3a", "wasbs", "gs")}
    assert found["s3a"].service == {"region": "eu-west-1", "access_key_id": "A"}
    assert found["wasbs"].service == {"account_name": "acc", "account_key": "K"}
    assert found["gs"].service == {"service_account": "/key.json"}
    assert all(one.client == {"proxy_url": "http://p:1"} for one in found.values())


@pytest.mark.parametrize(
    "name",
    [
        *("azure_storage_acount_name", "adls.account", "account.name", "access_key", "google_service_acount"),
        *("fs.azure.account.kez.acc.dfs.core.windows.net", "fs.azure.sas.x", "fs.gs.auth.typo", "gcs.token", "sas"),
    ],
)
def test_what_nothing_reads_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"the storage option {name} is not known: give those of AWS .*, Azure"):
        LAKE.reached_by({**OF_ALL, name: "x"})


def test_a_value_by_two_names_is_refused() -> None:
    for other in ({"account_name": "other"}, {"service_account_path": "/other.json"}):
        with pytest.raises(ConfigError, match="is given by another name, too"):
            LAKE.reached_by({**OF_ALL, **other})


def test_settings_of_hadoops_connectors() -> None:
    for name in (
        "spark.hadoop.fs.s3a.access.key",
        "fs.azure.account.key.acc.dfs.core.windows.net",
        "spark.hadoop.fs.azure.account.oauth2.client.secret",
        "fs.azure.sas.lake.acc.blob.core.windows.net",
        "spark.hadoop.google.cloud.auth.service.account.json.keyfile",
        "fs.gs.storage.root.url",
    ):
        assert is_hadoops(name), name
    for name in ("fs.s3a.threads.max", "fs.azure.io.retry.max.retries", "fs.gs.block.size", "spark.executor.memory"):
        assert not is_hadoops(name), name


@pytest.mark.parametrize(
    ("own", "below", "both"),
    [
        ({"aws_region": "b"}, {"region": "a", "s3.endpoint": "e"}, {"s3.endpoint": "e", "aws_region": "b"}),
        (
            {"access_key_id": "B", "secret_access_key": "C"},
            {"aws_access_key_id": "A", "aws_session_token": "T", "aws_region": "r", "azure_client_id": "c"},
            {"access_key_id": "B", "secret_access_key": "C", "aws_region": "r", "azure_client_id": "c"},
        ),
        (
            {"fs.s3a.access.key": "B"},
            {"aws_region": "r", "proxy_url": "p", "azure_client_id": "c", "dfs.replication": "1"},
            {"fs.s3a.access.key": "B", "azure_client_id": "c", "dfs.replication": "1"},
        ),
        ({"aws_region": ""}, {"region": "a"}, {"region": "a", "aws_region": ""}),
        ({}, OF_ALL, OF_ALL),
    ],
)
def test_options_of_one_place_over_those_of_another(
    own: dict[str, str], below: dict[str, str], both: dict[str, str]
) -> None:
    assert laid_over(own, below) == both
    LAKE.reached_by(both)
