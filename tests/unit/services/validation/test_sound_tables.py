"""Tables that real Hudi wrote have no findings: no check takes Hudi's ways for faults."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from spark_jobs.core.config.keys import clustering as clustering_keys
from spark_jobs.core.format.instant import Action
from spark_jobs.options import ClusteringOptions, JobState
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import all_tables, with_source
from tests.support.folder import Folder
from tests.support.jobs import job_context

pytestmark = pytest.mark.unit

TABLES = [name for name in all_tables() if name != "old_tables/mor_v0"]
"""Without the logs of Hudi 0.5, whose commits were made by hand and name other files."""


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_hudi_is_sound(name: str, unpack: Callable[[str], Folder]) -> None:
    base = with_source(unpack(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [str(one) for one in validate(str(base), deep=True, lake=base.lake)] == []


def test_a_source_file_of_a_bootstrapped_table_is_gone(unpack: Callable[[str], Folder]) -> None:
    base = with_source(unpack("tables/bootstrap_mor"))
    file = next(base.with_name("bootstrap_mor_source").rglob("north/**/*.parquet"))
    file.unlink()
    (found,) = validate(str(base), lake=base.lake)
    assert (found.invariant, found.severity, found.path) == (5, "ERROR", str(file))
    rows, source = validate(str(base), deep=True, lake=base.lake)
    assert source == found
    assert rows.invariant == 1
    assert str(file) in rows.what


def test_rows_that_this_release_does_not_read_are_told(unpack: Callable[[str], Folder]) -> None:
    base = with_source(unpack("tables/bootstrap_cow"))
    set_index_class(base, "a.OwnBootstrapIndex")
    assert validate(str(base), lake=base.lake) == []
    (found,) = validate(str(base), deep=True, lake=base.lake)
    assert (found.invariant, found.severity) == (1, "WARNING")
    assert found.what.startswith("its rows are not validated: ")


def test_rows_of_a_bootstrap_that_no_index_tells(unpack: Callable[[str], Folder]) -> None:
    base = with_source(unpack("tables/bootstrap_cow"))
    set_index_class(base, "org.apache.hudi.common.bootstrap.index.NoOpBootstrapIndex")
    found = validate(str(base), deep=True, lake=base.lake)
    assert {(one.invariant, one.severity) for one in found} == {(1, "ERROR")}
    assert len(found) == 5  # the sixth was updated, and is a whole file
    assert all("_00000000000001.parquet" in one.path and "no index that tells where" in one.what for one in found)


def set_index_class(base: Folder, name: str) -> None:
    (base / ".hoodie" / "hoodie.properties").append_text(f"hoodie.bootstrap.index.class={name}\n")


def test_a_metadata_table_is_a_table_too(unpack: Callable[[str], Folder]) -> None:
    metadata = unpack("metadata_tables/indexed_mor") / ".hoodie" / "metadata"
    assert validate(str(metadata), lake=metadata.lake) == []


def test_a_rewrite_beside_a_compaction_that_is_planned_for_other_partitions(unpack: Callable[[str], Folder]) -> None:
    base = unpack("tables/mor_pending_compaction")
    due = {clustering_keys.CLUSTER_MAX_COMMITS.name: "1", clustering_keys.CLUSTER_SINGLE_GROUP.name: "true"}
    done = run_clustering(ClusteringOptions(base_path=str(base), hoodie_conf=due), job_context(lake=base.lake))
    assert done.state is JobState.COMPLETED
    assert base.table().timeline.pending({Action.COMPACTION})
    assert [str(one) for one in validate(str(base), deep=True, lake=base.lake)] == []
