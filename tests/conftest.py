"""Each test belongs to a phase: one without a marker would run in none of them. What is for the night waits for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.long import LONG
from tests.nightly import HDFS, NIGHTLY, OBJECT_STORE, ON_SERVER, SERVERS, TESTS, for_the_night

if TYPE_CHECKING:
    from tests.support.folder import Folder

PHASES = ("unit", *SERVERS, "provider", "spark", "faults", "interop", "installs")
UNIT, LONG_ONES = "unit and not long", "long"
"""The marks by which ``scripts/run_tests.sh`` chooses the two phases of unit tests."""
CHOSEN = [name for name in SERVERS if os.environ.get(f"PYHUDI_{name.upper()}")]
"""The servers on which the tests run."""
SHARED_FOLDERS = ("demo",)
"""Beside the folder of its own, which each phase collects tests from (``scripts/run_tests.sh``)."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Of the files of unit tests a phase imports its own alone."""
    phase = config.getoption("markexpr")
    if phase in SERVERS and not NIGHTLY and collection_path.name.startswith("test_") and not collection_path.is_dir():
        name = collection_path.relative_to(TESTS).as_posix()
        folder = "hdfs" if phase == HDFS else "servers"
        return True if name not in ON_SERVER[phase] and not name.startswith(f"{folder}/") else None
    if phase not in (UNIT, LONG_ONES) or not collection_path.is_relative_to(TESTS / "unit"):
        return None
    if not collection_path.name.startswith("test_") or collection_path.is_dir():
        return None
    is_long = collection_path.relative_to(TESTS).as_posix() in LONG
    return True if is_long is not (phase == LONG_ONES) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    gone = sorted(one for one in LONG if not (TESTS / one).is_file())
    if gone:
        raise pytest.UsageError(f"tests/long.py names what is not there: {', '.join(gone)}")
    for item in items:
        if TESTS in item.path.parents and item.path.relative_to(TESTS).as_posix() in LONG:
            item.add_marker(pytest.mark.long)
        if getattr(item, "callspec", None) is not None and item.callspec.params.get("root") in SERVERS:
            item.add_marker(item.callspec.params["root"])
    homeless = sorted({item.location[0] for item in items if not _runs(item)})
    if homeless:
        raise pytest.UsageError(f"no marker of {', '.join(PHASES)} for its folder in {', '.join(homeless)}")
    by_name = any("::" in str(one) for one in config.args)
    waiting = for_the_night(items, whole=not by_name)
    if waiting and not NIGHTLY and not by_name:
        config.hook.pytest_deselected(items=waiting)
        items[:] = [item for item in items if item not in set(waiting)]


@pytest.fixture(params=CHOSEN or ["local", OBJECT_STORE])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    """An empty folder: on a local disk and on a store of objects; where there are servers, on those."""
    from tests.support.folder import folder_of  # most phases need none of the table format to begin

    return folder_of(request.param, tmp_path)


def _runs(item: pytest.Item) -> bool:
    """Whether a phase collects it: that of its folder, or in a shared folder any."""
    marked = {name for name in PHASES if item.get_closest_marker(name)}
    folder = item.path.relative_to(TESTS).parts[0] if TESTS in item.path.parents else ""
    return bool(marked) and (folder in marked or folder in SHARED_FOLDERS or folder not in PHASES)
