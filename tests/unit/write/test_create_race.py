"""Of two writers that make a table at the same time, the second goes by what the first one made."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError, TableNotFoundError
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.config import resolve
from spark_jobs.write.new_table import create_table
from tests.support.folder import Folder
from tests.unit.core.support import new_table

pytestmark = pytest.mark.unit


def options(path: Folder, **more: object) -> IngestOptions:
    given: dict[str, object] = {"table_name": "t", "record_key_fields": ("id",), "partition_path_fields": ("p",)}
    return IngestOptions(base_path=str(path), **{**given, **more})  # type: ignore[arg-type]


def test_the_first_gets_what_it_asked_for(root: Folder) -> None:
    table, config, is_new = create_table(resolve(options(root / "t"), None, root.lake))
    assert (is_new, config.is_merge_on_read, table.config.is_merge_on_read) == (True, False, False)


def test_the_second_writes_by_the_properties_on_storage(root: Folder) -> None:
    asked = resolve(options(root / "t"), None, root.lake)
    new_table(root / "t")  # the other writer's: MERGE_ON_READ, with a precombine field
    table, config, is_new = create_table(asked)
    assert (is_new, config.is_merge_on_read, config.precombine_field) == (False, True, "ts")
    assert table.config.is_merge_on_read


def test_the_second_is_refused_where_it_asked_for_something_else(root: Folder) -> None:
    asked = resolve(options(root / "t", record_key_fields=("other",)), None, root.lake)
    new_table(root / "t")
    with pytest.raises(ConfigError, match="--record-key-fields other contradicts table t, which has id"):
        create_table(asked)


def test_nothing_is_deleted_from_a_table_that_is_not_there(root: Folder) -> None:
    with pytest.raises(TableNotFoundError, match="there is no table at"):
        resolve(options(root / "t", op=Operation.DELETE), None, root.lake)


def test_a_new_table_keeps_what_was_asked_of_it(root: Folder) -> None:
    asked = {
        "hoodie.database.name": "lake",
        "hoodie.archivelog.folder": "old",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
    create_table(resolve(options(root / "t", hoodie_conf=tuple(asked.items())), None, root.lake))
    found = (root / "t").table().config.properties
    assert {name: found[name] for name in asked} == asked


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("hoodie.datasource.write.drop.partition.columns", "true", "=true makes a table that this release does not"),
        ("hoodie.archivelog.folder", "../../elsewhere", "=../../elsewhere is no folder below .hoodie: give a name"),
    ],
)
def test_what_no_write_could_go_on_with_is_refused_at_creation(key: str, value: str, says: str, root: Folder) -> None:
    with pytest.raises(ConfigError, match=f"{key}{says}"):
        resolve(options(root / "t", hoodie_conf=((key, value),)), None, root.lake)
    assert not (root / "t").exists()
