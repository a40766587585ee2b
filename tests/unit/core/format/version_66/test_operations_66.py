"""The operations and indexes of writes, and what looks at a table, on the made-up version."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.core.config.keys.table import VERSION
from spark_jobs.core.create import new_table_properties
from spark_jobs.core.format.instant import Action
from spark_jobs.core.table import HudiTable
from spark_jobs.ddl.alter_job import run_alter_table
from spark_jobs.options.alter_table import AlterTableOptions
from spark_jobs.options.health import HealthOptions
from spark_jobs.options.repair import RepairOptions
from spark_jobs.options.result import JobState
from spark_jobs.services.health.job import run_health
from spark_jobs.services.repair.job import run_repair
from spark_jobs.services.validation.run import validate
from tests.faults import local_table
from tests.support.folder import Folder
from tests.support.jobs import job_context
from tests.unit.core.format.version_66.tables import TYPES, create, write

pytestmark = pytest.mark.unit

BY_KEY: dict[str, dict[str, str]] = {
    "BUCKET": {"hoodie.bucket.index.num.buckets": "3"},
    "GLOBAL_SIMPLE": {"hoodie.simple.index.update.partition.path": "true"},
    "GLOBAL_BLOOM": {"hoodie.bloom.index.update.partition.path": "true"},
}
FIRST, SECOND = local_table.batch(0, 20, "v1", 1), local_table.batch(10, 20, "v2", 2)


def sound(path: Folder) -> bool:
    return validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize("table_type", TYPES)
def test_operations_that_look_nothing_up(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    for _ in range(2):
        path.table().bulk_insert(FIRST)
    assert len(local_table.rows_of(path)) == 40
    path.table().insert_overwrite(SECOND, whole_table=True)
    assert local_table.rows_of(path) == local_table.expected_rows(SECOND)
    path.table().delete_partitions(["a"])
    assert {one["p"] for one in path.table().scan(columns=["p"]).to_arrow().to_pylist()} == set(
        SECOND["p"].to_pylist()
    ) - {"a"}
    assert sound(path)


@pytest.mark.parametrize("index", BY_KEY)
@pytest.mark.parametrize("table_type", TYPES)
def test_indexes_that_place_by_keys_or_look_everywhere(root: Folder, table_type: str, index: str) -> None:
    path = root / "t"
    create(path, table_type)
    conf = {"hoodie.index.type": index, **BY_KEY[index]}
    path.table().upsert(FIRST, hoodie_conf=conf)
    done = path.table().upsert(SECOND, hoodie_conf=conf)
    assert done.inserts + done.updates == 20
    assert local_table.rows_of(path) == local_table.expected_rows(FIRST, SECOND)
    if index != "BUCKET":
        moved = FIRST.set_column(FIRST.schema.get_field_index("p"), "p", [["elsewhere"] * 20])
        path.table().upsert(moved.set_column(FIRST.schema.get_field_index("ts"), "ts", [[9] * 20]), hoodie_conf=conf)
        assert len(local_table.rows_of(path)) == 30
    assert sound(path)


@pytest.mark.parametrize("table_type", TYPES)
def test_virtual_keys(root: Folder, table_type: str) -> None:
    path = root / "t"
    asked: dict[str, Any] = {"record_key_fields": ["id"], "partition_fields": ["p"], "precombine_field": "ts"}
    values = new_table_properties(name="t", table_type=table_type, **asked)
    HudiTable.initialise(
        str(path), {**values, VERSION.name: "66", "hoodie.populate.meta.fields": "false"}, lake=path.lake
    )
    path.table().bulk_insert(FIRST)
    path.table().upsert(SECOND)
    found = path.table().scan(columns=FIRST.column_names).to_arrow().to_pylist()
    wanted = {row["id"]: row for rows in (FIRST, SECOND) for row in rows.to_pylist()}
    assert sorted(found, key=lambda row: row["id"]) == [wanted[key] for key in sorted(wanted)]
    assert sound(path)


@pytest.mark.parametrize("table_type", TYPES)
def test_services_after_a_commit(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    path.table().upsert(FIRST)
    at_once = {
        **{"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"},
        **{"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"},
    }
    path.table().upsert(SECOND, hoodie_conf=at_once)
    done = {one.action for one in path.table().timeline.instants if one.is_completed}
    assert Action.REPLACE_COMMIT in done
    assert (Action.COMMIT in done) or table_type == "MERGE_ON_READ"
    assert local_table.rows_of(path) == local_table.expected_rows(FIRST, SECOND)
    assert sound(path)


@pytest.mark.parametrize("table_type", TYPES)
def test_what_looks_at_a_table_and_what_changes_its_columns(root: Folder, table_type: str) -> None:
    path = root / "t"
    create(path, table_type)
    for version in (1, 2):
        write(path, version)
    context, base = job_context(lake=root.lake), str(path)
    assert run_health(HealthOptions(base_path=base), context).state is JobState.COMPLETED
    assert run_repair(RepairOptions(base_path=base), context).state is JobState.NOTHING_TO_DO
    alter = AlterTableOptions(base_path=base, ddl="alter table t add columns (more string)")
    assert run_alter_table(alter, context).state is JobState.COMPLETED
    assert "more" in path.table().schema.names
    assert len(local_table.rows_of(path)) == 20
    assert sound(path)
