"""The words with which a job starts Java where nobody did, and how Java talks to workers."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from spark_jobs.engine.session import SOCKET_FOLDER_LENGTH, UNIX_SOCKETS, socket_settings, submit_arguments

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


@pytest.mark.parametrize(
    ("given", "is_by_sockets"),
    [
        ({}, True),
        ({"spark.master": "local[*]"}, True),
        ({"spark.master": "yarn"}, False),
        ({"spark.python.unix.domain.socket.enabled": "false"}, False),
        ({"java.io.tmpdir": "/" + "t" * SOCKET_FOLDER_LENGTH}, False),
        ({"java.io.tmpdir": ""}, False),
    ],
)
def test_workers_of_this_machine_are_talked_to_by_unix_sockets(given: dict[str, str], is_by_sockets: bool) -> None:
    properties = {"spark.master": "local[2]", "java.io.tmpdir": "/tmp", **given}
    assert socket_settings(properties.get) == (UNIX_SOCKETS if is_by_sockets else {})
