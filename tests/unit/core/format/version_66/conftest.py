"""The version is known while its tests run."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.known import FORMATS
from spark_jobs.core.timeline.archive.known import FORMS as ARCHIVES
from spark_jobs.core.timeline.payloads.known import FORMS as PAYLOADS
from tests.unit.core.format.version_66.archive import LineArchive
from tests.unit.core.format.version_66.layout import Version66
from tests.unit.core.format.version_66.payloads import CompressedPayloads


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, 66, Version66())
    monkeypatch.setitem(ARCHIVES, "lines", LineArchive())
    monkeypatch.setitem(PAYLOADS, "compressed", CompressedPayloads())
