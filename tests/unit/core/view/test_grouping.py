"""Names of a listing, matched by the thousand, mean what the parsers of single names say."""

from __future__ import annotations

import gc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spark_jobs.core.format.v6.file_names import parse_base_file_name, parse_log_file_name
from spark_jobs.core.format.v6.slices import sort_into_groups
from spark_jobs.core.view.collector import collector_paused

pytestmark = pytest.mark.unit

DIGITS = st.integers(0, 12).map(str)
TOKEN = st.builds("{}-{}-{}".format, DIGITS, DIGITS, DIGITS)
FILE_ID = st.text("ab-._0\n", min_size=1, max_size=4)
USUAL = st.one_of(
    st.builds("{}_{}_{}.parquet".format, FILE_ID, TOKEN | DIGITS, DIGITS),
    st.builds(".{}_{}.log.{}_{}".format, FILE_ID, DIGITS, DIGITS, TOKEN),
    st.builds(".{}_{}.log.{}_{}.cdc".format, FILE_ID, DIGITS, DIGITS, TOKEN),
    st.builds(".{}_{}.log.{}".format, FILE_ID, DIGITS, DIGITS),
)
NAMES = st.lists(USUAL | st.text("ab_.-0\nlogparquet", max_size=12), max_size=12)


@settings(deadline=None)
@given(NAMES, st.integers(0, 3))
@example([".x_1-1-1_5.parquet"], 0)  # hidden, and a base file all the same
@example([".a_b_5.log.1_1-1-1"], 0)
@example([".hoodie_partition_metadata", "", "a_1-1-1_5.parquet.crc"], 0)
def test_groups_are_those_of_single_names(names: list[str], cut: int) -> None:
    sizes = list(range(len(names)))
    found = sort_into_groups([("p", names[:cut], sizes[:cut]), ("q", [], []), ("p", names[cut:], sizes[cut:])])
    bases: dict[tuple[str, str], list[tuple[str, str, int]]] = {}
    logs: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    change_data: dict[tuple[str, str], int] = {}
    for name, size in zip(names, sizes, strict=True):
        base, log = parse_base_file_name(name), parse_log_file_name(name)
        if "\n" in name:
            continue  # no storage that Hudi writes to has such a name
        if base is not None:
            bases.setdefault((base.file_id, base.instant), []).append((base.write_token, base.extension, size))
        elif log is not None and log.is_cdc:
            key = (log.file_id, log.instant)
            change_data[key] = max(log.version, change_data.get(key, 0))
        elif log is not None:
            logs.setdefault((log.file_id, log.instant), []).append((log.version, log.write_token or "", size))
    seen_bases: dict[tuple[str, str], list[tuple[str, str, int]]] = {}
    seen_logs: dict[tuple[str, str], list[tuple[int, str, int]]] = {}
    for (partition, file_id), files in found.files.items():
        assert partition == "p"
        for instant, one in files.bases.items():
            seen_bases[(file_id, instant)] = [one, *found.rivals.get(((partition, file_id), instant), [])]
        for instant, several in files.logs.items():
            seen_logs[(file_id, instant)] = several
    assert {key: sorted(some) for key, some in seen_bases.items()} == {key: sorted(some) for key, some in bases.items()}
    assert {key: sorted(some) for key, some in seen_logs.items()} == {key: sorted(some) for key, some in logs.items()}
    assert {(key[1], instant): version for (key, instant), version in found.change_data.items()} == change_data


def test_more_names_than_are_matched_at_once() -> None:
    names = [f"f{number}_0-1-1_5.parquet" for number in range(5000)]
    found = sort_into_groups([("p", names, range(5000))])
    assert [files.bases["5"][2] for files in found.files.values()] == list(range(5000))


@pytest.mark.parametrize("on", [True, False])
def test_the_collector_is_as_it_was_afterwards(on: bool) -> None:
    try:
        gc.enable() if on else gc.disable()
        with pytest.raises(KeyError):
            fail_within_a_pause()
        assert gc.isenabled() is on
        assert gc.get_freeze_count() == 0
    finally:
        gc.enable()


def test_few_values_leave_the_garbage_of_the_moment_young() -> None:
    gc.collect()
    with collector_paused():
        one: list[object] = []
        one.append(one)
    assert any(each is one for each in gc.get_objects(generation=0))


def fail_within_a_pause() -> None:
    with collector_paused():
        assert not gc.isenabled()
        raise KeyError
