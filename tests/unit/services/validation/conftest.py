from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import hudi_tables
from tests.support.folder import Folder


@pytest.fixture
def unpack(root: Folder) -> Callable[[str], Folder]:
    """Unpacks one of the tables that Hudi wrote, by ``folder/name``; gives its base path."""
    return lambda name: hudi_tables.unpack(name, root / name.split("/")[1])
