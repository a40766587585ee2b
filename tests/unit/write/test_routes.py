"""Bucket numbers, the next log of a slice, the workload profile, and how keys are made: the parts without Spark."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import UnsupportedTableError
from spark_jobs.core.handles.append import AppendTarget, append_target
from spark_jobs.core.keygen.spec import COMPLEX, NON_PARTITIONED, SIMPLE, KeySpec, infer_class
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.write.pack import InsertShare
from spark_jobs.write.profile import WorkloadProfile, workload_metadata
from spark_jobs.write.routes import number_slices
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit


def test_slices_are_numbered_largest_first() -> None:
    slices = [file_slice("a", "1", 1), file_slice("b", "1", 9), file_slice("c", "1", 1, 5), file_slice("d", "1", 1)]
    assert {number: one.file_id for number, one in number_slices(slices).items()} == {0: "b", 1: "c", 2: "a", 3: "d"}


def target(one: FileSlice, versions: dict[str, int], pending: str | None = None) -> AppendTarget:
    by_key = {("a", one.file_id, instant): version for instant, version in versions.items()}
    return append_target(FileSystemView((), Visibility(frozenset(), ""), by_key), one, pending)


def test_the_next_log_of_a_slice() -> None:
    found = target(file_slice("g", "1", 10, 5, 5), {"1": 4})
    assert (found.base_instant, found.base_file, found.next_version) == ("1", "g_0-1-1_1.parquet", 5)
    assert found.log_names == (".g_1.log.1_0-1-1", ".g_1.log.2_0-1-1")


def test_while_a_compaction_is_pending_logs_go_to_the_slice_that_it_makes() -> None:
    found = target(file_slice("g", "1", 10, 5), {"1": 1}, "3")
    assert (found.base_instant, found.base_file, found.next_version, found.log_names) == ("3", "", 1, ())


def test_the_workload_profile_as_it_stands_in_the_inflight_file() -> None:
    slices = {0: file_slice("g", "1", 9), 1: file_slice("h", "2", 5), 2: file_slice("i", "1", 5)}
    profile = WorkloadProfile({0: 4}, {"a": 30, "b": 7}, {0: "a"})
    shares = {"a": [InsertShare("h", 10), InsertShare(None, 20)], "b": [InsertShare(None, 7)]}
    found = workload_metadata("upsert", slices, profile, shares)
    assert found.operation_type is OperationType.UPSERT
    assert [
        (stat.partition_path, stat.file_id, stat.prev_commit, stat.num_inserts, stat.num_update_writes)
        for stat in found.write_stats
    ] == [
        ("a", "", "null", 30, 0),
        ("a", "g", "1", 0, 4),
        ("a", "h", "2", 10, 0),
        ("b", "", "null", 7, 0),
    ]


@pytest.mark.parametrize(
    ("keys", "partitions", "expected"),
    [
        (("id",), (), NON_PARTITIONED),
        (("a", "b"), (), NON_PARTITIONED),
        (("id",), ("p",), SIMPLE),
        (("a", "b"), ("p",), COMPLEX),
        (("id",), ("p", "q"), COMPLEX),
    ],
)
def test_the_key_generator_that_hudi_infers(keys: tuple[str, ...], partitions: tuple[str, ...], expected: str) -> None:
    assert infer_class(keys, partitions) == expected
    spec = KeySpec.of(keys, partitions, hive_style=False, url_encode=False)
    assert (spec.class_name, spec.partition_fields) == (expected, partitions)


@pytest.mark.parametrize("name", ["org.apache.hudi.keygen.ComplexAvroKeyGenerator", COMPLEX])
def test_a_named_key_generator_stays_as_it_was_written(name: str) -> None:
    assert KeySpec.of(("id",), ("p",), hive_style=True, url_encode=True, class_name=name).class_name == name


def test_a_non_partitioned_generator_has_no_partition_columns() -> None:
    spec = KeySpec.of(("id",), ("p",), hive_style=False, url_encode=False, class_name=NON_PARTITIONED)
    assert spec.partition_fields == ()


def test_other_generators_are_refused() -> None:
    with pytest.raises(UnsupportedTableError, match=r"com\.us\.OurKeyGenerator is not supported: use one of Complex"):
        KeySpec.of(("id",), ("p",), hive_style=False, url_encode=False, class_name="com.us.OurKeyGenerator")
