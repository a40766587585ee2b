"""``hoodie.properties``: checksum, backup, and a crash at every step of an update."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spark_jobs.core.config.java_properties import format_properties, parse_properties
from spark_jobs.core.config.table_config import (
    BACKUP,
    PROPERTIES,
    create_table_config,
    read_table_config,
    table_checksum,
    update_table_config,
)
from spark_jobs.core.errors import AlreadyExistsError, CorruptTableError, StorageError, TableNotFoundError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.storage import LocalStorage
from tests.unit.core.support import Died, HandClock, MortalStorage

pytestmark = pytest.mark.unit

STORAGE = LocalStorage()
FIRST = {"hoodie.table.name": "trips", "hoodie.database.name": "", "hoodie.table.version": "6"}


@pytest.fixture
def base(tmp_path: Path) -> str:
    create_table_config(STORAGE, str(tmp_path), FIRST, HandClock())
    return str(tmp_path)


def main_file(base: str) -> Path:
    return Path(base, META_FOLDER, PROPERTIES)


@pytest.mark.parametrize(
    ("name", "stored"),
    [("v6_empty", "1980710965"), ("v6_nonpartitioned", "1363530505"), ("v6_complexkeygen_hivestyle", "281415413")],
)
def test_the_checksum_is_what_hudi_stored_for_its_tables(name: str, stored: str) -> None:
    assert table_checksum({"hoodie.database.name": "default", "hoodie.table.name": name}) == stored


def test_a_new_table_has_hudis_folders_and_reads_back(base: str) -> None:
    found = read_table_config(STORAGE, base, HandClock())
    assert (found.name, found.format.version) == ("trips", 6)
    assert found.properties["hoodie.table.checksum"] == table_checksum(FIRST)
    folders = {str(path.relative_to(base)) for path in Path(base).rglob("*") if path.is_dir()}
    assert {".hoodie/.aux/.bootstrap/.fileids", ".hoodie/.temp", ".hoodie/archived", ".hoodie/.schema"} <= folders
    assert main_file(base).read_text().startswith("#Properties saved on 2024-05-06T07:08:09.123Z\n#Mon May 06 ")


def test_a_table_is_made_once(base: str) -> None:
    with pytest.raises(AlreadyExistsError):
        create_table_config(STORAGE, base, FIRST, HandClock())


def test_no_table(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError, match="not a Hudi table"):
        read_table_config(STORAGE, str(tmp_path), HandClock())
    Path(tmp_path, META_FOLDER).mkdir()
    with pytest.raises(TableNotFoundError, match="not a Hudi table"):
        read_table_config(STORAGE, str(tmp_path), HandClock())


def test_a_wrong_checksum_is_no_table(base: str) -> None:
    values = parse_properties(main_file(base).read_bytes())
    main_file(base).write_bytes(format_properties({**values, "hoodie.table.name": "other"}))
    with pytest.raises(CorruptTableError, match="checksum"):
        read_table_config(STORAGE, base, HandClock())


def test_the_backup_serves_while_the_main_copy_is_cut(base: str) -> None:
    whole = main_file(base).read_bytes()
    Path(base, META_FOLDER, BACKUP).write_bytes(whole)
    main_file(base).write_bytes(b"")
    assert read_table_config(STORAGE, base, HandClock()).name == "trips"
    update_table_config(STORAGE, base, {"k": "v"}, HandClock())
    assert parse_properties(main_file(base).read_bytes())["k"] == "v"
    assert not Path(base, META_FOLDER, BACKUP).exists()


def test_properties_of_hundreds_of_megabytes_are_not_read(base: str) -> None:
    path = Path(base) / ".hoodie" / "hoodie.properties"
    os.truncate(path, 300 << 20)
    with pytest.raises(CorruptTableError, match=r"is corrupt \(hoodie\.properties has 314572800 bytes") as caught:
        read_table_config(LocalStorage(), base, HandClock())
    assert "\n" not in str(caught.value)


def test_properties_that_can_not_be_read_are_not_said_to_be_corrupt(base: str) -> None:
    """Who takes a table for damaged removes it, as is done with a metadata table."""

    class Refusing(LocalStorage):
        def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
            raise StorageError(f"read of {path} was refused", path=path)

    with pytest.raises(StorageError, match="was refused") as refused:
        read_table_config(Refusing(), base, HandClock())
    assert type(refused.value) is StorageError


def test_an_update_that_another_process_is_at_is_waited_for(base: str) -> None:
    whole = main_file(base).read_bytes()
    main_file(base).unlink()
    clock = HandClock()
    clock.on_sleep = lambda: main_file(base).write_bytes(whole) and None  # type: ignore[assignment,return-value]
    assert read_table_config(STORAGE, base, clock).name == "trips"
    assert clock.passed == pytest.approx(0.2)


def test_a_crash_at_any_call_of_an_update_leaves_the_old_or_the_new(base: str) -> None:
    survived = 0
    for number in range(20):
        before = dict(read_table_config(STORAGE, base, HandClock()).properties)
        changes = {"k": str(number)}
        try:
            update_table_config(MortalStorage(number), base, changes, HandClock(), remove=["gone"])
        except Died:
            after = dict(read_table_config(STORAGE, base, HandClock()).properties)
            assert after in (before, {**before, **changes})
        else:
            survived += 1
        update_table_config(STORAGE, base, {"k": f"next {number}"}, HandClock())
        assert read_table_config(STORAGE, base, HandClock()).properties["k"] == f"next {number}"
        assert not Path(base, META_FOLDER, BACKUP).exists()
    assert survived
