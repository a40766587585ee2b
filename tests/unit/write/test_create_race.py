"""Of two writers that make a table at the same time, the second goes by what the first one made."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.core.errors import ConfigError, TableNotFoundError
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.new_table import create_table
from tests.unit.core.support import new_table

pytestmark = pytest.mark.unit


def options(path: Path, **more: object) -> IngestOptions:
    given: dict[str, object] = {"table_name": "t", "record_key_fields": ("id",), "partition_path_fields": ("p",)}
    return IngestOptions(base_path=str(path), **{**given, **more})  # type: ignore[arg-type]


def test_the_first_gets_what_it_asked_for(tmp_path: Path) -> None:
    table, config, is_new = create_table(resolve(options(tmp_path / "t"), None, Lake()))
    assert (is_new, config.is_merge_on_read, table.config.is_merge_on_read) == (True, False, False)


def test_the_second_writes_by_the_properties_on_storage(tmp_path: Path) -> None:
    asked = resolve(options(tmp_path / "t"), None, Lake())
    new_table(str(tmp_path / "t"))  # the other writer's: MERGE_ON_READ, with a precombine field
    table, config, is_new = create_table(asked)
    assert (is_new, config.is_merge_on_read, config.precombine_field) == (False, True, "ts")
    assert table.config.is_merge_on_read


def test_the_second_is_refused_where_it_asked_for_something_else(tmp_path: Path) -> None:
    asked = resolve(options(tmp_path / "t", record_key_fields=("other",)), None, Lake())
    new_table(str(tmp_path / "t"))
    with pytest.raises(ConfigError, match="--record-key-fields other contradicts table t, which has id"):
        create_table(asked)


def test_nothing_is_deleted_from_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError, match="there is no table at"):
        resolve(options(tmp_path / "t", op=Operation.DELETE), None, Lake())


def test_a_new_table_keeps_what_was_asked_of_it(tmp_path: Path) -> None:
    asked = {
        "hoodie.database.name": "lake",
        "hoodie.archivelog.folder": "old",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
    create_table(resolve(options(tmp_path / "t", hoodie_conf=tuple(asked.items())), None, Lake()))
    found = HudiTable.open(str(tmp_path / "t")).config.properties
    assert {name: found[name] for name in asked} == asked


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("hoodie.datasource.write.drop.partition.columns", "true", "=true makes a table that this release does not"),
        ("hoodie.archivelog.folder", "../../elsewhere", "=../../elsewhere is no folder below .hoodie: give a name"),
    ],
)
def test_what_no_write_could_go_on_with_is_refused_at_creation(key: str, value: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{key}{says}"):
        resolve(options(tmp_path / "t", hoodie_conf=((key, value),)), None, Lake())
    assert not (tmp_path / "t").exists()
