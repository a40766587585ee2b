from __future__ import annotations

import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.files.log_block import BlockType, parse_blocks
from tests.hudi_tables import FIXTURES, SHARED


@pytest.fixture(scope="session")
def hbase_files() -> Path:
    """The folder of HFiles that HBase wrote, from hudi-rs' test data."""
    source = SHARED / "hfile"
    if not source.is_dir():
        pytest.skip(f"no HFiles written by HBase in {source}: name the folder above it by PYHUDI_FIXTURES")
    return source


@pytest.fixture(scope="session")
def hudi_files() -> dict[str, bytes]:
    """HFiles of metadata tables that Hudi 0.15.0 wrote, by a name: base files, and the contents of log blocks."""
    found: dict[str, bytes] = {}
    for archive in sorted((FIXTURES / "tables").glob("*.zip")):
        with zipfile.ZipFile(archive) as content:
            properties = [
                one for one in content.namelist() if one.endswith("/.hoodie/metadata/.hoodie/hoodie.properties")
            ]
            if not any(b"hoodie.table.version=6" in content.read(one) for one in properties):
                continue
            for name in content.namelist():
                if "/.hoodie/metadata/" not in name or "/.hoodie/metadata/.hoodie/" in name:
                    continue
                if name.endswith(".hfile"):
                    found[name] = content.read(name)
                elif ".log." in name and not name.endswith(".crc"):
                    blocks = parse_blocks(pa.BufferReader(content.read(name)))
                    kept = [block for block in blocks if block.type is BlockType.HFILE_DATA_BLOCK]
                    found.update({f"{name} at {block.start}": block.read_content() for block in kept})
    return found
