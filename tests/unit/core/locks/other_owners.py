"""Lock files of other owners."""

from __future__ import annotations

import json
import os
from pathlib import Path


def make_older(path: Path, seconds: float) -> None:
    """As if the file had been written so long ago, by the clock of the disk."""
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def elsewhere(**fields: object) -> bytes:
    """The lock file of a process of another host."""
    owner = {"host": "elsewhere/1/2", "pid": 7, "started": 0}
    return json.dumps({"token": "another", "owner": owner, **fields}).encode()
