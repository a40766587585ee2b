"""A plan's hash: what it depends on, and what a refusal says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.plan_hash import PlanFacts, digest_of, refuse_other_plan

pytestmark = pytest.mark.unit

PLAN = PlanFacts(service="clean", content={"delete": ["p/a", "p/b"], "retain": "001"}, files=2, bytes=30)


def timeline(folder: Path, *names: str) -> ActiveTimeline:
    for name in names:
        (folder / name).touch()
    return ActiveTimeline.load(LocalStorage(), str(folder), str(folder / "archived"), format=VERSION_6)


def test_the_hash_names_the_plan_and_the_moment(tmp_path: Path) -> None:
    line = timeline(tmp_path, "20260101000000000.commit")
    found = PLAN.hash_at(line)
    assert found == f"{PLAN.digest}-2-30-20260101000000000"
    assert digest_of(found) == PLAN.digest
    assert PLAN.is_requested_by(found)
    assert replace(PLAN, content={"retain": "001", "delete": ["p/a", "p/b"]}).digest == PLAN.digest
    others = [replace(PLAN, service="archive"), replace(PLAN, content={"delete": ["p/b", "p/a"], "retain": "001"})]
    assert len({PLAN.digest, *(one.digest for one in others)}) == 3


def test_a_later_moment_means_the_same_plan(tmp_path: Path) -> None:
    asked = PLAN.hash_at(timeline(tmp_path, "20260101000000000.commit"))
    refuse_other_plan(asked, PLAN, timeline(tmp_path, "20260102000000000.commit"))


def test_a_refusal_says_what_changed(tmp_path: Path) -> None:
    asked = PLAN.hash_at(timeline(tmp_path, "20260101000000000.commit"))
    same = timeline(tmp_path)
    other = replace(PLAN, content={}, files=3, bytes=40)
    with pytest.raises(WriteConflictError, match="had 2 file\\(s\\) of 30 bytes and would have 3 of 40 bytes"):
        refuse_other_plan(asked, other, same)
    with pytest.raises(WriteConflictError, match=r"as many files and bytes, .*no instant came since"):
        refuse_other_plan(asked, replace(PLAN, content={}), same)
    later = timeline(tmp_path, *(f"2026010200000000{number}.commit" for number in range(4)))
    expected = (
        r"no such plan now: 1 commit; 4 instant\(s\) came since: 20260102000000000 commit \(completed\), .*, \.\.\."
    )
    with pytest.raises(WriteConflictError, match=expected):
        refuse_other_plan(asked, Nothing("1 commit"), later)


@pytest.mark.parametrize("text", ["", "abc", "a-1-2-3", f"{'0' * 24}-x-2-3"])
def test_what_is_no_hash(text: str) -> None:
    with pytest.raises(ConfigError, match="is no hash of a plan"):
        digest_of(text)
