"""The version is known while its tests run."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.known import FORMATS
from spark_jobs.core.timeline.archive.known import FORMS
from tests.unit.core.format.version_66.archive import LineArchive
from tests.unit.core.format.version_66.layout import Version66


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, 66, Version66())
    monkeypatch.setitem(FORMS, "lines", LineArchive())
