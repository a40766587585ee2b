"""Names of data files, those of old releases among them."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.v6.file_names import BaseFileName, LogFileName, parse_base_file_name, parse_log_file_name

pytestmark = pytest.mark.unit

ID = "7ae2b5b0-5a17-4a2f-8ef3-1f3a1f2b0f0e-0"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"{ID}_0-12-34_20240101000000000.parquet", BaseFileName(ID, "0-12-34", "20240101000000000")),
        (f"{ID}_0-12-34_20210901100000.parquet", BaseFileName(ID, "0-12-34", "20210901100000")),  # to Hudi 0.9
        (f"{ID}_5_20180101120000.parquet", BaseFileName(ID, "5", "20180101120000")),  # Hudi 0.4
        (f"{ID}_0-12-34_20240101000000000.orc", BaseFileName(ID, "0-12-34", "20240101000000000", ".orc")),
    ],
)
def test_base_files(name: str, expected: BaseFileName) -> None:
    assert parse_base_file_name(name) == expected
    assert str(expected) == name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f".{ID}_20240101000000000.log.2_0-1-2", LogFileName(ID, "20240101000000000", 2, "0-1-2")),
        (f".{ID}_20180101120000.log.1", LogFileName(ID, "20180101120000", 1, None)),  # Hudi 0.4
        (f".{ID}_20240101000000000.log.1_0-1-2.cdc", LogFileName(ID, "20240101000000000", 1, "0-1-2", True)),
    ],
)
def test_log_files(name: str, expected: LogFileName) -> None:
    assert parse_log_file_name(name) == expected
    assert str(expected) == name


@pytest.mark.parametrize(
    "name", ["part-0001.parquet", f"{ID}_0-12_20240101000000000.parquet", ".x.crc", "x_y_z.parquet"]
)
def test_other_files_have_no_name_of_ours(name: str) -> None:
    assert parse_base_file_name(name) is None
    assert parse_log_file_name(name) is None
