"""Who holds a lock or a heartbeat: a process of a host, recognised even after the host gave its id to another."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

PROCESSES = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """``host`` tells apart hosts, boots and process namespaces; ``started`` is the process's start in clock ticks
    since boot.
    """

    host: str
    pid: int
    started: int

    def is_dead(self) -> bool:
        """True only where this machine can prove it; False for a live process and for one of another host."""
        return PROCESS_TABLE.is_dead(self)

    def is_this_process(self) -> bool:
        """True only where /proc proves it."""
        return self.host != "" and self == this_process()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(raw: Mapping[str, Any]) -> Owner:
        return Owner(host=str(raw["host"]), pid=int(raw["pid"]), started=int(raw["started"]))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host.split('/')[0]}"


class ProcessTable(Protocol):
    """What a process can see of itself and of others."""

    def own(self) -> Owner: ...

    def is_dead(self, owner: Owner) -> bool: ...


class SystemProcesses:
    """By /proc."""

    def own(self) -> Owner:
        if _OWN:
            return _OWN[0]
        pid = os.getpid()
        seen = _look(pid)
        own = Owner(host="", pid=pid, started=0) if seen is None else Owner(host=_host(), pid=pid, started=seen[1])
        if own.host:
            _OWN.append(own)
        return own

    def is_dead(self, owner: Owner) -> bool:
        if not owner.host or owner.host != _host():
            return False
        if not _exists(owner.pid):
            return True
        seen = _look(owner.pid)
        # /proc may hide the processes of other users (hidepid): what it does not show is alive all the same
        return seen is not None and (seen[0] in ("Z", "X") or seen[1] != owner.started)


PROCESS_TABLE: ProcessTable = SystemProcesses()
"""Of this machine; of a simulated one where a simulation puts it here."""


def this_process() -> Owner:
    """The owner that this process is; without /proc its death can't be proved, only its silence."""
    return PROCESS_TABLE.own()


_OWN: list[Owner] = []
"""This process, once /proc has shown it."""
os.register_at_fork(after_in_child=_OWN.clear)  # a child may have the same id, in a namespace of its own


def parse_owner(data: bytes) -> tuple[Owner, dict[str, Any]] | None:
    """Owner and whole object of a lock or heartbeat file; None for a file that this project did not write (Hudi's are
    empty).
    """
    try:
        raw = json.loads(data)
        return Owner.from_json(raw["owner"]), raw
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def _host() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return f"{socket.gethostname()}/{boot}/{namespace}"


def _exists(pid: int) -> bool:
    if pid < 1:  # such a number names a group of processes
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _look(pid: int) -> tuple[str, int] | None:
    """State letter of a process and its start in ticks; None where /proc does not show it."""
    try:
        fields = (PROCESSES / f"{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[19])
