"""Where rows go whose keys a base file has and a log deleted."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation, ServiceMode
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.direct.dead_places import living_places
from spark_jobs.write.direct.exchanged import ExchangedRows, place_exchanged
from spark_jobs.write.direct.keyed import KeyedSource
from spark_jobs.write.direct.locate import Hits
from spark_jobs.write.direct.place import Placement, Placing
from spark_jobs.write.direct.tagged import NEW, by_partition
from spark_jobs.write.routes import number_slices
from spark_jobs.write.workload import OpenWrite
from tests.support.folder import Folder
from tests.unit.core.support import contents, context_of, new_table
from tests.unit.services.by_hand import ENGINE, change, compact, insert

pytestmark = pytest.mark.unit

DROPS = {"hoodie.datasource.write.insert.drop.duplicates": "true"}
WITH_RECORD_INDEX = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}


@pytest.fixture(params=["SIMPLE", "BLOOM"])
def index(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(root: Folder) -> HudiTable:
    """With the keys a, b, c in one file group, from which a log deletes a."""
    made = new_table(root / "t", clock=SYSTEM_CLOCK)
    insert(made, "a", "b", "c")
    change(made, [("a", True)], 5)
    return made


def placed(table: HudiTable, index: str, op: Operation, keys: list[str], conf: dict[str, str]) -> Placement:
    table = table.refreshed()
    options = IngestOptions(base_path=table.base_path, op=op, hoodie_conf={"hoodie.index.type": index, **conf})
    incoming = {RECORD_KEY: pa.array(keys), PARTITION_PATH: pa.array(["p"] * len(keys)).dictionary_encode()}
    placing = Placing(
        engine=ENGINE,
        tasks=2,
        config=resolve(options, table, table.lake),
        table=table,
        context=context_of(table, "1"),
        incoming=by_partition(pa.table(incoming)),
    )
    return placing.place(number_slices(table.view(["p"]).latest_slices()))


def groups_of(table: HudiTable, index: str, *keys: str, **conf: str) -> list[list[str]]:
    """For each key the file groups that an upsert of it goes to; none for a new one. Tasks that exchange keys say the
    same.
    """
    slices = number_slices(table.refreshed().view(["p"]).latest_slices())
    found = placed(table, index, Operation.UPSERT, list(keys), conf).rows["p"]
    groups = [
        sorted(slices[int(n)].file_id for n in found.buckets[found.places == place] if n != NEW)
        for place in range(len(keys))
    ]
    assert exchanged(table, index, Operation.UPSERT, list(keys), conf)[0] == groups
    return groups


def exchanged(
    table: HudiTable, index: str, op: Operation, keys: list[str], conf: dict[str, str]
) -> tuple[list[list[str]], int]:
    """The file groups of each key, and how many rows an insert drops."""
    table = table.refreshed()
    conf = {"hoodie.index.type": index, "pyhudi.ingest.driver.max.rows": "1", **conf}
    config = resolve(IngestOptions(base_path=table.base_path, op=op, hoodie_conf=conf), table, table.lake)
    progress = Progress.silent("write", SYSTEM_CLOCK)
    write = OpenWrite(engine=ENGINE, config=config, table=table, context=context_of(table, "1"), progress=progress)
    rows = pa.table({"id": keys, "p": ["p"] * len(keys)})
    work = place_exchanged(write, KeyedSource(source=ArrowSource.of(rows, "t"), spec=config.key_spec))
    assert work is not None
    assert isinstance(work.records, ExchangedRows)
    found: list[list[str]] = [[] for _ in keys]
    for share, places in zip(work.records.shares, work.records.places, strict=True):
        for one in places:
            for offset, bucket in zip(one.offsets.tolist(), one.buckets.tolist(), strict=True):
                if bucket >= 0:
                    found[share.start + offset].append(work.slices[bucket].file_id)
    return [sorted(groups) for groups in found], work.dropped


def test_a_dead_key_keeps_its_group(table: HudiTable, index: str) -> None:
    of_a, of_b, of_new = groups_of(table, index, "a", "b", "new")
    assert of_a == of_b != [] == of_new


def test_a_key_written_again_while_a_compaction_was_pending(table: HudiTable, index: str) -> None:
    """The base file that the compaction makes has no `a`, and the log that has it says that it is an update."""
    compact(table, mode=ServiceMode.SCHEDULE)
    change(table, [("a", False)], 7)
    compact(table, mode=ServiceMode.EXECUTE)
    assert [key for key, _, _ in contents(table)] == ["a", "b", "c"]
    of_a, of_b = groups_of(table, index, "a", "b")
    assert of_a == of_b != []
    change(table, [("b", True)], 8)
    assert groups_of(table, index, "b") == [of_b]  # dead in a slice whose logs are read


def test_an_insert_without_duplicates_takes_a_dead_key_for_new(table: HudiTable, index: str) -> None:
    found = placed(table, index, Operation.INSERT, ["a", "b", "new"], DROPS)
    assert found.dropped == 1
    assert found.rows["p"].rows.tolist() == [0, 2]
    assert exchanged(table, index, Operation.INSERT, ["a", "b", "new"], DROPS) == ([[], [], []], 1)


def test_a_key_of_two_groups_counts_where_it_lives(table: HudiTable, index: str) -> None:
    first = {one.file_id for one in table.refreshed().view(["p"]).latest_slices()}
    insert(table, "a", "d")
    (second,) = {one.file_id for one in table.refreshed().view(["p"]).latest_slices()} - first
    assert groups_of(table, index, "a", "d", "b") == [[second], [second], sorted(first)]
    change(table, [("a", True)], 9, second)
    (of_a,) = groups_of(table, index, "a")
    assert len(of_a) == 1  # a second place would make a second row
    insert(table, "b")
    assert len(groups_of(table, index, "b")[0]) == 2  # which lives in both


def test_with_a_record_index_a_dead_key_is_new(table: HudiTable, index: str) -> None:
    of_a, of_b = groups_of(table, index, "a", "b", **WITH_RECORD_INDEX)
    assert of_a == [] != of_b


def test_which_group_keeps_a_key_without_a_row_is_told_by_numbers_alone() -> None:
    hits: Hits = [(number, np.array([0])) for number in (7, 3, 5)]
    for order in permutations(hits):
        assert [number for number, _ in living_places(list(order), {3, 5, 7}, {})] == [3]
