"""Storage calls of an action that break, one after the other, and what the table is like then."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.table_config import BACKUP
from spark_jobs.core.format.instant import COMMITS, Action
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.services.savepoint.job import savepoints_of
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.faulty_storage import CHANGES, DIED, GUARDS, NOT_MET, Fault, FaultyStorage
from tests.support.deaths import in_another_process
from tests.support.folder import Folder
from tests.support.locks import outlast
from tests.unit.core.metadata_table.agreement import disagreements

BACKUP_PATH = f".hoodie/{BACKUP}"
"""Of the properties: one that an update left is read where they are damaged, and goes with the next update."""
ALL = bool(os.environ.get("PYHUDI_ALL_FAULTS"))
"""Every call, and every way to break it."""
COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
FIRST, SECOND, THIRD = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(4, 10, "three", 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """``prepare`` makes the table, ``act`` is what breaks, ``expected`` the rows at the end."""

    table_type: str
    prepare: Callable[[Folder], None]
    act: Callable[[Folder], object]
    expected: tuple[pa.Table, ...]


def two_commits(path: Folder) -> None:
    local.write(path, FIRST, "first")
    local.write(path, SECOND, "second")


def small_files(path: Folder) -> None:
    local.write(path, FIRST, "first")
    local.write(path, local.batch(20, 10, "more", 2), "second")


def act_with(storage: FaultyStorage, act: Callable[[Folder], object], path: Folder) -> None:
    """Run in a lake whose calls all go through ``storage``; it ends with ``NOT_MET`` where it never made the one that
    breaks, and only in a forked process therefore.
    """
    act(path.through(storage))
    if storage.at is not None and len(storage.calls) <= storage.at:
        os._exit(NOT_MET)


def calls_of(case: Case, path: Folder, record: Folder) -> list[str]:
    """The storage calls of the action where nothing breaks."""

    def work() -> None:
        storage = FaultyStorage(inner=path.storage)
        act_with(storage, case.act, path)
        record.write_text("\n".join(storage.calls))

    assert in_another_process(work) == 0
    return record.read_text().splitlines()


def wrong_after_broken_calls(
    case: Case, root: Folder, faults: Iterable[Fault] = Fault, *, only_changes: bool = False
) -> list[str]:
    """What is not as it should be after a rerun, for each call of the action and each way to break it.

    :param faults: the ways; all of them where all faults are asked for.
    :param only_changes: calls that read are left out, but where all faults are asked for.
    """
    faults, only_changes = (Fault, False) if ALL else (faults, only_changes)
    template = root / "template"
    local.create(template, case.table_type)
    case.prepare(template)
    untouched = root / "untouched"
    template.copy_to(untouched)
    calls = calls_of(case, untouched, root / "calls")
    expected = local.expected_rows(*case.expected)
    assert local.rows_of(untouched) == expected
    assert in_another_process(lambda: (local.roll_back(untouched), local.clean(untouched))) == 0
    whole = state_of(untouched)
    wrong: list[str] = []
    met = broken = 0
    for number, call in enumerate(calls):
        if call in GUARDS and not ALL and number % 5:
            continue
        for fault in faults:
            if (only_changes or fault in (Fault.DIE_AFTER, Fault.LOSE_ANSWER)) and call not in CHANGES:
                continue  # a read that was made and lost is a read that was refused
            if not ALL and _is_another_death(fault, call, faults, is_last=not CHANGES & {*calls[number + 1 :]}):
                continue
            broken += 1
            path = root / f"{number}-{fault.name}"
            template.copy_to(path)
            storage = FaultyStorage(fault, number, path.storage)
            code = in_another_process(lambda storage=storage, path=path: act_with(storage, case.act, path))
            met += code != NOT_MET
            if fault in (Fault.DIE_BEFORE, Fault.DIE_AFTER):
                assert code == DIED, f"call {number} ({call}), {fault.name}: it ended with {code}"
            outlast(path)
            found = what_is_wrong(case, path, whole)
            wrong += [f"call {number} ({call}), {fault.name}: {one}" for one in found]
            path.remove()
    assert met > broken / 2
    return wrong


def _is_another_death(fault: Fault, call: str, faults: Iterable[Fault], *, is_last: bool) -> bool:
    """Whether a death leaves what another one leaves: before a read, as before the change that follows it, and after a
    change, as before the next one. A data file that was opened is empty only right after that.

    :param is_last: no change follows.
    """
    if fault is Fault.DIE_BEFORE:
        return call not in CHANGES
    return fault is Fault.DIE_AFTER and Fault.DIE_BEFORE in faults and call != "open_output" and not is_last


def what_is_wrong(case: Case, path: Folder, whole: dict[str, Any]) -> list[str]:
    """Run again without faults, clean, and look; ``whole`` is the state of a table where nothing broke."""
    if in_another_process(lambda: case.act(path)) != 0:
        return ["the rerun failed"]
    if in_another_process(lambda: (local.roll_back(path), local.clean(path))) != 0:
        return ["rollback and clean after the rerun failed"]
    now = state_of(path)
    found = [f"{name} {now[name]}, not {whole[name]}" for name in whole if now[name] != whole[name]]
    found += [str(one) for one in validate(str(path), deep=ALL, lake=path.lake) if one.path != BACKUP_PATH]
    return found + local.problems_of(path) + disagreements(path)


def state_of(path: Folder) -> dict[str, Any]:
    """What two tables have in common that came to the same: not their times and names of files, nor how often they were
    cleaned and something was rolled back. That the metadata table lists what the storage does is looked at elsewhere.
    """
    table = path.table(lists_storage=True)
    line = table.timeline
    archived = ArchivedTimeline.load(line.archive_place).states
    commits = {
        (one.timestamp, one.action.value)
        for one in (*line.completed_commits(), *archived)
        if one.is_completed and one.action in COMMITS
    }
    slices = [(one.partition, one.base_file is not None) for one in table.file_slices()]
    saved = [[one.timestamp for one in line.completed_commits()].index(one.instant) for one in savepoints_of(table)]
    return {
        "rows": local.rows_in(table),
        "commits": [action for _, action in sorted(commits)],
        "restores": len(line.completed(Action.RESTORE)),
        "savepoints": saved,
        "file groups": sorted(slices),
        "indexes": sorted(table.config.metadata_partitions),
    }
