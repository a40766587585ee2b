"""Each user's names of S3's settings come to one meaning, as a table of examples."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.storage.objects.options import StoreOptions
from spark_jobs.core.storage.objects.s3_names import S3
from spark_jobs.core.storage.objects.schemes import refuse_unknown

pytestmark = pytest.mark.unit
KEYS = {"access_key_id": "A", "secret_access_key": "S", "session_token": "T", "region": "eu-west-1"}


@pytest.mark.parametrize(
    "given",
    [
        KEYS,
        {f"aws_{name}": value for name, value in KEYS.items()},
        {f"AWS_{name.upper()}": value for name, value in KEYS.items()},
        {
            "AWS_ACCESS_KEY_ID": "A",
            "aws_secret_access_key": "S",
            "session_token": "T",
            "AWS_DEFAULT_REGION": "eu-west-1",
        },
        {"s3.access-key-id": "A", "s3.secret-access-key": "S", "s3.session-token": "T", "s3.region": "eu-west-1"},
        {
            "fs.s3a.access.key": "A",
            "fs.s3a.secret.key": "S",
            "fs.s3a.session.token": "T",
            "fs.s3a.endpoint.region": "eu-west-1",
            "fs.s3a.threads.max": "64",
        },
        {
            "spark.hadoop.fs.s3a.access.key": "of all",
            "spark.hadoop.fs.s3a.bucket.lake.access.key": "A",
            "spark.hadoop.fs.s3a.bucket.other.access.key": "of another",
            "spark.hadoop.fs.s3a.secret.key": "S",
            "spark.hadoop.fs.s3a.session.token": "T",
            "fs.s3a.endpoint.region": "us-east-1",
            "region": "eu-west-1",
        },
    ],
    ids=["obstore", "delta-rs", "environment", "mixed", "PyIceberg", "Hadoop", "Spark, of a bucket"],
)
def test_credentials(given: dict[str, str]) -> None:
    assert S3.resolve([given], "s3://lake") == StoreOptions(service=KEYS, client={})


@pytest.mark.parametrize(
    ("given", "service"),
    [
        ({"AWS_ENDPOINT_URL": "http://minio:9000"}, {"endpoint": "http://minio:9000"}),
        ({"aws_endpoint_url_s3": "http://minio:9000"}, {"endpoint": "http://minio:9000"}),
        ({"s3.endpoint": "https://minio"}, {"endpoint": "https://minio"}),
        (
            {"fs.s3a.endpoint": "s3.eu-west-1.amazonaws.com"},
            {"endpoint": "https://s3.eu-west-1.amazonaws.com", "region": "eu-west-1"},
        ),
        (
            {
                "fs.s3a.endpoint": "minio:9000",
                "fs.s3a.connection.ssl.enabled": "false",
                "fs.s3a.path.style.access": "true",
            },
            {"endpoint": "http://minio:9000", "virtual_hosted_style_request": "false"},
        ),
        ({"fs.s3a.path.style.access": "false"}, {"virtual_hosted_style_request": "true"}),
        ({"s3.force-virtual-addressing": "true"}, {"virtual_hosted_style_request": "true"}),
        ({"fs.s3a.requester.pays.enabled": "true"}, {"request_payer": "true"}),
        ({"fs.s3a.requester.pays.enabled": "false"}, {}),
        (
            {"fs.s3a.encryption.algorithm": "SSE-KMS", "fs.s3a.encryption.key": "arn:k"},
            {"server_side_encryption": "aws:kms", "sse_kms_key_id": "arn:k"},
        ),
        ({"fs.s3a.server-side-encryption-algorithm": "AES256"}, {"server_side_encryption": "AES256"}),
        (
            {"fs.s3a.encryption.algorithm": "SSE-C", "fs.s3a.encryption.key": "c2VjcmV0"},
            {"server_side_encryption": "sse-c", "sse_customer_key_base64": "c2VjcmV0"},
        ),
        (
            {"fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"},
            {"skip_signature": "true"},
        ),
        ({"s3.anonymous": "true"}, {"skip_signature": "true"}),
        ({"fs.s3a.assumed.role.arn": "arn:r"}, {}),
        (
            {
                "fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider",
                "fs.s3a.assumed.role.arn": "arn:r",
                "fs.s3a.assumed.role.session.name": "job",
            },
            {"role_arn": "arn:r", "role_session_name": "job"},
        ),
        ({"s3.profile-name": "lake"}, {"profile": "lake"}),
        ({"AWS_PROFILE": "lake"}, {"profile": "lake"}),
    ],
)
def test_the_service(given: dict[str, str], service: dict[str, str]) -> None:
    assert S3.resolve([given], "s3://lake") == StoreOptions(service=service, client={})


@pytest.mark.parametrize(
    ("given", "client"),
    [
        ({"aws_ca_bundle": "/ca.pem"}, {"root_certificate": "/ca.pem"}),
        ({"s3.proxy-uri": "http://p:1"}, {"proxy_url": "http://p:1"}),
        ({"fs.s3a.proxy.host": "p", "fs.s3a.proxy.port": "8"}, {"proxy_url": "http://p:8"}),
        ({"fs.s3a.proxy.host": "p", "fs.s3a.proxy.ssl.enabled": "true"}, {"proxy_url": "https://p:443"}),
    ],
)
def test_the_client(given: dict[str, str], client: dict[str, str]) -> None:
    assert S3.resolve([given], "s3://lake") == StoreOptions(service={}, client=client)


def test_an_empty_value_is_none() -> None:
    assert S3.resolve([{"region": "", "fs.s3a.access.key": "", "fs.s3a.endpoint": ""}], "s3://lake").service == {}


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(
        S3.resolve([{"aws_secret_access_key": "hush", "proxy_url": "http://u:hush@p"}], "s3://lake")
    )


def test_what_nothing_reads_is_refused() -> None:
    refuse_unknown({"aws_region": "x", "s3.region": "x", "fs.s3a.endpoint": "x", "fs.s3a.bucket.b.access.key": "x"})
    for name in ("aws_regoin", "fs.s3a.acess.key", "fs.s3a.bucket.b.acess.key", "sts_endpoint"):
        with pytest.raises(ConfigError, match=f"the storage option {name} is not known: give those of AWS"):
            refuse_unknown({name: "x"})
    with pytest.raises(ConfigError, match="is given by another name, too"):
        refuse_unknown({"aws_region": "x", "s3.region": "y"})


def test_an_encryption_that_is_none_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"encryption.algorithm=CSE-KMS is not served: objects would not be encrypted so"
    ):
        S3.resolve([{"fs.s3a.encryption.algorithm": "CSE-KMS"}], "s3://lake")


def test_a_key_is_not_used_with_the_token_of_another() -> None:
    of_spark = {
        "fs.s3a.access.key": "A",
        "fs.s3a.secret.key": "S",
        "fs.s3a.session.token": "T",
        "fs.s3a.endpoint": "x:1",
    }
    own = {"aws_access_key_id": "B", "aws_secret_access_key": "R"}
    assert S3.resolve([of_spark, own], "s3://lake").service == {
        "access_key_id": "B",
        "secret_access_key": "R",
        "endpoint": "https://x:1",
    }
    assert S3.resolve([own, of_spark], "s3://lake").service["session_token"] == "T"


def test_hadoops_of_a_bucket_whose_name_has_dots() -> None:
    of_all = {"fs.s3a.access.key": "A", "fs.s3a.secret.key": "S", "fs.s3a.session.token": "T"}
    of_bucket = {"fs.s3a.bucket.my.lake.access.key": "B", "fs.s3a.bucket.my.lake.secret.key": "R"}
    assert all(S3.knows(one) for one in of_bucket)
    found = S3.resolve([{**of_all, **of_bucket}], "s3a://my.lake").service
    assert found == {"access_key_id": "B", "secret_access_key": "R"}  # the token is of the other key
    assert S3.resolve([{**of_all, **of_bucket}], "s3a://lake").service["access_key_id"] == "A"


def test_a_role_is_not_assumed_by_the_key_of_another() -> None:
    below = {"aws_role_arn": "arn:r", "aws_external_id": "x", "aws_region": "y"}
    own = {"aws_access_key_id": "B", "aws_secret_access_key": "R"}
    assert "role_arn" not in S3.resolve([below, own], "s3://lake").service
    assert S3.resolve([own, below], "s3://lake").service == {"role_arn": "arn:r", "external_id": "x", "region": "y"}


def test_the_last_source_counts_by_whichever_name() -> None:
    assert S3.resolve([{"s3.region": "x"}, {"aws_region": "y"}], "s3://lake").service == {"region": "y"}
    assert S3.resolve([{"aws_region": "y"}, {"fs.s3a.endpoint.region": "z"}], "s3://lake").service == {"region": "z"}
