"""What a key is: names, types, defaults; and the word to whoever gives one that nobody declares."""

from __future__ import annotations

import pytest

from spark_jobs.core.config.features import refuse_unreadable, refuse_unwritable
from spark_jobs.core.config.key import Key, boolean, choice, integer, names, real, text
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.known import unknown_key_warnings
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.format.known import format_of

pytestmark = pytest.mark.unit


def test_a_value_an_alias_and_the_default() -> None:
    key = Key(name="hoodie.new", parse=integer(1), default=7, doc="d", aliases=("hoodie.old",))
    assert key.of({}) == 7
    assert key.of({"hoodie.new": ""}) == 7
    assert key.of({"hoodie.old": "3"}) == 3
    assert key.of({"hoodie.old": "3", "hoodie.new": "4"}) == 4


@pytest.mark.parametrize(
    ("parse", "value", "expected"),
    [
        (text, " x ", " x "),
        (names, " a, b ,,c", ("a", "b", "c")),
        (boolean, " TRUE ", True),
        (boolean, "false", False),
        (integer(), "0", 0),
        (real, "1e-9", 1e-9),
        (choice(table_keys.TableType), "merge_on_read", table_keys.TableType.MERGE_ON_READ),
    ],
)
def test_values(parse: object, value: str, expected: object) -> None:
    assert callable(parse)
    assert parse(value) == expected


@pytest.mark.parametrize(
    ("parse", "value", "advice"),
    [
        (boolean, "yes", "true or false"),
        (integer(1), "0", "at least 1"),
        (integer(), "1.5", "whole number"),
        (real, "much", "number"),
        (choice(table_keys.TableType), "HEAP", "COPY_ON_WRITE, MERGE_ON_READ"),
    ],
)
def test_a_bad_value_names_key_value_and_advice(parse: object, value: str, advice: str) -> None:
    assert callable(parse)
    key = Key(name="hoodie.k", parse=parse, default=None, doc="d")
    with pytest.raises(ConfigError, match=f"hoodie.k={value} is not valid: .*{advice}") as caught:
        key.of({"hoodie.k": value})
    assert caught.value.details == {"key": "hoodie.k", "value": value}


def test_an_unknown_key_is_named_with_the_nearest() -> None:
    given = {
        "hoodie.parquet.max.file.sise": "1",
        "hoodie.qqqqqqqqqq": "1",
        "hoodie.table.name": "t",
        "spark.x": "1",
        "hoodie.datasource.hive_sync.database": "d",
        "hoodie.datasource.hive_sync.databse": "d",
    }
    assert unknown_key_warnings(given) == [
        "hoodie.datasource.hive_sync.databse is not known to this release and has no effect; "
        "did you mean hoodie.datasource.hive_sync.database?",
        "hoodie.parquet.max.file.sise is not known to this release and has no effect; "
        "did you mean hoodie.parquet.max.file.size?",
        "hoodie.qqqqqqqqqq is not known to this release and has no effect",
    ]


@pytest.mark.parametrize("version", [7, 8, 9])
def test_versions_after_ours_are_refused_with_advice(version: int) -> None:
    with pytest.raises(UnsupportedTableError, match=rf"table version {version}, .*downgrade"):
        format_of(version, "table t")
    assert format_of(6, "table t").writable


@pytest.mark.parametrize(("version", "releases"), [(0, "0.4 and 0.5"), (2, "0.9"), (5, "0.12 and 0.13")])
def test_versions_before_ours_are_read_and_not_written(version: int, releases: str) -> None:
    config = TableConfig({"hoodie.table.name": "t", "hoodie.table.version": str(version)})
    refuse_unreadable(config)
    with pytest.raises(UnsupportedTableError, match=f"table t has table version {version} .*{releases}.*upgrade it"):
        refuse_unwritable(config)
