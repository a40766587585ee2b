"""The words with which a job starts Java where nobody did."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from spark_jobs.engine.session import submit_arguments

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("given", "packages", "words"),
    [
        (None, ("g:a_2.13:1",), "--packages g:a_2.13:1 pyspark-shell"),
        (None, (), "pyspark-shell"),
        (
            "--master 'local[2]' pyspark-shell",
            ("g:a_2.13:1",),
            "--packages g:a_2.13:1 --master 'local[2]' pyspark-shell",
        ),
        ("--packages g:a_2.13:0 pyspark-shell", ("g:a_2.13:1",), "--packages g:a_2.13:0 pyspark-shell"),
        ("--packages x:y:1 pyspark-shell", ("g:a_2.13:1",), "--packages x:y:1,g:a_2.13:1 pyspark-shell"),
    ],
)
def test_packages_in_the_words_that_start_java(given: str | None, packages: tuple[str, ...], words: str) -> None:
    assert submit_arguments(given, packages) == words
