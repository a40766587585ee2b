"""A process dies, or an answer is lost, at each change of a table in a store of objects; then the task runs again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options import CleanOptions, ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.faults.faulty_storage import CHANGES, DIED, GUARDS, Fault, FaultyStorage
from tests.faults.test_storage_faults import COW, FIRST, MOR, SECOND, THIRD, in_another_process
from tests.support.object_store import ObjectStore

pytestmark = pytest.mark.faults

QUIET = Progress.silent("test")
URL = "mem://lake/t"


def new_table(file: Path, table_type: str) -> ObjectStore:
    store = ObjectStore(str(file))
    lake = Lake(storages={"mem": store})
    HudiTable.create(
        URL,
        name="t",
        table_type=table_type,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=lake,
    )
    local.write(URL, FIRST, "first", lake=lake)
    local.write(URL, SECOND, "second", lake=lake)
    return store


def upsert(lake: Lake) -> None:
    local.write(URL, THIRD, "third", lake=lake)


def rewrite(lake: Lake) -> None:
    engine = LocalEngine(SYSTEM_CLOCK)
    if HudiTable.open(URL, lake=lake).config.is_merge_on_read:
        run_compaction(engine, CompactionOptions(base_path=URL, hoodie_conf=local.AT_ONCE), QUIET, lake=lake)
    else:
        run_clustering(engine, ClusteringOptions(base_path=URL, hoodie_conf=local.AT_ONCE), QUIET, lake=lake)


@pytest.mark.parametrize("fault", [Fault.DIE_BEFORE, Fault.LOSE_ANSWER])
@pytest.mark.parametrize("act", [upsert, rewrite], ids=lambda one: one.__name__)
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_rerun_gives_the_same(tmp_path: Path, table_type: str, act: Callable[[Lake], None], fault: Fault) -> None:
    before = Path(new_table(tmp_path / "before", table_type).file).read_bytes()
    expected = local.expected_rows(FIRST, SECOND, *([THIRD] if act is upsert else []))
    whole = FaultyStorage(inner=new_copy(tmp_path / "whole", before))
    act(Lake(storages={"mem": whole}))
    changes = [(number, call) for number, call in enumerate(whole.calls) if call in CHANGES - GUARDS]
    assert len(changes) > 10
    wrong = []
    for number, call in changes:
        store = new_copy(tmp_path / str(number), before)
        faulty = FaultyStorage(fault, number, store)
        code = in_another_process(lambda faulty=faulty: act(Lake(storages={"mem": faulty})))
        assert code == DIED or fault is Fault.LOSE_ANSWER
        lake = Lake(storages={"mem": store})
        act(lake)
        roll_back_failed_writes(HudiTable.open(URL, lake=lake).transaction_settings(local.AT_ONCE))
        run_cleaning(CleanOptions(base_path=URL, hoodie_conf=local.AT_ONCE), QUIET, lake=lake)
        found = [] if local.rows_of(URL, lake) == expected else ["other rows"]
        found += [str(one) for one in validate(URL, lake=lake)]
        wrong += [f"call {number} ({call}): {one}" for one in found]
    assert not wrong, "\n".join(wrong)


def new_copy(file: Path, content: bytes) -> ObjectStore:
    file.write_bytes(content)
    return ObjectStore(str(file))
