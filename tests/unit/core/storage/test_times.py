"""The clock of the storage beside that of the host: ages go by the one, and what differs is told or refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.core.errors import ClockSkewError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.storage import LocalStorage, local
from spark_jobs.core.storage.times import age_ms, refuse_clock_ahead, skew_note
from spark_jobs.core.transaction.transaction import begin, schedule
from tests.unit.core.support import HandClock, new_table

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()


def off_by(seconds: float) -> HandClock:
    return HandClock(moment=datetime.now(UTC) + timedelta(seconds=seconds))


def test_the_storage_dates_a_file_that_is_never_seen(tmp_path: Path) -> None:
    (tmp_path / "before").touch()
    now = STORAGE.clock_ms(str(tmp_path))
    (tmp_path / "after").touch()
    dates = [(tmp_path / name).stat().st_mtime_ns // 1_000_000 for name in ("before", "after")]
    assert now is not None
    assert dates[0] <= now <= dates[1]
    assert {one.name for one in tmp_path.iterdir()} == {"before", "after"}


def test_a_disk_without_nameless_files_dates_one_that_goes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_nameless_file", lambda folder: None)
    now, status = STORAGE.clock_ms(str(tmp_path)), STORAGE.stat(str(tmp_path))
    assert now is not None
    assert status is not None
    assert abs(now - status.modified_ms) < 60_000
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_can_be_made_the_host_s_clock_counts(tmp_path: Path) -> None:
    assert STORAGE.clock_ms(str(tmp_path / "missing")) is None
    assert skew_note(STORAGE, str(tmp_path / "missing"), off_by(7200)) is None


@pytest.mark.parametrize("seconds", [-86400, 86400])
def test_an_age_is_by_the_storage(tmp_path: Path, seconds: float) -> None:
    (tmp_path / "file").touch()
    status = STORAGE.stat(str(tmp_path / "file"))
    assert status is not None
    assert 0 <= age_ms(STORAGE, status, off_by(seconds)) < 60_000


def test_a_skew_of_more_than_some_seconds_is_told(tmp_path: Path) -> None:
    assert skew_note(STORAGE, str(tmp_path), off_by(1)) is None
    for seconds, words in ((125, "125 s ahead of that"), (-3600, "3600 s behind that")):
        assert words in str(skew_note(STORAGE, str(tmp_path), off_by(seconds)))


def test_a_clock_that_is_hours_ahead_begins_nothing(tmp_path: Path) -> None:
    for seconds in (125, -86400):
        refuse_clock_ahead(STORAGE, str(tmp_path), off_by(seconds))
    clock = off_by(3600)
    settings = new_table(str(tmp_path / "t"), clock=clock).transaction_settings({})
    with pytest.raises(ClockSkewError, match="is 60 minutes ahead of that of the storage"):
        begin(settings, Action.COMMIT)
    with pytest.raises(ClockSkewError), settings.new_lock() as locked:
        schedule(locked, Action.COMPACTION, locked.load_timeline(), b"")
    assert settings.load_timeline().instants == ()
    assert not Path(settings.lock.path).exists()
