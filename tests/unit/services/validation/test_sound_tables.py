"""Tables that real Hudi wrote have no findings: no check takes Hudi's ways for faults."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.services.validation.run import validate

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
TIMELINE_ALONE = {"tables/archived.before"}
"""Not a table: the timeline of one, before Hudi archived it."""
TABLES = sorted(
    {f"{one.parent.name}/{one.stem}" for one in FIXTURES.glob("*/*.zip")} - TIMELINE_ALONE
    | {
        f"shared/{name}"
        for name in (
            "cow-v6_complexkeygen_hivestyle",
            "cow-v6_empty",
            "cow-v6_nonpartitioned",
            "cow-v6_simplekeygen_nonhivestyle",
            "cow-v6_timebasedkeygen_nonhivestyle",
            "mor-avro-v6_trips_8i1u",
            "mor-parquet-v6_complexkeygen_hivestyle",
            "mor-parquet-v6_nonpartitioned",
            "mor-parquet-v6_simplekeygen_hivestyle_no_metafields",
        )
    }
)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_hudi_is_sound(name: str, unpack: Callable[[str], Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [str(one) for one in validate(str(unpack(name)), deep=True)] == []
