"""Source files of bootstrapped tables that changed since: told by their length, their time, or their keys."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.unit.services.bootstrap.sources import ALL_COPIED, bootstrap, make_source

pytestmark = pytest.mark.unit

FILE = "region=north/part-0.parquet"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    bootstrap(tmp_path / "t", make_source(tmp_path / "source", hive=True))
    return tmp_path / "t"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "source" / FILE


def found(path: Path, deep: bool = False) -> list[tuple[int, str, str]]:
    return [(one.invariant, one.severity.value, one.path) for one in validate(str(path), deep)]


def about(path: Path, file: Path, deep: bool = False) -> Finding:
    (one,) = [one for one in validate(str(path), deep) if one.path == str(file)]
    return one


def test_another_length_is_an_error_and_no_reader_takes_its_rows(path: Path, file: Path) -> None:
    was = file.stat().st_size
    pq.write_table(pq.read_table(file).append_column("more", [list(range(7))]), file)
    assert found(path) == [(5, "ERROR", str(file))]
    what = about(path, file).what
    assert f"it has {file.stat().st_size} bytes, and had {was} when region=north/" in what
    with pytest.raises(CorruptTableError, match=f"source file {file} has .*: restore it as it was"):
        HudiTable.open(str(path)).scan().to_arrow()
    assert HudiTable.open(str(path)).scan(columns=["_hoodie_record_key"]).to_arrow().num_rows == 28
    assert (1, "ERROR") in {(invariant, severity) for invariant, severity, _ in found(path, deep=True)}


def test_a_file_that_is_gone(path: Path, file: Path) -> None:
    file.unlink()
    assert found(path) == [(5, "ERROR", str(file))]
    assert "it is not on storage" in about(path, file).what


def test_a_file_that_an_earlier_version_needs(path: Path, file: Path) -> None:
    local.cluster(path)
    file.unlink()
    assert found(path) == [(6, "ERROR", str(file))]


def test_another_time_is_a_warning_where_the_keys_are_right(path: Path, file: Path) -> None:
    os.utime(file, (1, 1))
    for deep in (False, True):
        assert found(path, deep) == [(5, "WARNING", str(file))]
    assert "is as long as then" in about(path, file).what


def test_the_second_is_enough(path: Path, file: Path) -> None:
    seconds = int(file.stat().st_mtime)
    os.utime(file, (seconds, seconds))
    assert found(path) == []


def test_a_copy_of_the_folder_has_other_times(path: Path, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "source", tmp_path / "moved", copy_function=shutil.copyfile)
    for one in (tmp_path / "moved").rglob("*.parquet"):
        os.utime(one, (1, 1))
    shutil.rmtree(tmp_path / "source")
    with (path / ".hoodie" / "hoodie.properties").open("a") as properties:
        properties.write(f"hoodie.bootstrap.base.path={tmp_path / 'moved'}\n")
    assert found(path, deep=True) == []


def test_rows_of_other_keys_in_a_file_as_long_are_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "source"
    folder.mkdir()
    file = folder / "a.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"]}), file, use_dictionary=False, compression="none")
    bootstrap(tmp_path / "t", folder, partition_path_fields=(), precombine_field=None)
    assert found(tmp_path / "t", deep=True) == []
    size = file.stat().st_size
    pq.write_table(pa.table({"id": [1, 3, 2], "v": ["a", "c", "b"]}), file, use_dictionary=False, compression="none")
    os.utime(file, (1, 1))
    assert file.stat().st_size == size
    assert found(tmp_path / "t") == [(5, "WARNING", str(file))]
    (error,) = [one for one in validate(str(tmp_path / "t"), deep=True) if one.is_error]
    assert (error.invariant, error.path) == (2, str(file))
    assert error.what.startswith("its row 1 makes the key '3', and ")


def test_copies_need_no_source(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source", hive=True)
    bootstrap(tmp_path / "t", source, ALL_COPIED)
    shutil.rmtree(source)
    assert found(tmp_path / "t", deep=True) == []


def test_an_index_that_is_gone(path: Path) -> None:
    for name in (BY_PARTITION, BY_FILE_ID):
        (path / name).unlink()
    assert found(path) == [(5, "ERROR", BY_PARTITION)]
    assert (5, "ERROR", BY_PARTITION) in found(path, deep=True)


def test_a_damaged_index(path: Path) -> None:
    (path / BY_PARTITION).write_bytes(b"no index" * 1000)
    assert found(path) == [(5, "ERROR", BY_PARTITION)]
