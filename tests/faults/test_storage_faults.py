"""Every storage call of every action is broken once, then the action runs again, and the table is what it is where
nothing breaks: rows, timeline, file groups, nothing left behind, nothing that validation finds (invariants 1, 5, 7, 9,
11 and 12).

The process that meets the fault is a forked one, so that its death is a death: no handler runs, and its lock and
heartbeat are those of a dead process.

In CI deaths that leave the same are met once, and the cases with many calls leave out reads, or some of the ways to
break; ``make all-faults`` (``PYHUDI_ALL_FAULTS=1``) breaks every call in every way, and validates with all rows.
"""

from __future__ import annotations

import pytest

from tests.faults import local_table as local
from tests.faults.broken_calls import (
    COW,
    FIRST,
    MOR,
    SECOND,
    THIRD,
    Case,
    small_files,
    two_commits,
    wrong_after_broken_calls,
)
from tests.faults.faulty_storage import Fault
from tests.support.folder import Folder

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]


def dead_write(path: Folder) -> None:
    two_commits(path)
    local.die_writing(path, THIRD)


CASES = {
    "upsert of a COW table": Case(
        table_type=COW,
        prepare=two_commits,
        act=lambda path: local.write(path, THIRD, "third"),
        expected=(FIRST, SECOND, THIRD),
    ),
    "upsert of a MOR table": Case(
        table_type=MOR,
        prepare=two_commits,
        act=lambda path: local.write(path, THIRD, "third"),
        expected=(FIRST, SECOND, THIRD),
    ),
    "first commit": Case(
        table_type=MOR,
        prepare=lambda path: None,
        act=lambda path: local.write(path, FIRST, "first"),
        expected=(FIRST,),
    ),
    "compaction": Case(table_type=MOR, prepare=two_commits, act=local.compact, expected=(FIRST, SECOND)),
    "clustering": Case(
        table_type=COW,
        prepare=small_files,
        act=local.cluster,
        expected=(FIRST, local.batch(20, 10, "more", 2)),
    ),
    "cleaning": Case(table_type=COW, prepare=two_commits, act=local.clean, expected=(FIRST, SECOND)),
    "rollback of a COW write": Case(table_type=COW, prepare=dead_write, act=local.roll_back, expected=(FIRST, SECOND)),
    "rollback of a MOR write": Case(table_type=MOR, prepare=dead_write, act=local.roll_back, expected=(FIRST, SECOND)),
}


IN_CI = {
    "upsert of a COW table": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
    "upsert of a MOR table": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER, Fault.REFUSE),
    "first commit": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
    "compaction": (Fault.DIE_BEFORE, Fault.REFUSE),
    "clustering": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
    "rollback of a COW write": (Fault.DIE_BEFORE, Fault.LOSE_ANSWER),
    "rollback of a MOR write": (Fault.DIE_BEFORE, Fault.REFUSE),
}
"""Each change of these in the named ways; of a cleaning every call in every way."""


@pytest.mark.parametrize("name", CASES)
def test_after_any_broken_call_a_rerun_gives_the_same(name: str, root: Folder) -> None:
    wrong = wrong_after_broken_calls(CASES[name], root, IN_CI.get(name, tuple(Fault)), only_changes=name in IN_CI)
    assert not wrong, "\n".join(wrong)
