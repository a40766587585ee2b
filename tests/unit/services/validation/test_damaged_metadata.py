"""Invariant 9: a metadata table that does not say what is on storage, and indexes that contradict the files."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder
from tests.unit.services.validation.damage import findings, instant_file, rewrite, with_value

pytestmark = pytest.mark.unit

Unpack = Callable[[str], Folder]
KEY = "_hoodie_record_key"


def said(base: Folder) -> list[tuple[str, str]]:
    """(path, what) by invariant 9."""
    return [(one.path, one.what) for one in validate(str(base), deep=True, lake=base.lake) if one.invariant == 9]


def live_base(base: Folder) -> str:
    return base.table(lists_storage=True).view().latest_base_files()[0].relative_path


def test_a_metadata_table_that_is_gone(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    (base / ".hoodie" / "metadata").remove()
    assert findings(base) == [(9, "ERROR", ".hoodie/metadata/files")]


def test_one_that_is_not_listed_does_not_count(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    (base / ".hoodie" / "metadata").remove()
    properties = base / ".hoodie" / "hoodie.properties"
    lines = [
        one for one in properties.read_text().splitlines() if not one.startswith("hoodie.table.metadata.partitions")
    ]
    properties.write_text("\n".join(lines) + "\n")
    assert findings(base) == []


def test_one_with_a_damaged_file(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    for one in (base / ".hoodie" / "metadata" / "files").glob("*.hfile"):
        one.write_bytes(one.read_bytes()[:-10])
    assert findings(base) == [(9, "ERROR", ".hoodie/metadata/files")]


def test_one_that_lacks_the_last_commit(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    time = instant_file(base, ".commit").name.split(".")[0]
    for one in (base / ".hoodie" / "metadata" / ".hoodie").glob(f"{time}.*"):
        one.unlink()
    assert findings(base) == [(9, "ERROR", ".hoodie/metadata/files")]
    assert f"does not know the completed instant {time}" in said(base)[0][1]


def test_one_that_lists_a_file_that_is_gone(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    (base / path).unlink()
    assert (path, "the metadata table lists it, and it is not on storage") in said(base)


def test_one_that_lists_another_size(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    size = (base / path).size
    (base / path).append_text("x")
    assert said(base) == [(path, f"the metadata table lists it with {size} bytes, and storage has {size + 1}")]


def test_a_partition_that_is_not_listed(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    path = live_base(base)
    folder = path.split("/")[0]
    (base / folder).rename(base / "moved")
    found = findings(base)
    assert (9, "ERROR", folder) in found


def test_partitions_that_count_as_being_built(unpack: Unpack) -> None:
    base = unpack("tables/cow_upserts")
    (base / ".hoodie" / "hoodie.properties").append_text("\nhoodie.table.metadata.partitions.inflight=column_stats\n")
    assert findings(base) == [(9, "WARNING", ".hoodie/hoodie.properties")]


@pytest.mark.parametrize("index", ["column_stats", "bloom_filters", "record_index"])
def test_an_index_that_is_gone(unpack: Unpack, index: str) -> None:
    base = unpack("metadata_tables/indexed_cow")
    (base / ".hoodie" / "metadata" / index).remove()
    assert findings(base) == [(9, "ERROR", f".hoodie/metadata/{index}")]
    assert set(findings(base, deep=True)) == {(9, "ERROR", f".hoodie/metadata/{index}")}


def test_column_statistics_of_other_values(unpack: Unpack) -> None:
    base = unpack("metadata_tables/indexed_cow")
    path = live_base(base)
    rewrite(base / path, with_value("_hoodie_commit_seqno", 0, "~"))
    found = [what for where, what in said(base) if where == path and what.startswith("column_stats")]
    assert [what for what in found if "of column _hoodie_commit_seqno the greatest value" in what]


def test_column_statistics_that_count_otherwise(unpack: Unpack) -> None:
    base = unpack("metadata_tables/indexed_cow")
    path = live_base(base)
    rewrite(base / path, lambda table: table.slice(1))
    assert [what for where, what in said(base) if where == path and " values, and its footer " in what]


def test_a_bloom_filter_of_another_file(unpack: Unpack) -> None:
    base = unpack("metadata_tables/indexed_cow")
    path = live_base(base)
    name = b"org.apache.hudi.bloomfilter"
    rewrite(base / path, footer=lambda raw: {**raw, name: raw[name][:-8] + b"AAAAAAA="})
    assert (path, "bloom_filters of the metadata table has another filter for it") in said(base)


def test_a_record_that_the_index_does_not_know(unpack: Unpack) -> None:
    base = unpack("metadata_tables/indexed_cow")
    path = live_base(base)
    rewrite(base / path, with_value(KEY, 0, "never indexed"))
    found = dict(one for one in said(base) if "key" in one[1])
    assert found[path].startswith(
        "the record index does not tell that key 'never indexed' is in its file group (1 such"
    )
    assert found[".hoodie/metadata/record_index"].startswith("it has 1 key(s) that are not where it says, 0 of them")


def test_an_index_without_the_files_of_the_last_commit(unpack: Unpack) -> None:
    base = unpack("metadata_tables/indexed_cow")
    time = instant_file(base, ".commit").name.split(".")[0]
    for one in (base / ".hoodie" / "metadata" / ".hoodie").glob(f"{time}.*"):
        one.unlink()
    found = {path for path, what in said(base) if f"does not know the completed instant {time}" in what}
    assert {".hoodie/metadata/column_stats", ".hoodie/metadata/bloom_filters"} <= found
