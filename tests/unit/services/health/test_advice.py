"""Which service would help: on either side of each bound, with the numbers in its reason."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spark_jobs.services.health.advice import advise
from spark_jobs.services.health.facts import GIB, MIB, Leftovers, MetadataDepth
from tests.unit.services.health.healthy import HEALTHY, LIMITS, health, partition, pending

pytestmark = pytest.mark.unit

DEEP = MetadataDepth(partitions=("files",), commits=20, logs=20, log_bytes=1000, base_bytes=2000)
LEFT = Leftovers(files=2, bytes=MIB, marker_folders=1, heartbeats=0, paths=("a/x.parquet",))


def test_a_healthy_table_needs_nothing() -> None:
    assert advise(HEALTHY) == ()


@pytest.mark.parametrize(
    ("not_yet", "due", "service", "job", "operator", "words"),
    [
        (
            {"commits_since_compaction": 4},
            {"commits_since_compaction": 5},
            "compaction",
            "compact.py",
            "HudiCompactionOperator",
            "5 delta commit(s) since the last compaction (5 make it due); 4 logs hold 4.0 MiB, 0% of the base",
        ),
        (
            {"log_bytes": 600 * MIB},
            {"log_bytes": 700 * MIB},
            "compaction",
            "compact.py",
            "HudiCompactionOperator",
            "4 delta commit(s) since the last compaction (5 make it due); 4 logs hold 700.0 MiB, 53% of the base",
        ),
        (
            {"mergeable_files": 3, "mergeable_partitions": 2, "small_files": 3},
            {"mergeable_files": 4, "mergeable_partitions": 2, "small_files": 4},
            "clustering",
            "cluster.py",
            "HudiClusteringOperator",
            "4 of 12 base files are small (below 100.0 MiB) beside others in 2 partition(s), and would become about 2",
        ),
        (
            {"cleanable_files": 0},
            {"cleanable_files": 7, "cleanable_bytes": 3 * MIB},
            "cleaning",
            "clean.py",
            "HudiCleanOperator",
            "7 files (3.0 MiB) are older than what KEEP_LATEST_COMMITS 10 retains; 3 commit(s) and never cleaned",
        ),
        (
            {"active_commits": 30, "archivable": 0},
            {"active_commits": 31, "archivable": 1},
            "archival",
            "archive.py",
            "HudiArchiveOperator",
            "31 commits on the active timeline, 30 are the most to keep",
        ),
        (
            {"metadata": DEEP},
            {"metadata": replace(DEEP, commits=21)},
            "metadata table",
            "ingest.py",
            "HudiIngestOperator",
            "the metadata table has 21 delta commits since its compaction (10 make it due)",
        ),
        (
            {"pending": (pending(hours=30, alive=True),)},
            {"pending": (pending(hours=30, overdue=True),)},
            "compaction",
            "compact.py",
            "HudiCompactionOperator",
            "compaction 20240101000000000 has been requested for 30 h and no process executes it",
        ),
        (
            {"leftovers": replace(LEFT, files=0, marker_folders=0)},
            {"leftovers": LEFT},
            "leftovers",
            "validate.py",
            "",
            "2 data file(s) of no instant (1.0 MiB), 1 marker folder(s) left behind, such as a/x.parquet",
        ),
        (
            {"largest_partitions": (partition("a", 9 * GIB),)},
            {"largest_partitions": (partition("a", 10 * GIB),)},
            "partitioning",
            "cluster.py",
            "HudiClusteringOperator",
            "partition 'a' has 10.0 GiB, 10 times the median of 1.0 GiB",
        ),
    ],
)
def test_a_service_that_would_help(
    not_yet: dict[str, Any], due: dict[str, Any], service: str, job: str, operator: str, words: str
) -> None:
    assert advise(health(**not_yet)) == ()
    (found,) = advise(health(**due))
    assert (found.service, found.job, found.operator) == (service, job, operator)
    assert found.why.startswith(words)


def test_who_ends_a_pending_instant() -> None:
    one = pending(overdue=True, hours=25, service="indexing", job="index.py", operator="HudiIndexingOperator")
    (found,) = advise(health(pending=(one,)))
    assert (found.service, found.job, found.operator) == ("indexing", "index.py", "HudiIndexingOperator")
    assert found.urgent
    assert "cleaning and archival stop before it" in found.why


def test_nothing_starts_beside_a_pending_restore() -> None:
    (found,) = advise(health(pending=(pending(overdue=True, action="restore"),)))
    assert found.why.endswith("the table is half undone, and no write or service starts")


def test_what_could_not_be_read_is_urgent() -> None:
    (found,) = advise(health(faults=("x.compaction.requested is not an Avro container file",)))
    assert (found.job, found.operator, found.urgent) == ("validate.py", "HudiValidateOperator", True)
    assert found.why.startswith("x.compaction.requested is not an Avro container file: what depends on it")


def test_the_urgent_come_first() -> None:
    found = advise(health(archivable=5, active_commits=35, commits_since_compaction=10))
    assert [(one.service, one.urgent) for one in found] == [("compaction", True), ("archival", False)]


def test_copy_on_write_is_never_told_to_compact() -> None:
    assert advise(health(commits_since_compaction=None, log_bytes=10 * GIB)) == ()


def test_a_damaged_metadata_table_is_urgent() -> None:
    (found,) = advise(health(metadata=replace(DEEP, fault="cut off")))
    assert (found.job, found.urgent) == ("validate.py", True)


def test_what_cleaning_would_give_back_may_be_urgent() -> None:
    given = {"cleanable_files": 7, "cleanable_bytes": 2 * GIB}
    assert advise(health(**given))[0].urgent
    assert not advise(health(**given, limits=replace(LIMITS, clean_after=4)))  # not due yet
