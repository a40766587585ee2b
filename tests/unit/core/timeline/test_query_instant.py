"""The spellings of an instant that queries take."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.format.instant_time import query_instant

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("20261121135000123", "20261121135000123"),
        ("20261121135000", "20261121135000"),
        ("000", "000"),
        ("earliest", "000"),
        ("", "000"),
        ("2026-11-21", "20261121000000000"),
        ("2026-11-21 13:50:00", "20261121135000999"),
        ("2026-11-21T13:50:00.123", "20261121135000123"),
    ],
)
def test_spellings(text: str, instant: str) -> None:
    assert query_instant(text) == instant


@pytest.mark.parametrize(
    "text",
    [
        "yesterday",
        "2026/11/21",
        "2026-11-21 13:50",
        "2026-13-45",
        "2026-02-30 00:00:00",
        "2026-11-21 24:01:00.000",
        "٢٠٢٦١١٢١",  # digits, but no instant's
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is no instant: give its digits"):
        query_instant(text)
