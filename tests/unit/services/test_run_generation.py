"""When a generation of a run's name has ended, by what is known of its tries."""

from __future__ import annotations

import pytest

from spark_jobs.options import OptionsError
from spark_jobs.services.run_generation import FOLDER, Attempt, RunRecord, Verdict, generation_key, judge, sweep
from tests.support.folder import Folder

pytestmark = pytest.mark.unit


def verdict(now: str, then: str, *, returned: bool = False, is_recent: bool = True) -> Verdict:
    earlier = Attempt.parse(then) if then else None
    return judge(Attempt.parse(now), earlier, returned=returned, is_recent=is_recent)


@pytest.mark.parametrize(
    ("now", "then", "returned", "is_recent", "expected"),
    [
        ("2/3/3", "1/3/3", False, True, Verdict.SAME),  # a retry
        ("2/3/3", "1/3/3", True, True, Verdict.SAME),  # of a try that died between its return and Airflow's word
        ("1/3/3", "1/3/3", True, True, Verdict.SAME),  # the same try, started once more
        ("2/1/0", "1/0/0", False, True, Verdict.SAME),  # cleared after a try that died before it returned
        ("2/2/2", "1/1/1", False, True, Verdict.SAME),  # retries edited between tries, after such a one
        ("2/1/0", "1/0/0", True, True, Verdict.UNKNOWN),  # cleared after a try that returned, without a word since
        ("2/2/2", "1/1/1", True, True, Verdict.UNKNOWN),  # or retries were edited after such a one
        ("2/1/0", "1/0/0/unrecorded", False, True, Verdict.UNKNOWN),  # cleared, and no record could be kept
        ("2/1/1/unrecorded", "1/1/1", False, True, Verdict.SAME),  # a retry on a worker that can keep none
        ("2/1/0", "1/0/0", False, False, Verdict.UNKNOWN),  # cleared after so long that the record is swept
        ("2/3/3", "", False, True, Verdict.SAME),  # a retry of a write of a release without generations
        ("2/1/0", "", False, True, Verdict.UNKNOWN),  # cleared, of such a release
        ("1/0/0", "", False, True, Verdict.UNKNOWN),  # the run was deleted and made again
    ],
)
def test_whose_a_write_is(now: str, then: str, returned: bool, is_recent: bool, expected: Verdict) -> None:
    assert verdict(now, then, returned=returned, is_recent=is_recent) is expected


def test_attempts_read_back() -> None:
    for text in ("1/2/3", "1/2/3/unrecorded", "1/2/3/after=0", "1/2/3/after=4/unrecorded"):
        assert str(Attempt.parse(text)) == text
    assert (Attempt.parse("1/2/3/after=4").ended, Attempt.parse("1/2/3").ended) == (4, None)
    for text in ("", "1/2", "a/b/c", "1/2/3/4", "1/2/3/after=", "1/2/3/unrecorded/after=1"):
        with pytest.raises(OptionsError, match=f"--attempt={text} is not valid: give TRY/HIGHEST_TRY/RETRIES"):
            Attempt.parse(text)


def test_the_first_generation_has_the_name_as_its_key() -> None:
    assert [generation_key("d/t/r/-1", number) for number in (0, 1)] == ["d/t/r/-1", "d/t/r/-1#1"]


def test_a_record_goes_from_the_return_to_the_success(root: Folder) -> None:
    storage, base = root.storage, str(root)
    assert RunRecord.read(storage, base, "n") == RunRecord()
    back = RunRecord().coming_back(0)
    back.write(storage, base, "n")
    assert RunRecord.read(storage, base, "n") == back == RunRecord(ended=0, returned=0)
    assert back.failed(0) == RunRecord()
    assert back.failed(1) == back
    assert back.succeeded(0) == RunRecord(ended=1)
    assert RunRecord(ended=3).succeeded(0) == RunRecord(ended=3)
    assert RunRecord(ended=0).coming_back(1) == RunRecord(ended=1, returned=1)  # the one before it is over
    later = RunRecord(ended=2, returned=2)
    assert (later.coming_back(1), later.succeeded(1), later.failed(1)) == (later, later, later)  # a try given up
    assert RunRecord.read(storage, base, "m") == RunRecord()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ended": "x"}'])
def test_a_spoilt_record_says_nothing(text: str, root: Folder) -> None:
    storage, base = root.storage, str(root)
    RunRecord(ended=1).write(storage, base, "n")
    next((root / FOLDER).iterdir()).write_text(text)
    found = RunRecord.read(storage, base, "n")
    assert found == RunRecord(is_whole=False)
    assert found.may_have_returned(0)
    assert not RunRecord().may_have_returned(0)


def test_old_records_are_swept(root: Folder) -> None:
    storage, base = root.storage, str(root)
    seen: set[Folder] = set()
    for name in ("old", "young", "own"):
        RunRecord(ended=1).write(storage, base, name)
        days = {"old": 91, "young": 89}.get(name, 0)
        (newest,) = set((root / FOLDER).iterdir()) - seen
        seen.add(newest)
        newest.date(newest.modified_ms - days * 24 * 3_600_000)
    stray = root / FOLDER / "notes.txt"
    stray.write_text("not a record")
    stray.date(0)
    sweep(storage, base, "own")
    assert stray.exists()
    assert [RunRecord.read(storage, base, name).ended for name in ("old", "young", "own")] == [0, 1, 1]
