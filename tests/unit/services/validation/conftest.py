from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
SHARED = Path(os.environ.get("PYHUDI_FIXTURES", FIXTURES.parents[2] / "shared" / "fixtures")) / "hudi_tables"


@pytest.fixture
def unpack(tmp_path: Path) -> Callable[[str], Path]:
    """Unpacks one of the tables that Hudi wrote, by ``folder/name``; gives its base path."""

    def unpacked(name: str) -> Path:
        folder = SHARED if name.startswith("shared/") else FIXTURES / name.split("/")[0]
        archive = folder / f"{name.split('/')[1]}.zip"
        if not archive.exists():
            pytest.skip(f"{archive} is not there: name the folder of Hudi's tables by PYHUDI_FIXTURES")
        target = tmp_path / archive.stem
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(target)
        metas = [one.parent for one in target.rglob("hoodie.properties") if one.parents[1].name != "metadata"]
        return next(meta.parent for meta in metas if "__MACOSX" not in str(meta))

    return unpacked
