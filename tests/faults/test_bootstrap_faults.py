"""A bootstrap of both kinds, one partition each, broken at each storage call that changes something, then run again:
the same table, and nothing left.

``make all-faults`` breaks each call that reads too, and in every way.
"""

from __future__ import annotations

import pytest

from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.broken_calls import ALL, act_with
from tests.faults.faulty_storage import CHANGES, DIED, GUARDS, Fault, FaultyStorage
from tests.support.deaths import in_another_process
from tests.support.folder import Folder
from tests.support.locks import outlast
from tests.unit.services.bootstrap.sources import NORTH_STAYS, all_rows, bootstrap, make_source, rows_of

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7200)]


IN_CI = [("COPY_ON_WRITE", Fault.DIE_BEFORE), ("MERGE_ON_READ", Fault.LOSE_ANSWER)]
EVERY = [(table_type, fault) for table_type in ("COPY_ON_WRITE", "MERGE_ON_READ") for fault in Fault]


@pytest.mark.parametrize(("table_type", "fault"), EVERY if ALL else IN_CI)
def test_after_any_broken_call_a_rerun_gives_the_same(root: Folder, table_type: str, fault: Fault) -> None:
    source, expected = make_source(root / "source", hive=False), all_rows().combine_chunks()
    for name in ("north/part-1.parquet", "south/part-1.parquet"):
        (source / name).unlink()
    expected = expected.filter([number % 14 < 7 for number in range(expected.num_rows)])

    conf = {**NORTH_STAYS, "hoodie.write.lock.wait_time_ms": "10000"}
    look = bootstrap(root / "whole", source, conf, table_type=table_type, dry_run=True)
    by_hash = look.extra["plan_hash"] if table_type == "COPY_ON_WRITE" else None  # as a retry of a task gives it again

    def act(path: Folder) -> None:
        bootstrap(path, source, conf, table_type=table_type, plan_hash=by_hash)

    record = root / "calls"

    def whole() -> None:
        storage = FaultyStorage(inner=root.storage)
        act_with(storage, act, root / "whole")
        record.write_text("\n".join(storage.calls))

    assert in_another_process(whole) == 0
    calls = record.read_text().splitlines()
    reads_too = ALL and fault in (Fault.DIE_BEFORE, Fault.REFUSE)
    broken = [number for number, call in enumerate(calls) if reads_too or call in CHANGES - GUARDS]
    assert len(broken) > 50
    wrong = []
    for number in broken:
        path = root / str(number)
        storage = FaultyStorage(fault, number, root.storage)
        code = in_another_process(lambda storage=storage, path=path: act_with(storage, act, path))
        assert code == (DIED if fault in (Fault.DIE_BEFORE, Fault.DIE_AFTER) else code)
        outlast(path)
        found = []
        if in_another_process(lambda path=path: act(path)) != 0:
            found = ["the rerun failed"]
        else:
            found += [] if rows_of(path).equals(expected) else [f"{rows_of(path).num_rows} rows"]
            found += local.problems_of(path) + [str(one) for one in validate(str(path), deep=True, lake=path.lake)]
        wrong += [f"call {number} ({calls[number]}): {one}" for one in found]
        path.remove()
    assert not wrong, "\n".join(wrong)
