"""Which storage serves a URL, and how a lake goes with what is opened in it."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from spark_jobs.core.errors import StorageError
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.table import HudiTable
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("/tmp/t/", "/tmp/t"),
        ("file:/tmp/t", "/tmp/t"),
        ("file:///tmp/a%20b/", "/tmp/a b"),
        ("/tmp/a:b", "/tmp/a:b"),
        ("rel", os.path.abspath("rel")),
    ],
)
def test_paths_and_file_urls_are_local(url: str, path: str) -> None:
    assert LAKE.place(url).path == path
    assert LAKE.place(LAKE.place(url).url) == LAKE.place(url)


def test_a_scheme_without_a_storage_is_refused() -> None:
    with pytest.raises(StorageError, match=r"no storage for the scheme 'ftp' of ftp://host/t: .*local paths and abfs:"):
        HudiTable.open("ftp://host/t")


class Other(LocalStorage):
    """A storage of a scheme of its own, below a folder of this machine."""


def test_each_scheme_has_its_storage_and_gets_the_whole_url() -> None:
    lake = Lake(storages={"other": Other()})
    place = lake.place("other://bucket/t/")
    assert (place.storage, place.path, place.url) == (lake.storages["other"], "other://bucket/t", "other://bucket/t")
    with pytest.raises(StorageError, match="no storage for the scheme '' of /tmp/t"):
        lake.place("/tmp/t")


def test_a_table_is_looked_at_again_in_the_lake_in_which_it_was_opened(tmp_path: Path) -> None:
    lake = Lake(storages={"file": Other()}, clock=HandClock())
    made = HudiTable.create(f"file://{tmp_path}/t", name="t", record_key_fields=["id"], lake=lake)
    for table in (made, made.refreshed(), HudiTable.open(made.url, lake=made.lake)):
        assert (table.lake, table.url, table.base_path) == (lake, f"file://{tmp_path}/t", f"{tmp_path}/t")
        assert table.clock is lake.clock
    assert made.transaction_settings({}).lake is lake


def test_it_pickles() -> None:
    again = pickle.loads(pickle.dumps(LAKE))
    assert again.place("/t").path == "/t"
    assert type(again.clock) is type(LAKE.clock)
