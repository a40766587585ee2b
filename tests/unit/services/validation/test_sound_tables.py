"""Tables that real Hudi wrote have no findings: no check takes Hudi's ways for faults."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.services.validation.run import validate

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
NO_TABLES = {"tables/archived.before", "old_tables/mor_v0"}
"""The timeline of a table alone; logs of Hudi 0.5 with commits made by hand, which name other files."""
TABLES = sorted(
    {f"{one.parent.name}/{one.stem}" for one in FIXTURES.glob("*/*.zip")} - NO_TABLES
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
        assert [str(one) for one in validate(str(with_source(unpack(name))), deep=True)] == []


def with_source(base: Path) -> Path:
    """A bootstrapped table is told where its source files are now."""
    properties, source = base / ".hoodie" / "hoodie.properties", base.with_name(f"{base.name}_source")
    if source.exists():
        lines = properties.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("hoodie.bootstrap.base.path")]
        properties.write_text("".join([*kept, f"hoodie.bootstrap.base.path={source}\n"]))
    return base


def test_a_source_file_of_a_bootstrapped_table_is_gone(unpack: Callable[[str], Path]) -> None:
    base = with_source(unpack("tables/bootstrap_mor"))
    next(base.with_name("bootstrap_mor_source").rglob("*.parquet")).unlink()
    (found,) = validate(str(base), deep=True)
    assert found.invariant == 1
    assert "bootstrap_mor_source" in found.what


def test_rows_that_this_release_does_not_read_are_told(unpack: Callable[[str], Path]) -> None:
    base = with_source(unpack("tables/bootstrap_cow"))
    with (base / ".hoodie" / "hoodie.properties").open("a") as file:
        file.write("hoodie.bootstrap.index.class=org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex\n")
    assert validate(str(base)) == []
    (found,) = validate(str(base), deep=True)
    assert (found.invariant, found.severity) == (1, "WARNING")
    assert found.what.startswith("its rows are not validated: ")


def test_a_metadata_table_is_a_table_too(unpack: Callable[[str], Path]) -> None:
    assert validate(str(unpack("metadata_tables/indexed_mor") / ".hoodie" / "metadata")) == []
