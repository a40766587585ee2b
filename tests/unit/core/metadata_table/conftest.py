from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.folder import Folder, unzip

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
PLAIN = ("cow_clustered", "cow_upserts", "mor_logs", "mor_pending_compaction")
INDEXED = tuple(sorted(path.stem for path in (FIXTURES / "metadata_tables").glob("*.zip")))


@pytest.fixture(params=[*PLAIN, *INDEXED])
def table_of_hudi(request: pytest.FixtureRequest, root: Folder) -> Folder:
    """A table that Hudi wrote at its defaults, with its metadata table."""
    return unpacked(request.param, root)


@pytest.fixture(params=INDEXED)
def indexed_table(request: pytest.FixtureRequest, root: Folder) -> Folder:
    """One whose metadata table has column statistics, bloom filters and a record index."""
    return unpacked(request.param, root)


def unpacked(name: str, target: Folder) -> Folder:
    folder = FIXTURES / ("tables" if name in PLAIN else "metadata_tables")
    unzip(folder / f"{name}.zip", target)
    return target / name
