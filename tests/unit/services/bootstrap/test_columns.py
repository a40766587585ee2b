"""Columns that options name and the source lacks: refused alike by a dry run and a run, with the source's columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.options.result import JobState
from tests.support.folder import Folder, write_parquet
from tests.unit.services.bootstrap.sources import ALL_COPIED, bootstrap, make_source

pytestmark = pytest.mark.unit


@pytest.fixture
def source(root: Folder) -> Folder:
    return make_source(root / "source", hive=True)


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize("conf", [{}, ALL_COPIED], ids=["kept", "copied"])
@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"record_key_fields": ("nope",)}, "nope, which is a record key field"),
        ({"record_key_fields": ("id", "nope")}, "nope, which is a record key field"),
        ({"record_key_fields": ("id.nope",)}, "id.nope, which is a record key field"),
        ({"partition_path_fields": ("nope",)}, "nope, which is a partition path field"),
        ({"precombine_field": "nope"}, "nope, which is a precombine field"),
    ],
)
def test_a_column_that_is_not_there(
    root: Folder, source: Folder, changes: dict[str, Any], what: str, conf: dict[str, str], dry_run: bool
) -> None:
    with pytest.raises(ConfigError) as raised:
        bootstrap(root / "t", source, conf, dry_run=dry_run, **changes)
    assert str(raised.value) == f"the source has no column {what}: its columns are id, revision, price, region"
    assert not (root / "t").exists()


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"record_key_fields": ("tags",)}, "column tags is .* and can't be a key"),
        ({"precombine_field": "tags"}, "the precombine field tags is of type list<.*>, which has no order"),
        ({"precombine_field": "at.number"}, "at.number is a field of a struct, by which this release does not write"),
    ],
)
def test_a_column_of_another_type(root: Folder, changes: dict[str, Any], what: str) -> None:
    folder = root / "source"
    folder.mkdir()
    write_parquet(pa.table({"id": [1], "tags": [["a"]], "at": [{"number": 1}]}), folder / "a.parquet")
    given = {"partition_path_fields": (), "precombine_field": None, **changes}
    with pytest.raises(ConfigError, match=what):
        bootstrap(root / "t", folder, dry_run=True, **given)


def test_a_field_of_a_struct_makes_keys(root: Folder) -> None:
    folder = root / "source"
    folder.mkdir()
    write_parquet(pa.table({"at": [{"number": 1}]}), folder / "a.parquet")
    given = {"partition_path_fields": (), "precombine_field": None, "record_key_fields": ("at.number",)}
    assert bootstrap(root / "t", folder, dry_run=True, **given).state is JobState.DRY_RUN
    assert bootstrap(root / "t", folder, **given).records_out == 1
