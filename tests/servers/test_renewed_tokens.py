"""Credentials that end again and again in the middle of a job, as AWS gives them to instances (IMDSv2), to pods (the
agent of EKS) and to who assumes a role (STS); and those of profiles.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError, HudiError, StorageError
from spark_jobs.core.lake import Lake
from tests.faults import local_table as local
from tests.faults.life import MOR, STEPS, STEPS_OF, check
from tests.servers.losing import Losing
from tests.support.dynamodb import packages
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
class Giver:
    """What an instance asks for its credentials, or who assumes a role. It gives others each time."""

    url: str
    given: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    """How, where there are several ways."""

    def next(self) -> tuple[str, str]:
        """A token, and when it ends."""
        self.given.append(f"token-{len(self.given)}")
        return self.given[-1], (datetime.now(UTC) + RENEWED_BEFORE + timedelta(seconds=SECONDS_OF_A_TOKEN)).isoformat()


def _say(handler: BaseHTTPRequestHandler, text: str, kind: str = "application/json") -> None:
    handler.send_response(200)
    handler.send_header("content-type", kind)
    handler.send_header("content-length", str(len(text)))
    handler.end_headers()
    handler.wfile.write(text.encode())


@contextmanager
def machine() -> Iterator[Giver]:
    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            _say(self, "a session of the service")

        def do_GET(self) -> None:
            if self.path.endswith("/security-credentials/"):
                _say(self, "role-of-the-machine")
                return
            token, end = state.next()
            key = {"AccessKeyId": "A", "SecretAccessKey": "S", "Token": token, "Code": "Success"}
            _say(self, json.dumps({**key, "Expiration": end}))

    state = Giver(url="")
    with served(Handler) as state.url:
        yield state


@contextmanager
def pods() -> Iterator[Giver]:
    """What a container asks, with the token that its file has just then."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.headers["authorization"])
            token, end = state.next()
            text = json.dumps({"AccessKeyId": "A", "SecretAccessKey": "S", "Token": token, "Expiration": end})
            _say(self, text)

    state = Giver(url="")
    with served(Handler) as state.url:
        yield state


@contextmanager
def roles() -> Iterator[Giver]:
    """AWS's STS, as far as AssumeRole goes. It stands for it: moto's sessions can't be told to end within a test."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            state.asked.append(self.rfile.read(int(self.headers["content-length"])).decode())
            token, end = state.next()
            parts = {"AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": token, "Expiration": end}
            found = "".join(f"<{name}>{value}</{name}>" for name, value in parts.items())
            text = f"<Credentials>{found}</Credentials>"
            text = f"<AssumeRoleResponse><AssumeRoleResult>{text}</AssumeRoleResult></AssumeRoleResponse>"
            _say(self, text, "text/xml")

    state = Giver(url="")
    with served(Handler) as state.url:
        yield state


@pytest.fixture(autouse=True)
def any_key_will_do(server: Server) -> None:
    if not server.is_own:
        pytest.skip("their keys are made up, which the tests' own server alone takes")


@pytest.fixture
def without_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [one for one in os.environ if one.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture(params=[machine, pods, roles])
def giver(
    request: pytest.FixtureRequest,
    proxy: Losing,
    without_environment: None,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[tuple[Giver, dict[str, str]]]:
    """The store behind the proxy takes the newest tokens alone; with the options by which they are got."""
    with request.param() as found:
        proxy.fault = lambda method, number: "" if proxy.tokens[-1] in found.given[-LAST_GOOD:] else "forbid"
        if request.param is machine:
            yield found, {"aws_metadata_endpoint": found.url}
        elif request.param is pods:
            (tmp_path / "token").write_text("token of the pod")
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"{found.url}/v1/credentials")
            monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", str(tmp_path / "token"))
            yield found, {}
            assert set(found.asked) == {"token of the pod"}
        else:
            packages_of_server(monkeypatch)
            monkeypatch.setenv("AWS_ENDPOINT_URL_STS", found.url)
            keys = {"aws_access_key_id": "B", "aws_secret_access_key": "S"}
            yield found, {**keys, "aws_role_arn": "arn:aws:iam::1:role/lake", "aws_external_id": "of the lake"}
            wanted = {"Action=AssumeRole", "RoleSessionName=pyhudi", "ExternalId=of+the+lake"}
            assert all(wanted <= set(one.split("&")) for one in found.asked)
    proxy.fault = lambda method, number: ""


def packages_of_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """boto3 is not installed where Airflow is (tests/support/dynamodb.py)."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages())])


def test_a_table_outlives_them(server: Server, proxy: Losing, giver: tuple[Giver, dict[str, str]]) -> None:
    of_machine, options = giver
    bucket, reached = server.new_bucket(), {"endpoint": proxy.url, "region": "us-east-1"}
    table = Folder(f"{bucket}/t", Lake().reached_by({**reached, **options}))
    begun = len(proxy.tokens)
    local.create(table, MOR)
    for name in STEPS_OF[MOR]:
        STEPS[name][0](table)
    check(table, MOR, "clean")
    assert len(set(proxy.tokens[begun:])) > LAST_GOOD
    keys = {"access_key_id": "A", "secret_access_key": "S", "session_token": of_machine.given[0]}
    with pytest.raises(HudiError, match="access denied"):
        Folder(table.url, Lake().reached_by({**reached, **keys})).table()


@pytest.mark.parametrize("by", ["option", "variable", "default"])
def test_a_profile_has_the_key(
    server: Server, proxy: Losing, without_environment: None, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    packages_of_server(monkeypatch)
    name = "default" if by == "default" else "lake"
    key = "aws_access_key_id = A\naws_secret_access_key = S\naws_session_token = of-the-profile\n"
    Path(os.environ["AWS_SHARED_CREDENTIALS_FILE"]).write_text(f"[{name}]\n{key}region = us-east-1\n")
    if by == "variable":
        monkeypatch.setenv("AWS_PROFILE", "lake")
    options = {"endpoint": proxy.url, **({"aws_profile": "lake"} if by == "option" else {})}
    begun = len(proxy.tokens)
    table = Folder(f"{server.new_bucket()}/t", Lake().reached_by(options))
    local.create(table, MOR)
    assert {*proxy.tokens[begun:]} == {"of-the-profile"}
    refused = {"aws_role_arn": "arn:aws:iam::1:role/lake", "aws_external_id": "x", "region": "us-east-1"}
    with pytest.raises(StorageError, match=r"not authenticated: ParamValidationError: .*give credentials that") as said:
        Folder(table.url, Lake().reached_by({**options, **refused})).table()
    assert "\n" not in str(said.value)
    with pytest.raises(ConfigError, match=r"the profile none can't be used \(The config profile \(none\) could not"):
        Folder(table.url, Lake().reached_by({**options, "aws_profile": "none"})).table()
