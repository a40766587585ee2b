"""The JSON that a job hands to Airflow."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.options import CleanOptions, JobResult, JobState, OptionsError

pytestmark = pytest.mark.unit


@given(
    state=st.sampled_from(JobState),
    reason=st.none() | st.text(),
    counts=st.dictionaries(st.sampled_from(["files_in", "bytes_out", "records_out", "deletes"]), st.integers(0)),
    seconds=st.dictionaries(st.text(), st.floats(0, allow_nan=False, allow_infinity=False)),
    plan=st.none() | st.dictionaries(st.text(), st.lists(st.text())),
)
def test_json_reads_back_to_an_equal_value(
    state: JobState,
    reason: str | None,
    counts: dict[str, int],
    seconds: dict[str, float],
    plan: dict[str, list[str]] | None,
) -> None:
    result = JobResult(action="commit", state=state, reason=reason, seconds_by_phase=seconds, plan=plan, **counts)  # type: ignore[arg-type]
    assert "\n" not in result.to_json()
    assert JobResult.from_json(result.to_json()) == result


def test_a_newer_job_may_say_more() -> None:
    text = json.dumps({"action": "clean", "state": "COMPLETED", "colour": "blue", "extra": {"a": 1}})
    assert JobResult.from_json(text).extra == {"colour": "blue", "a": 1}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"action": "clean", "state": "LOST"}', "not json", "[" * 100_000])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(OptionsError, match="is not the result of a job"):
        JobResult.from_json(text)


def test_a_hash_that_came_to_nothing_is_no_leave_to_do_any_plan() -> None:
    for nothing in ("", " ", "None"):
        with pytest.raises(OptionsError, match="--plan-hash came to nothing: give the hash"):
            CleanOptions.from_args(["--base-path=/t", f"--plan-hash={nothing}"])
