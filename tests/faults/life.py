"""The life of a small table step by step, and what the table has to be after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyarrow as pa

from spark_jobs.core.format.instant import Action
from spark_jobs.core.locks.storage_lock import LOOKS
from spark_jobs.core.storage.objects.kept import KEPT
from spark_jobs.core.storage.objects.seen_time import SEEN
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder

Step = Callable[[Folder], object]
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
FIRST, SECOND, THIRD = local.batch(0, 8, "first", 1), local.batch(4, 8, "second", 2), local.batch(2, 3, "third", 3)
STEPS: dict[str, tuple[Step, tuple[pa.Table, ...], Action]] = {
    "insert": (lambda table: local.write(table, FIRST, "one"), (FIRST,), Action.COMMIT),
    "upsert": (lambda table: local.write(table, SECOND, "two"), (FIRST, SECOND), Action.COMMIT),
    "compact": (local.compact, (FIRST, SECOND), Action.COMMIT),
    "upsert again": (lambda table: local.write(table, THIRD, "three"), (FIRST, SECOND, THIRD), Action.COMMIT),
    "cluster": (local.cluster, (FIRST, SECOND, THIRD), Action.REPLACE_COMMIT),
    "clean": (local.clean, (FIRST, SECOND, THIRD), Action.CLEAN),
}
"""By name: what is done, the batches that the table has afterwards, and the instant of it."""
STEPS_OF = {COW: [one for one in STEPS if one != "compact"], MOR: list(STEPS)}


def check(table: Folder, table_type: str, last: str) -> None:
    """Each step to the last was done once, and nothing is left of its tries."""
    check_rows(table, table_type, last)
    problems = local.problems_of(table)
    assert not problems, "\n".join(problems)
    findings = [str(one) for one in validate(str(table), deep=True, lake=table.lake)]
    assert not findings, "\n".join(findings)


def check_rows(table: Folder, table_type: str, last: str) -> None:
    """Each step to the last was done once."""
    done = STEPS_OF[table_type][: STEPS_OF[table_type].index(last) + 1]
    assert local.rows_of(table) == local.expected_rows(*STEPS[last][1])
    found = Counter(one.action for one in table.table().timeline.instants if one.is_completed)
    delta = table_type == MOR
    wanted = Counter(
        Action.DELTA_COMMIT if delta and action is Action.COMMIT and name != "compact" else action
        for name, (_, _, action) in STEPS.items()
        if name in done
    )
    assert {one: number for one, number in found.items() if one is not Action.ROLLBACK} == wanted


def copied(made: Folder, to: Folder) -> Folder:
    """The same table at another place, which this process knows nothing of."""
    for file in made.walk():
        (to / str(file.relative_to(made))).write_bytes(file.read_bytes())
    LOOKS.clear()
    KEPT.clear()
    SEEN.clear()
    return to
