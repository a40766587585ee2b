"""Who holds a lock or a heartbeat: a process of a host, recognised even after the host gave its id to another."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


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
        if not self.host or self.host != _host():
            return False
        return _started(self.pid) != self.started

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


def this_process() -> Owner:
    """The owner that this process is; without /proc its death can't be proved, only its silence."""
    pid = os.getpid()
    started = _started(pid)
    return Owner(host=_host() if started is not None else "", pid=pid, started=started or 0)


def parse_owner(data: bytes) -> tuple[Owner, dict[str, Any]] | None:
    """Owner and whole object of a lock or heartbeat file; None for a file that this project did not write (Hudi's are
    empty).
    """
    try:
        raw = json.loads(data)
        return Owner.from_json(raw["owner"]), raw
    except (ValueError, KeyError, TypeError):
        return None


def _host() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return f"{socket.gethostname()}/{boot}/{namespace}"


def _started(pid: int) -> int | None:
    """Start time of a process in ticks; None where there is no such process, or it is a zombie, or no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in ("Z", "X") else int(fields[19])
