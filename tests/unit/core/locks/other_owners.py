"""Lock files of other owners."""

from __future__ import annotations

import json

from tests.support.folder import Folder


def make_older(path: Folder, seconds: int) -> None:
    """As if the file had been written so long ago, by the clock of the storage."""
    path.date(path.modified_ms - seconds * 1000)


def elsewhere(**fields: object) -> bytes:
    """The lock file of a process of another host."""
    owner = {"host": "elsewhere/1/2", "pid": 7, "started": 0}
    return json.dumps({"token": "another", "owner": owner, **fields}).encode()
