"""Settings of a store of objects that can't be: one line says which, and shows no secret."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import LAKE

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
