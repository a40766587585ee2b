"""When the owner of a lock or heartbeat counts as dead, asked of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.core.locks import owner
from spark_jobs.core.locks.owner import Owner, this_process

pytestmark = pytest.mark.unit

NOBODY = 65534


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def owner_of(pid: int) -> Owner:
    seen = owner._look(pid)
    assert seen is not None
    return replace(this_process(), pid=pid, started=seen[1])


def test_a_process_is_alive_until_it_ended(child: subprocess.Popen[bytes]) -> None:
    found = owner_of(child.pid)
    assert not found.is_dead()
    assert replace(found, started=found.started + 1).is_dead(), "its id was given to another process"
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert found.is_dead(), "a zombie"
    child.wait()
    assert found.is_dead()


@pytest.mark.parametrize("pid", [0, -1, 1 << 40])
def test_no_process_has_such_an_id(pid: int) -> None:
    assert replace(this_process(), pid=pid).is_dead()


def test_a_process_of_another_host_is_never_dead() -> None:
    assert not replace(this_process(), host="elsewhere", pid=1 << 40).is_dead()


@pytest.fixture
def hidden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder stands for /proc mounted with hidepid, which only root could do: no process is shown."""
    monkeypatch.setattr(owner, "PROCESSES", tmp_path)


def test_a_process_that_proc_did_not_show_is_looked_for_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No descriptor may have been free."""
    shown = this_process()
    monkeypatch.setattr(owner, "_OWN", [])
    with monkeypatch.context() as hiding:
        hiding.setattr(owner, "PROCESSES", tmp_path)
        assert not this_process().host
    assert this_process() == shown
    assert [shown] == owner._OWN


def test_a_forked_process_looks_for_itself() -> None:
    this_process()
    child = os.fork()
    if child == 0:
        os._exit(len(owner._OWN))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_what_proc_does_not_show_is_alive(child: subprocess.Popen[bytes], request: pytest.FixtureRequest) -> None:
    found = owner_of(child.pid)
    request.getfixturevalue("hidden")
    assert not found.is_dead()
    child.kill()
    child.wait()
    assert found.is_dead()


@pytest.mark.usefixtures("hidden")
def test_a_process_of_another_user_is_alive() -> None:
    """Asked by a user without rights to process 1, which may not be signalled."""
    found = Owner(host=this_process().host or owner._host(), pid=1, started=1)
    asker = os.fork()
    if asker == 0:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        os._exit(int(found.is_dead()))
    _, status = os.waitpid(asker, 0)
    assert os.waitstatus_to_exitcode(status) == 0
