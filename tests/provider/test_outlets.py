"""For which results Airflow makes events of the assets that a task writes."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.sdk import Asset

from airflow_provider_pyhudi import HudiIngestOperator, hudi_asset
from spark_jobs.options import JobResult, JobState

pytestmark = pytest.mark.provider


@pytest.mark.parametrize(
    ("state", "repeated", "extra", "left"),
    [
        (JobState.COMPLETED, False, {}, 3),
        (JobState.COMPLETED, True, {}, 0),
        (JobState.COMPLETED, True, {"generation": 1}, 3),  # by a try of this task that had not succeeded
        (JobState.NOTHING_TO_DO, False, {"generation": 1}, 0),
        (JobState.DRY_RUN, False, {}, 0),
    ],
)
def test_no_asset_is_left_where_nothing_was_written(
    state: JobState, repeated: bool, extra: dict[str, Any], left: int
) -> None:
    """Neither one that stands there itself nor one that is referred to: Airflow makes events of both."""
    asset = hudi_asset("/lake/t")
    operator = HudiIngestOperator(
        task_id="t", base_path="/lake/t", outlets=[asset, Asset.ref(name=asset.name), Asset.ref(uri=asset.uri)]
    )
    events: dict[Any, Any] = {asset: Event()}
    result = JobResult(action="commit", state=state, repeated=repeated, extra=extra)
    operator._report(result, {"outlet_events": events})  # type: ignore[typeddict-item]  # all it asks
    assert len(operator.outlets) == left


class Event:
    def __init__(self) -> None:
        self.extra: dict[str, Any] = {}
