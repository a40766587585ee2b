"""Credentials of a machine that end again and again in the middle of a job, as AWS gives them to instances (IMDSv2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler

import pytest

from spark_jobs.core.errors import HudiError
from spark_jobs.core.lake import Lake
from tests.faults import local_table as local
from tests.faults.life import MOR, STEPS, STEPS_OF, check
from tests.servers.losing import Losing
from tests.support.folder import Folder
from tests.support.http_server import Quiet, served
from tests.support.servers import Server

pytestmark = [pytest.mark.s3, pytest.mark.timeout(300)]
RENEWED_BEFORE = timedelta(minutes=5)
"""So long before the end of a token object_store asks for the next one."""
SECONDS_OF_A_TOKEN = 0.5
LAST_GOOD = 3
"""Tokens that the store takes, newest first: a request may be on its way when the next is given."""


@dataclass
class Machine:
    """What an instance asks for its credentials. It gives others each time."""

    url: str
    given: list[str] = field(default_factory=list)


@contextmanager
def machine() -> Iterator[Machine]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self._say("a session of the service")

        def do_GET(self) -> None:
            if self.path.endswith("/security-credentials/"):
                self._say("role-of-the-machine")
                return
            state.given.append(f"token-{len(state.given)}")
            end = datetime.now(UTC) + RENEWED_BEFORE + timedelta(seconds=SECONDS_OF_A_TOKEN)
            key = {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": state.given[-1], "Code": "Success"}
            self._say(json.dumps({**key, "Expiration": end.isoformat()}))

        def _say(self, text: str) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

    state = Machine(url="")
    with served(Handler) as state.url:
        yield state


@pytest.fixture
def of_machine(proxy: Losing, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    """The store behind the proxy takes the newest tokens alone."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with machine() as found:
        proxy.fault = lambda method, number: "" if proxy.tokens[-1] in found.given[-LAST_GOOD:] else "forbid"
        yield found
    proxy.fault = lambda method, number: ""


def test_a_table_outlives_them(server: Server, proxy: Losing, of_machine: Machine) -> None:
    bucket, reached = server.new_bucket(), {"endpoint": proxy.url, "region": "us-east-1"}
    table = Folder(f"{bucket}/t", Lake().reached_by({**reached, "aws_metadata_endpoint": of_machine.url}))
    begun = len(proxy.tokens)
    local.create(table, MOR)
    for name in STEPS_OF[MOR]:
        STEPS[name][0](table)
    check(table, MOR, "clean")
    assert len(set(proxy.tokens[begun:])) > LAST_GOOD
    keys = {"access_key_id": "A", "secret_access_key": "S", "session_token": of_machine.given[0]}
    with pytest.raises(HudiError, match="access denied"):
        Folder(table.url, Lake().reached_by({**reached, **keys})).table()
