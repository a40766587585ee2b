"""``hoodie.properties``: checksum, backup, and a crash at every step of an update."""

from __future__ import annotations

from dataclasses import replace

import pytest

from spark_jobs.core.config.java_properties import format_properties, parse_properties
from spark_jobs.core.config.table_config import (
    BACKUP,
    PROPERTIES,
    TableConfig,
    create_table_config,
    read_table_config,
    table_checksum,
    update_table_config,
)
from spark_jobs.core.errors import AlreadyExistsError, CorruptTableError, StorageError, TableNotFoundError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.storage import Content
from spark_jobs.core.storage.protocol import SMALL_FILE
from tests.support.folder import Folder
from tests.support.through import Through
from tests.unit.core.support import Died, HandClock, MortalStorage

pytestmark = pytest.mark.unit

FIRST = {"hoodie.table.name": "trips", "hoodie.database.name": "", "hoodie.table.version": "6"}


@pytest.fixture
def base(root: Folder) -> Folder:
    create_table_config(root.storage, str(root), FIRST, HandClock())
    return root


def main_file(base: Folder) -> Folder:
    return base / META_FOLDER / PROPERTIES


def backup(base: Folder) -> Folder:
    return base / META_FOLDER / BACKUP


def read(base: Folder, clock: HandClock | None = None) -> TableConfig:
    return read_table_config(base.storage, str(base), clock or HandClock())


@pytest.mark.parametrize(
    ("name", "stored"),
    [("v6_empty", "1980710965"), ("v6_nonpartitioned", "1363530505"), ("v6_complexkeygen_hivestyle", "281415413")],
)
def test_the_checksum_is_what_hudi_stored_for_its_tables(name: str, stored: str) -> None:
    assert table_checksum({"hoodie.database.name": "default", "hoodie.table.name": name}) == stored


def test_a_new_table_has_hudis_folders_and_reads_back(base: Folder) -> None:
    found = read(base)
    assert (found.name, found.format.version) == ("trips", 6)
    assert found.properties["hoodie.table.checksum"] == table_checksum(FIRST)
    if base.is_local:  # a store has no empty folders
        folders = {str(path.relative_to(base)) for path in base.rglob("*") if path.is_dir()}
        assert {".hoodie/.aux/.bootstrap/.fileids", ".hoodie/.temp", ".hoodie/archived", ".hoodie/.schema"} <= folders
    assert main_file(base).read_text().startswith("#Properties saved on 2024-05-06T07:08:09.123Z\n#Mon May 06 ")


def test_a_table_is_made_once(base: Folder) -> None:
    with pytest.raises(AlreadyExistsError):
        create_table_config(base.storage, str(base), FIRST, HandClock())


def test_no_table(root: Folder) -> None:
    with pytest.raises(TableNotFoundError, match="not a Hudi table"):
        read(root)
    (root / META_FOLDER).mkdir()
    with pytest.raises(TableNotFoundError, match="not a Hudi table"):
        read(root)


def test_a_wrong_checksum_is_no_table(base: Folder) -> None:
    values = parse_properties(main_file(base).read_bytes())
    main_file(base).write_bytes(format_properties({**values, "hoodie.table.name": "other"}))
    with pytest.raises(CorruptTableError, match="checksum"):
        read(base)


def test_the_backup_serves_while_the_main_copy_is_cut(base: Folder) -> None:
    whole = main_file(base).read_bytes()
    backup(base).write_bytes(whole)
    main_file(base).write_bytes(b"")
    assert read(base).name == "trips"
    update_table_config(base.storage, str(base), {"k": "v"}, HandClock())
    assert parse_properties(main_file(base).read_bytes())["k"] == "v"
    assert not backup(base).exists()


def test_properties_of_hundreds_of_megabytes_are_not_read(base: Folder) -> None:
    class Vast(Through):
        def load(self, path: str, most: int = SMALL_FILE) -> Content | None:
            found = self.inner.load(path, most)
            assert most < 300 << 20
            return found and found._replace(status=replace(found.status, size=300 << 20))

    with pytest.raises(CorruptTableError, match=r"is corrupt \(hoodie\.properties has 314572800 bytes") as caught:
        read(base.through(Vast(base.storage)))
    assert "\n" not in str(caught.value)


def test_properties_that_can_not_be_read_are_not_said_to_be_corrupt(base: Folder) -> None:
    """Who takes a table for damaged removes it, as is done with a metadata table."""

    class Refusing(Through):
        def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
            raise StorageError(f"read of {path} was refused", path=path)

    with pytest.raises(StorageError, match="was refused") as refused:
        read(base.through(Refusing(base.storage)))
    assert type(refused.value) is StorageError


def test_an_update_that_another_process_is_at_is_waited_for(base: Folder) -> None:
    whole = main_file(base).read_bytes()
    (base / META_FOLDER / "archived" / "a").touch()  # a store has no empty folder
    main_file(base).unlink()
    clock = HandClock()
    clock.on_sleep = lambda: main_file(base).write_bytes(whole) and None  # type: ignore[assignment]
    assert read(base, clock).name == "trips"
    assert clock.passed == pytest.approx(0.2)


def test_a_crash_at_any_call_of_an_update_leaves_the_old_or_the_new(base: Folder) -> None:
    survived = 0
    for number in range(20):
        before = dict(read(base).properties)
        changes = {"k": str(number)}
        try:
            update_table_config(MortalStorage(number, base.storage), str(base), changes, HandClock(), remove=["gone"])
        except Died:
            after = dict(read(base).properties)
            assert after in (before, {**before, **changes})
        else:
            survived += 1
        update_table_config(base.storage, str(base), {"k": f"next {number}"}, HandClock())
        assert read(base).properties["k"] == f"next {number}"
        assert not backup(base).exists()
    assert survived
