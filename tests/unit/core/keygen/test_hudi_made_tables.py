"""Tables that Hudi wrote by each key generator (``tests/fixtures/make_keygen_tables.py``): rows, keys, paths, pruning.

Where Hudi 0.15 reads base files alone, it gives the folder's name for the value of a partition column, as text where
that is a time's; beside logs it gives the stored value, as we do everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from spark_jobs.core.keygen.keys import partition_paths, record_keys
from spark_jobs.core.keygen.path_names import unescape
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION, KeySpec
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import unpack
from tests.support.folder import Folder, read_parquet
from tests.unit.core.keygen.hudi_made import (
    CLASS,
    DELETED,
    GENERATORS,
    INSERTED,
    KEY,
    PATH,
    TABLES,
    UPDATED,
    rows,
)

pytestmark = pytest.mark.unit

NAMES = pytest.mark.parametrize("name", GENERATORS)
PATHS = {
    "complex": {
        "place=50%25/flag=true",
        "place=__HIVE_DEFAULT_PARTITION__/flag=false",
        "place=a b/flag=true",
        "place=p%2Fq%3Ar/flag=false",
        "place=x%3Dy/flag=true",
        "place=北京 ünï/flag=true",
    },
    "time_millis": {"1970/01/01", "2020/01/06", "2020/03/08"},
    "flat": {""},
}
"""As Hudi made them, to be read by people."""


@pytest.fixture
def open_table(root: Folder) -> Callable[[str], HudiTable]:
    return lambda name: unpack(f"keygen_tables/{name}", root).table()


def spec_of(table: HudiTable, name: str) -> KeySpec:
    """What the table keeps of its key generator, and what each write has to name: types of times and of columns."""
    config, given = table.config, GENERATORS[name]
    assert config.key_generator_class == given[CLASS]
    assert list(config.record_key_fields) == given[KEY].split(",")
    return KeySpec.of(
        config.record_key_fields,
        [one for one in given[PATH].split(",") if one],
        hive_style=config.hive_style,
        url_encode=config.url_encode,
        class_name=config.key_generator_class,
        properties={**given, **config.properties},
    )


def folder_names(rows: pa.Table, fields: list[str], column: str) -> list[str | None]:
    """The value of a partition column as its folder tells it."""
    found: list[str | None] = []
    for path in rows.column(PARTITION_PATH).to_pylist():
        level = path if len(fields) == 1 else path.split("/")[fields.index(column)]
        text = unescape(level.removeprefix(f"{column}="))
        found.append(None if text == DEFAULT_PARTITION else text)
    return found


def queries(name: str) -> list[str]:
    return ["snapshot", "read_optimized"] if name.endswith("_logs") else ["snapshot"]


@NAMES
def test_we_read_what_hudi_read(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    fields = list(table.config.partition_fields)
    for query in queries(name):
        found = table.scan(query=query).to_arrow().sort_by(RECORD_KEY)
        wanted = read_parquet(TABLES / f"{name}.{query}.parquet")
        assert set(found.column_names) == set(wanted.column_names)
        by_folder = fields if query == "read_optimized" or not name.endswith("_logs") else []
        for column in wanted.column_names:
            theirs = wanted.column(column).to_pylist()
            if column in by_folder:
                shown = (str(one).lower() if isinstance(one, bool) else one for one in theirs)
                assert [None if one is None else str(one) for one in shown] == folder_names(found, fields, column)
            else:
                assert found.column(column).to_pylist() == theirs, column
                assert found.schema.field(column).type == wanted.schema.field(column).type
        assert found.num_rows == (14 if query == "read_optimized" else 12)


@NAMES
def test_the_rows_are_those_that_were_written(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    expected = {number: rows(range(number, number + 1), int(number in UPDATED)).to_pylist()[0] for number in INSERTED}
    found = table.scan(columns=list(expected[0])).to_arrow().sort_by("id")
    assert found.to_pylist() == [expected[number] for number in INSERTED if number not in DELETED]
    assert [str(one) for one in validate(table, deep=True)] == []


@NAMES
def test_our_key_generator_gives_the_stored_keys_and_paths(name: str, open_table: Callable[[str], HudiTable]) -> None:
    table = open_table(name)
    spec = spec_of(table, name)
    for query in queries(name):  # the read-optimized one of logs has rows before the update and the delete too
        found = table.scan(query=query).to_arrow()
        assert record_keys(found, spec).to_pylist() == found.column(RECORD_KEY).to_pylist()
        assert partition_paths(found, spec).to_pylist() == found.column(PARTITION_PATH).to_pylist()
    paths = set(found.column(PARTITION_PATH).to_pylist())
    assert paths == set(table.partitions())
    assert paths == PATHS.get(name.rpartition("_")[0], paths)


@NAMES
def test_one_partition(name: str, open_table: Callable[[str], HudiTable]) -> None:
    """The slices of a partition by its path hold its rows and no others; so does a filter by path or by values."""
    table = open_table(name)
    everything = table.scan().to_arrow()
    reader = table.scan().reader()
    for path in table.partitions():
        expected = everything.filter(pc.field(PARTITION_PATH) == path).sort_by(RECORD_KEY)
        slices = table.file_slices(path)
        assert {one.partition for one in slices} == {path}
        batches = [batch for one in slices for batch in reader.read(one, everything.column_names)]
        assert pa.Table.from_batches(batches, everything.schema).sort_by(RECORD_KEY).equals(expected)
        assert table.scan(filter=pc.field(PARTITION_PATH) == path).to_arrow().sort_by(RECORD_KEY).equals(expected)
        condition = pc.scalar(True)
        for column in table.config.partition_fields:
            values = expected.column(column).unique()
            condition &= pc.field(column).isin(values.drop_null()) | (
                pc.field(column).is_null() & pc.scalar(values.null_count > 0)
            )
        assert table.scan(filter=condition).to_arrow().sort_by(RECORD_KEY).equals(expected)
