"""What the tests of several packages share."""

from __future__ import annotations

import pytest

from spark_jobs.core.clock import SystemClock


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the rest of a timeline file that a test cut on purpose."""
    monkeypatch.setattr(SystemClock, "sleep", lambda self, seconds: None)
