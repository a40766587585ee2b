"""Which slices a compaction takes: literal tables."""

from __future__ import annotations

import pytest

from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan, plan_compaction
from tests.support.payloads import stored
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit

MB = 1024 * 1024
SLICES = (
    file_slice("a", "1", 10 * MB, 1 * MB),
    file_slice("b", "1", 10 * MB, 3 * MB, 2 * MB),
    file_slice("c", "1", 10 * MB),
    file_slice("d", "1", None, 2 * MB),
    file_slice("e", "1", 1 * MB, 5 * MB),
)


def limits(target_io: int = 1000, log_size: int = 0) -> CompactionLimits:
    return CompactionLimits(target_io=target_io, log_size=log_size, max_file_size=20 * MB)


@pytest.mark.parametrize(
    ("given", "busy", "expected"),
    [
        (limits(), "", "beda"),  # most log bytes first, of equal ones by file id; no logs, no compaction
        (limits(log_size=2 * MB), "", "bed"),  # inclusive
        (limits(log_size=2 * MB + 1), "", "be"),
        (limits(), "b", "eda"),
        (limits(), "abde", ""),
        (limits(target_io=1), "", "b"),  # the one that crosses the limit is in
        (limits(target_io=25), "", "b"),  # b reads 15 and writes 10
        (limits(target_io=26), "", "be"),
        (limits(target_io=32), "", "be"),  # e reads 6 and writes 1
        (limits(target_io=33), "", "bed"),
        (limits(target_io=54), "", "bed"),  # d reads 2 and writes a whole new file of 20
        (limits(target_io=55), "", "beda"),
    ],
)
def test_choice(given: CompactionLimits, busy: str, expected: str) -> None:
    plan = plan_compaction(SLICES, frozenset(("a", name) for name in busy), given)
    assert "".join(one.file_id for one in plan.slices) == expected


def test_nothing_from_nothing() -> None:
    assert plan_compaction((), frozenset(), limits()).slices == ()


def test_the_plan_survives_the_timeline() -> None:
    plan = plan_compaction(SLICES, frozenset(), limits())
    raw = decode_payload(stored(plan.requested(limits()).payload()), "x")
    sizes = {path: size for one in SLICES for path, size in one.sizes}
    assert CompactionPlan.of(RequestedCompaction.of(raw), sizes, VERSION_6) == plan
    metrics = raw["operations"][0]["metrics"]
    assert metrics == {
        "TOTAL_LOG_FILES": 2.0,
        "TOTAL_IO_READ_MB": 15.0,
        "TOTAL_LOG_FILES_SIZE": 5.0 * MB,
        "TOTAL_IO_WRITE_MB": 10.0,
        "TOTAL_IO_MB": 25.0,
    }
    assert (plan.files_in, plan.bytes_in) == (8, 34 * MB)


def test_a_plan_without_partitions_or_with_whole_paths() -> None:
    one: FileSlice = file_slice("a", "1", 5, 3, partition="")
    raw = decode_payload(stored(CompactionPlan((one,)).requested(limits()).payload()), "x")
    raw["operations"][0]["deltaFilePaths"] = ["/t/.a_1.log.1_0-1-1"]
    sizes = dict(one.sizes)
    assert CompactionPlan.of(RequestedCompaction.of(raw), sizes, VERSION_6) == CompactionPlan((one,))
