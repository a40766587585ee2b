"""What is repeated beside its caller: until it says so, or is stopped."""

from __future__ import annotations

import threading

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.unit


def test_it_goes_on_until_the_work_says_no() -> None:
    done: list[int] = []
    over = threading.Event()

    def work() -> bool:
        done.append(len(done))
        if len(done) == 3:
            over.set()
        return len(done) < 3

    repetition = SYSTEM_CLOCK.every(0.001, work, "test")
    repetition.start()
    assert over.wait(10)
    repetition.stop()
    assert done == [0, 1, 2]


def test_a_stop_waits_for_what_is_under_way() -> None:
    begun, finished = threading.Event(), threading.Event()

    def work() -> bool:
        begun.set()
        SYSTEM_CLOCK.sleep(0.05)
        finished.set()
        return True

    repetition = SYSTEM_CLOCK.every(0.001, work, "test")
    repetition.start()
    assert begun.wait(10)
    repetition.stop()
    assert finished.is_set()


def test_one_that_was_never_started_can_be_stopped() -> None:
    SYSTEM_CLOCK.every(0.001, lambda: pytest.fail("it ran"), "test").stop()
