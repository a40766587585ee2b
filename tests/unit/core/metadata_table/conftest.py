from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
PLAIN = ("cow_clustered", "cow_upserts", "mor_logs", "mor_pending_compaction")
INDEXED = tuple(sorted(path.stem for path in (FIXTURES / "metadata_tables").glob("*.zip")))


@pytest.fixture(params=[*PLAIN, *INDEXED])
def table_of_hudi(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table that Hudi wrote at its defaults, with its metadata table."""
    return unpacked(request.param, tmp_path)


@pytest.fixture(params=INDEXED)
def indexed_table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One whose metadata table has column statistics, bloom filters and a record index."""
    return unpacked(request.param, tmp_path)


def unpacked(name: str, target: Path) -> Path:
    folder = FIXTURES / ("tables" if name in PLAIN else "metadata_tables")
    with zipfile.ZipFile(folder / f"{name}.zip") as content:
        content.extractall(target)
    return target / name
