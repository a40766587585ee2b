"""One real metastore for all tests of a run; each test gets a database of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.hive.client import ThriftMetastore
from spark_jobs.hive.embedded import EmbeddedMetastore, start_metastore, stop_metastore


@pytest.fixture(scope="session")
def java() -> None:
    """A Java runtime, without which there is no metastore."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        pytest.skip("no Java: install a Java 17 runtime (openjdk-17-jre-headless)")


@pytest.fixture(scope="session")
def server(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A Hive metastore on Derby."""
    directory = tmp_path_factory.mktemp("metastore")
    yield start_metastore(directory)
    stop_metastore(directory)


@pytest.fixture
def metastore(server: EmbeddedMetastore) -> Iterator[ThriftMetastore]:
    """A connection to it."""
    with ThriftMetastore.connect(server.uri) as connected:
        yield connected


@pytest.fixture
def database(tmp_path: Path) -> str:
    """A name that no other test uses."""
    return "".join(
        letter if letter.isalnum() else "_" for letter in f"db_{tmp_path.parent.name}_{tmp_path.name}"
    ).lower()
