"""Something that happens when a write has its places and has made no file yet."""

from collections.abc import Callable

import pytest

from spark_jobs.write.direct.exchanged import ExchangedRows
from spark_jobs.write.direct.placed_source import PlacedSource


def before_files(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Call ``act`` in the next write; those that it begins itself are left alone."""
    begun: list[bool] = []
    for kind in (PlacedSource, ExchangedRows):
        plain = kind.write

        def write(self: object, *arguments: object, plain: Callable[..., object] = plain) -> object:
            if not begun:
                begun.append(True)
                act()
            return plain(self, *arguments)

        monkeypatch.setattr(kind, "write", write)
