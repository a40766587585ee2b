from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import hudi_tables


@pytest.fixture
def unpack(tmp_path: Path) -> Callable[[str], Path]:
    """Unpacks one of the tables that Hudi wrote, by ``folder/name``; gives its base path."""
    return lambda name: hudi_tables.unpack(name, tmp_path / name.split("/")[1])
