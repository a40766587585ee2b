"""One real metastore for all tests of a run; each test gets a database of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dags_examples.demo.metastore import EmbeddedMetastore, start_metastore, stop_metastore
from spark_jobs.hive.client import ThriftMetastore
from tests.java import QUICK, needs_java


@pytest.fixture(scope="session")
def java() -> None:
    """A Java runtime, without which there is no metastore."""
    needs_java()


@pytest.fixture(scope="session")
def server(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedMetastore]:
    """A Hive metastore on Derby."""
    directory = tmp_path_factory.mktemp("metastore")
    yield start_metastore(directory, java_options=tuple(QUICK.split()))
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
