"""Source files of bootstrapped tables that changed since: told by their length, their time, or their keys."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, read_parquet, write_parquet
from tests.unit.services.bootstrap.sources import ALL_COPIED, bootstrap, make_source

pytestmark = pytest.mark.unit

FILE = "region=north/part-0.parquet"


@pytest.fixture
def path(root: Folder) -> Folder:
    bootstrap(root / "t", make_source(root / "source", hive=True))
    return root / "t"


@pytest.fixture
def file(root: Folder) -> Folder:
    return root / "source" / FILE


def found(path: Folder, deep: bool = False) -> list[tuple[int, str, str]]:
    return [(one.invariant, one.severity.value, one.path) for one in validate(str(path), deep, lake=path.lake)]


def about(path: Folder, file: Folder, deep: bool = False) -> Finding:
    (one,) = [one for one in validate(str(path), deep, lake=path.lake) if one.path == str(file)]
    return one


def test_another_length_is_an_error_and_no_reader_takes_its_rows(path: Folder, file: Folder) -> None:
    was = file.size
    write_parquet(read_parquet(file).append_column("more", [list(range(7))]), file)
    assert found(path) == [(5, "ERROR", str(file))]
    what = about(path, file).what
    assert f"it has {file.size} bytes, and had {was} when region=north/" in what
    with pytest.raises(CorruptTableError, match=f"source file {file} has .*: restore it as it was"):
        path.table().scan().to_arrow()
    assert path.table().scan(columns=["_hoodie_record_key"]).to_arrow().num_rows == 28
    assert (1, "ERROR") in {(invariant, severity) for invariant, severity, _ in found(path, deep=True)}


def test_a_file_that_is_gone(path: Folder, file: Folder) -> None:
    file.unlink()
    assert found(path) == [(5, "ERROR", str(file))]
    assert "it is not on storage" in about(path, file).what


def test_a_file_that_an_earlier_version_needs(path: Folder, file: Folder) -> None:
    local.cluster(path)
    file.unlink()
    assert found(path) == [(6, "ERROR", str(file))]


def test_another_time_is_a_warning_where_the_keys_are_right(path: Folder, file: Folder) -> None:
    file.date(1000)
    for deep in (False, True):
        assert found(path, deep) == [(5, "WARNING", str(file))]
    assert "is as long as then" in about(path, file).what


def test_the_second_is_enough(path: Folder, file: Folder) -> None:
    file.date(file.modified_ms // 1000 * 1000)
    assert found(path) == []


def test_a_copy_of_the_folder_has_other_times(path: Folder, root: Folder) -> None:
    (root / "source").copy_to(root / "moved")
    for one in (root / "moved").rglob("*.parquet"):
        one.date(1000)
    (root / "source").remove()
    (path / ".hoodie" / "hoodie.properties").append_text(f"hoodie.bootstrap.base.path={root / 'moved'}\n")
    assert found(path, deep=True) == []


def test_rows_of_other_keys_in_a_file_as_long_are_an_error(root: Folder) -> None:
    folder = root / "source"
    folder.mkdir()
    file = folder / "a.parquet"
    write_parquet(pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"]}), file, use_dictionary=False, compression="none")
    bootstrap(root / "t", folder, partition_path_fields=(), precombine_field=None)
    assert found(root / "t", deep=True) == []
    size = file.size
    write_parquet(pa.table({"id": [1, 3, 2], "v": ["a", "c", "b"]}), file, use_dictionary=False, compression="none")
    file.date(1000)
    assert file.size == size
    assert found(root / "t") == [(5, "WARNING", str(file))]
    (error,) = [one for one in validate(str(root / "t"), deep=True, lake=root.lake) if one.is_error]
    assert (error.invariant, error.path) == (2, str(file))
    assert error.what.startswith("its row 1 makes the key '3', and ")


def test_copies_need_no_source(root: Folder) -> None:
    source = make_source(root / "source", hive=True)
    bootstrap(root / "t", source, ALL_COPIED)
    source.remove()
    assert found(root / "t", deep=True) == []


def test_an_index_that_is_gone(path: Folder) -> None:
    for name in (BY_PARTITION, BY_FILE_ID):
        (path / name).unlink()
    assert found(path) == [(5, "ERROR", BY_PARTITION)]
    assert (5, "ERROR", BY_PARTITION) in found(path, deep=True)


def test_a_damaged_index(path: Folder) -> None:
    (path / BY_PARTITION).write_bytes(b"no index" * 1000)
    assert found(path) == [(5, "ERROR", BY_PARTITION)]
