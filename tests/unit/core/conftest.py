from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.hudi_tables import SHARED


@pytest.fixture(scope="session")
def hudi_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of tables that Hudi on the JVM wrote, unpacked, each in a folder named after its archive."""
    source = SHARED / "hudi_tables"
    if not source.is_dir():
        pytest.skip(f"no tables written by Hudi in {source}: name their folder by PYHUDI_FIXTURES")
    target = tmp_path_factory.mktemp("hudi_tables")
    for archive in sorted(source.glob("*.zip")):
        with zipfile.ZipFile(archive) as content:
            members = [name for name in content.namelist() if not name.startswith("__MACOSX")]
            content.extractall(target / archive.stem, members)
    return target
