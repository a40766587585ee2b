"""What a process keeps of objects that it read."""

from __future__ import annotations

import pytest

from spark_jobs.core.storage.objects.kept import Kept

pytestmark = pytest.mark.unit


def test_the_one_that_nobody_asked_for_longest_goes() -> None:
    kept = Kept(most=10)
    for name in "abc":
        kept.keep(name, "v1", name.encode() * 4)
        assert kept.get("a", "v1") == b"aaaa"
    assert kept.get("b", "v1") is None
    assert kept.get("c", "v1") == b"cccc"


def test_a_version_that_comes_again_counts_once() -> None:
    kept = Kept(most=10)
    for _ in range(5):
        kept.keep("a", "v1", b"aaaa")
    kept.keep("b", "v1", b"bbbb")
    assert (kept.get("a", "v1"), kept.get("b", "v1")) == (b"aaaa", b"bbbb")


def test_long_ones_are_not_kept() -> None:
    kept = Kept()
    kept.keep("a", "v1", bytes((2 << 20) + 1))
    assert kept.get("a", "v1") is None


def test_another_version_and_one_without_a_name_are_read_again() -> None:
    kept = Kept()
    kept.keep("a", "v1", b"one")
    kept.keep("b", "", b"one")
    assert (kept.get("a", "v2"), kept.get("b", "")) == (None, None)
