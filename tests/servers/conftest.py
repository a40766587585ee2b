"""The server of a phase, and a proxy before it that breaks requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import CHOSEN
from tests.servers.losing import Losing, losing
from tests.support import folder
from tests.support.servers import Server


@pytest.fixture(scope="module")
def server() -> Server:
    """The one that the phase runs on; that of S3 where a test is asked for by its name."""
    return folder.SERVERS[next(iter(CHOSEN), "s3")]


@pytest.fixture(scope="module")
def proxy(server: Server) -> Iterator[Losing]:
    with losing(server.endpoint()) as found:
        yield found
