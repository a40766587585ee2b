"""The zipped tables that real Hudi made, by folder and name: those of ``tests/fixtures``, and under ``shared`` those
that hudi-rs tests with, whose folder is named by PYHUDI_FIXTURES.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import pytest

from tests.support.folder import Folder, unzip

Place = TypeVar("Place", Path, Folder)

FIXTURES = Path(__file__).resolve().parent / "fixtures"
SHARED = Path(os.environ.get("PYHUDI_FIXTURES", FIXTURES.parents[2] / "shared" / "fixtures"))
"""What was not made by the scripts beside :data:`FIXTURES`: tables in ``hudi_tables``, HFiles in ``hfile``."""
OTHERS = "shared"
OF_HUDI_RS = (
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
NO_TABLES = frozenset({"tables/archived.before"})
"""The timeline of a table alone."""


def all_tables() -> list[str]:
    """Every table by its folder and name, those of hudi-rs whether they are here or not."""
    found = {f"{one.parent.name}/{one.stem}" for one in FIXTURES.glob("*/*.zip")}
    return sorted([*(found - NO_TABLES), *(f"{OTHERS}/{name}" for name in OF_HUDI_RS)])


def archive_of(table: str) -> Path:
    kind, _, name = table.partition("/")
    return (SHARED / "hudi_tables" if kind == OTHERS else FIXTURES / kind) / f"{name}.zip"


def is_here(table: str) -> bool:
    return archive_of(table).exists()


def unpack(table: str, folder: Place) -> Place:
    """The base path of the table, unpacked below the folder; the test is skipped where there is no such archive."""
    archive = archive_of(table)
    if not archive.exists():
        pytest.skip(f"{archive} is not there: name the folder of Hudi's tables by PYHUDI_FIXTURES")
    unzip(archive, folder)
    return base_path_in(folder)


def base_path_in(folder: Place) -> Place:
    """Of the one table below the folder; its metadata table lies deeper."""
    found = [one.parent.parent for one in folder.rglob("hoodie.properties") if "__MACOSX" not in str(one)]
    return min(found, key=lambda one: str(one).count("/"))


def with_source(base: Place) -> Place:
    """The same table, which is told where its source files are now, if it is a bootstrapped one."""
    properties, source = base / ".hoodie" / "hoodie.properties", base.with_name(f"{base.name}_source")
    if source.exists():
        lines = properties.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith("hoodie.bootstrap.base.path")]
        properties.write_text("".join([*kept, f"hoodie.bootstrap.base.path={source}\n"]))
        properties.with_name(".hoodie.properties.crc").unlink(missing_ok=True)
    return base
