"""What this process read of objects that do not change: by their versions, the latest that were asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

_MOST_BYTES: Final = 64 << 20
_MOST_OF_ONE: Final = 2 << 20
"""Longer ones are read again."""


class Kept:
    """Contents by version, of ``most`` bytes together; the one that nobody asked for longest goes first."""

    def __init__(self, most: int = _MOST_BYTES) -> None:
        self._most = most
        self._contents: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, object: Hashable, etag: str) -> bytes | None:
        version = (object, etag)
        with self._lock:
            found = self._contents.get(version)
            if found is not None:
                self._contents.move_to_end(version)
            return found

    def keep(self, object: Hashable, etag: str, data: bytes) -> None:
        """For who asks later, unless it is long, or the store has no name for the version."""
        if len(data) > _MOST_OF_ONE or not etag:
            return
        version = (object, etag)
        with self._lock:
            self._bytes += len(data) - len(self._contents.pop(version, b""))
            self._contents[version] = data
            while self._bytes > self._most:
                self._bytes -= len(self._contents.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._contents.clear()
            self._bytes = 0


KEPT: Final = Kept()
