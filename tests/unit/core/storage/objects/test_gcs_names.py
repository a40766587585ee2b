"""Each user's names of the settings of GCS come to one meaning, as a table of examples."""

from __future__ import annotations

import json

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.gcs_names import GCS
from spark_jobs.core.storage.objects.options import StoreOptions

pytestmark = pytest.mark.unit
URL = "gs://lake"
FILE = {"service_account": "/key.json"}


@pytest.mark.parametrize(
    ("given", "service"),
    [
        ({"google_service_account": "/key.json"}, FILE),
        ({"GOOGLE_SERVICE_ACCOUNT_PATH": "/key.json"}, FILE),
        ({"service_account_path": "/key.json"}, FILE),
        ({"GOOGLE_APPLICATION_CREDENTIALS": "/adc.json"}, {"application_credentials": "/adc.json"}),
        ({"google_service_account_key": '{\n "a": "b"\n}\n'}, {"service_account_key": '{"a": "b"}'}),
        ({"gcs.oauth2.token": "T", "gcs.project-id": "p"}, {"bearer_token": "T"}),
        ({"gcs.service.host": "http://h"}, {"base_url": "http://h"}),
        ({"google_skip_signature": "true"}, {"skip_signature": "true"}),
        ({"fs.gs.auth.service.account.json.keyfile": "/key.json", "fs.gs.project.id": "p"}, FILE),
        ({"spark.hadoop.google.cloud.auth.service.account.json.keyfile": "/key.json"}, FILE),
        (
            {
                "google.cloud.auth.service.account.json.keyfile": "/older.json",
                "fs.gs.auth.service.account.json.keyfile": "/key.json",
                "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            },
            FILE,
        ),
        ({"fs.gs.auth.type": "UNAUTHENTICATED"}, {"skip_signature": "true"}),
        ({"fs.gs.auth.null.enable": "true"}, {"skip_signature": "true"}),
        ({"fs.gs.auth.type": "COMPUTE_ENGINE"}, {}),
        ({"fs.gs.storage.root.url": "http://127.0.0.1:1/"}, {"base_url": "http://127.0.0.1:1"}),
    ],
)
def test_the_service(given: dict[str, str], service: dict[str, str]) -> None:
    assert GCS.resolve([given], URL) == StoreOptions(service=service, client={})
    assert all(GCS.knows(name) for name in given)


def test_a_key_that_hadoop_has_in_parts() -> None:
    given = {
        "fs.gs.auth.service.account.private.key": "-----BEGIN\nx",
        "fs.gs.auth.service.account.private.key.id": "1",
        "fs.gs.auth.service.account.email": "a@b",
    }
    found = json.loads(GCS.resolve([given], URL).service["service_account_key"])
    assert found == {"private_key": "-----BEGIN\nx", "private_key_id": "1", "client_email": "a@b"}


def test_the_client() -> None:
    assert GCS.resolve([{"fs.gs.proxy.address": "p:8"}], URL).client == {"proxy_url": "http://p:8"}
    assert GCS.resolve([{"google_proxy_url": "http://p:8"}], URL).client == {"proxy_url": "http://p:8"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fs.gs.auth.type": "USER_CREDENTIALS"}, "fs.gs.auth.type=USER_CREDENTIALS is not served"),
        ({"fs.gs.encryption.key": "hush"}, "fs.gs.encryption.key is not served: objects would not be encrypted so"),
        ({"google_service_account_key": "hush"}, "the service_account_key is no JSON"),
    ],
)
def test_what_is_not_served_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as error:
        GCS.resolve([given], URL)
    assert "hush" not in str(error.value)


def test_a_key_is_not_used_with_the_token_of_another() -> None:
    of_spark = {"fs.gs.auth.service.account.json.keyfile": "/key.json"}
    assert GCS.resolve([of_spark, {"google_bearer_token": "T"}], URL).service == {"bearer_token": "T"}
    assert GCS.resolve([{"google_bearer_token": "T"}, of_spark], URL).service == FILE
