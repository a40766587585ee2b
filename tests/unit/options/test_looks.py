"""Options of the jobs that only look at a table: what `to_args` writes, `from_args` reads back."""

from __future__ import annotations

import pytest

from spark_jobs.options import HealthOptions, JobOptions, ValidateOptions
from tests.words import all_words

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "options",
    [
        ValidateOptions(base_path="/t"),
        ValidateOptions(base_path="/t", deep=True, strict=True, overdue_hours=0, result_file="/r.json"),
        HealthOptions(base_path="/t"),
        HealthOptions(
            base_path="/t",
            json=True,
            picture="/p.svg",
            footers=True,
            list_storage=True,
            overdue_hours=3,
            hoodie_conf={"hoodie.keep.max.commits": "40"},
        ),
    ],
)
def test_arguments_read_back_to_an_equal_value(options: JobOptions) -> None:
    assert type(options).from_args(all_words(options)) == options
