"""What a process keeps of objects that it read."""

from __future__ import annotations

import pytest

from spark_jobs.core.storage.objects.kept import Kept

pytestmark = pytest.mark.unit


def test_the_one_that_nobody_asked_for_longest_goes() -> None:
    kept = Kept(most=10)
    for name in "abc":
        kept.keep(name, name.encode() * 4)
        assert kept.get("a") == b"aaaa"
    assert kept.get("b") is None
    assert kept.get("c") == b"cccc"


def test_a_version_that_comes_again_counts_once() -> None:
    kept = Kept(most=10)
    for _ in range(5):
        kept.keep("a", b"aaaa")
    kept.keep("b", b"bbbb")
    assert (kept.get("a"), kept.get("b")) == (b"aaaa", b"bbbb")


def test_long_ones_are_not_kept() -> None:
    kept = Kept()
    kept.keep("a", bytes((2 << 20) + 1))
    assert kept.get("a") is None
