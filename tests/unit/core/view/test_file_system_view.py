"""File groups and slices from names alone: what is visible, what a pending compaction does, what was replaced."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, PendingServices, build_view, merged_slice
from spark_jobs.core.view.visibility import Visibility

pytestmark = pytest.mark.unit

NOTHING = PendingServices(compaction={}, clustering={}, replaced={})


def view(
    *files: str,
    completed: str,
    start: str = "1",
    until: str | None = None,
    services: PendingServices = NOTHING,
) -> FileSystemView:
    """Files as ``g 3`` (a base file of group g by instant 3) and ``g 3.2`` (version 2 of the logs on it)."""
    listed = []
    for number, file in enumerate(files):
        group, _, instant = file.partition(" ")
        base, _, version = instant.partition(".")
        name = f".{group}_{base}.log.{version}_0-1-1" if version else f"{group}_0-1-1_{base}.parquet"
        listed.append(
            ("p", FileStatus(path=f"/t/p/{name}", size=number + 1, modified_ms=0, is_directory=False, etag=""))
        )
    seen = Visibility(frozenset(completed.split()), start, until)
    return build_view(VERSION_6, listed, seen, services, partitions=None)


def shown(slices: tuple[FileSlice, ...]) -> list[str]:
    """Each slice as ``group base+logs``."""
    return [
        f"{one.file_id} {one.base_file.name.instant if one.base_file else '-'}"
        + "".join(f"+{log.name.instant}.{log.name.version}" for log in one.log_files)
        for one in slices
    ]


def test_the_newest_completed_slice_with_its_logs_in_order() -> None:
    found = view("g 1", "g 1.1", "g 3", "g 3.10", "g 3.2", "h 1", completed="1 2 3")
    assert shown(found.latest_slices()) == ["g 3+3.2+3.10", "h 1"]
    assert shown(found.groups[0].slices) == ["g 3+3.2+3.10", "g 1+1.1"]
    assert [base.name.instant for base in found.latest_base_files()] == ["3", "1"]
    assert found.log_versions[("p", "g", "3")] == 10


def test_files_of_pending_and_failed_writes_are_not_seen() -> None:
    found = view("g 1", "g 2", "h 2", "g 1.1", completed="1")
    assert shown(found.latest_slices()) == ["g 1+1.1"]
    assert [group.file_id for group in found.groups] == ["g"]


def test_time_travel_is_inclusive() -> None:
    files = ("g 1", "g 1.1", "g 3")
    assert shown(view(*files, completed="1 2 3", until="2").latest_slices()) == ["g 1+1.1"]
    assert shown(view(*files, completed="1 2 3", until="3").latest_slices()) == ["g 3"]
    assert shown(view(*files, completed="1 2 3", until="0").latest_slices()) == []


def test_logs_written_after_a_compaction_was_planned_come_on_top_of_the_slice_before_it() -> None:
    services = PendingServices(compaction={("p", "g"): "3"}, clustering={}, replaced={})
    found = view("g 1", "g 1.1", "g 3.1", completed="1 2 4", services=services)
    assert shown(found.latest_slices()) == ["g 1+1.1+3.1"]
    unfinished = view("g 1", "g 1.1", "g 3.1", "g 3", completed="1 2 4", services=services)
    assert shown(unfinished.latest_slices()) == ["g 1+1.1+3.1"]  # its base file is not there before it completed
    assert shown(view("g 1", "g 1.1", "g 3.1", "g 3", completed="1 2 3 4").latest_slices()) == ["g 3+3.1"]
    earlier = view("g 1", "g 1.1", "g 3.1", completed="1 2 4", services=services, until="2")
    assert shown(earlier.latest_slices()) == ["g 1+1.1"]
    quiet = view("g 1", "g 1.1", completed="1 2", services=services)
    assert shown(quiet.latest_slices()) == ["g 1+1.1"]


def test_a_pending_compaction_below_a_completed_slice_contradicts_the_timeline() -> None:
    """Its completed file was lost: logs that writers would put on it now are seen by nobody."""
    services = PendingServices(compaction={("p", "g"): "3"}, clustering={}, replaced={})
    found = view("g 1", "g 3", "g 5", "h 5", completed="1 2 4 5", services=services)
    with pytest.raises(CorruptTableError, match=r"compaction 3 .* group g .* slice of 5 .* its completed file is gone"):
        found.latest_slices()
    with pytest.raises(CorruptTableError, match="compaction 3"):
        merged_slice(found.groups[0])
    files = ("g 1", "g 1.1", "g 3.1", "g 5")
    assert shown(view(*files, completed="1 2 4", services=services).latest_slices()) == ["g 1+1.1+3.1"]
    before = view(*files, completed="1 2 4 5", services=services, until="4")
    assert shown(before.latest_slices()) == ["g 1+1.1+3.1"]


def test_replaced_groups_are_gone_from_their_replacement_on() -> None:
    services = PendingServices(compaction={}, clustering={}, replaced={("p", "g"): "3"})
    found = view("g 1", "h 3", completed="1 3", services=services)
    assert shown(found.latest_slices()) == ["h 3"]
    assert [group.file_id for group in found.all_groups()] == ["g", "h"]
    before = view("g 1", "h 3", completed="1 3", services=services, until="2")
    assert shown(before.latest_slices()) == ["g 1"]


def test_a_group_may_have_logs_alone() -> None:
    found = view("g 2.1", completed="1 2")
    assert shown(found.latest_slices()) == ["g -+2.1"]
    assert found.latest_base_files() == ()


def test_change_data_and_other_files_are_passed_over() -> None:
    names = [".g_1.log.4_0-1-1.cdc", ".hoodie_partition_metadata", "_SUCCESS", "part-0.parquet", ".g_1.log"]
    listed = [
        ("p", FileStatus(path=f"/t/p/{name}", size=1, modified_ms=0, is_directory=False, etag="")) for name in names
    ]
    found = build_view(VERSION_6, listed, Visibility(frozenset({"1"}), "1"), NOTHING, partitions=None)
    assert found.groups == ()
    assert found.log_versions == {("p", "g", "1"): 4}  # yet its version is taken


def test_sizes_and_paths() -> None:
    (one,) = view("g 1", "g 1.1", completed="1").latest_slices()
    assert (one.size, one.log_size, one.is_empty) == (3, 2, False)
    assert one.paths == ("p/g_0-1-1_1.parquet", "p/.g_1.log.1_0-1-1")
