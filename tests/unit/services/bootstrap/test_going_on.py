"""Bootstrapped tables are written to and tended like others: what stays in the source is merged into whole files."""

from __future__ import annotations

import pyarrow.compute as pc
import pytest

from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.schema.meta_fields import META_FIELDS
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT
from spark_jobs.options import RestoreOptions, RollbackOptions, SavepointOptions
from spark_jobs.options.archive import ArchiveOptions
from spark_jobs.options.result import JobState
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.write.pack import SizeSettings, small_files
from tests.faults import local_table as local
from tests.support.folder import Folder, read_parquet, write_parquet
from tests.support.jobs import job_context
from tests.unit.services.bootstrap.tables_over import COW, FIRST, MODES, MOR, NEW, SECOND, is_sound, table_over

pytestmark = pytest.mark.unit

TYPES = pytest.mark.parametrize("table_type", [COW, MOR])


def rewrite(path: Folder) -> None:
    service = local.compact if path.table().config.is_merge_on_read else local.cluster
    service(path)


@TYPES
@pytest.mark.parametrize("mode", MODES)
def test_upserts_deletes_rewrites_and_cleans(root: Folder, mode: str, table_type: str) -> None:
    path = table_over(root, mode, table_type)
    bootstrapped = path.table().timeline.last_time
    local.write(path, SECOND, "second")
    assert is_sound(path, FIRST, SECOND)
    local.write(path, NEW, "new")
    rewrite(path)
    assert is_sound(path, FIRST, SECOND, NEW)
    local.delete(path, local.batch(10, 10, "", 4), "gone")
    rewrite(path)
    assert is_sound(path, local.batch(0, 10, "two", 2), NEW)
    before = path.table().scan(as_of=bootstrapped, columns=["id", "v"]).to_arrow()
    assert sorted(before["id"].to_pylist()) == list(range(20))
    assert set(before["v"].to_pylist()) == {"one"}
    local.clean(path)
    assert is_sound(path, local.batch(0, 10, "two", 2), NEW)
    (root / "source").remove()  # every group has a whole file now
    assert is_sound(path, local.batch(0, 10, "two", 2), NEW)


@pytest.mark.parametrize("hive", [True, False])
def test_the_new_version_of_a_skeleton_is_a_whole_file(root: Folder, hive: bool) -> None:
    path = table_over(root, "kept", COW, hive=hive)
    table = path.table()
    stored = table.scan().to_arrow()
    cluster_all(path)
    (file,) = [one.base_file for one in path.table().file_slices() if one.partition.endswith("a")]
    assert file is not None
    rows = read_parquet(path / file.relative_path)
    assert rows.schema.names == [*META_FIELDS, *table.schema.names]
    assert set(table.schema.names) == {"id", "p", "v", "ts"}
    kept = [name for name in stored.schema.names if name != "_hoodie_file_name"]
    mine = stored.filter(pc.equal(stored["p"], "a")).select(kept)
    assert rows.select(kept).cast(mine.schema).sort_by("id").equals(mine.sort_by("id").combine_chunks())


def cluster_all(path: Folder) -> None:
    local.cluster(path)
    assert path.table().timeline.completed(Action.REPLACE_COMMIT)


@TYPES
def test_a_write_is_rolled_back_and_the_skeletons_are_read_again(root: Folder, table_type: str) -> None:
    path = table_over(root, "kept", table_type)
    done = local.write(path, SECOND, "second")
    run_rollback(RollbackOptions(base_path=str(path), instant_time=done), job_context(lake=root.lake))
    assert is_sound(path, FIRST)


@TYPES
def test_back_to_the_bootstrap(root: Folder, table_type: str) -> None:
    path = table_over(root, "both", table_type)
    last = FULL_BOOTSTRAP_INSTANT
    run_savepoint(SavepointOptions(base_path=str(path), instant_time=last), job_context(lake=root.lake))
    local.write(path, SECOND, "second")
    rewrite(path)
    local.clean(path)
    done = run_restore(RestoreOptions(base_path=str(path), savepoint=last, verify="rows"), job_context(lake=root.lake))
    assert done.state is JobState.COMPLETED
    assert is_sound(path, FIRST)


def test_a_bootstrap_is_archived_like_other_commits(root: Folder) -> None:
    path = table_over(root, "both", COW)
    conf = {
        **local.AT_ONCE,
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.metadata.compact.max.delta.commits": "1",
    }
    for number in range(4):
        local.write(path, local.batch(0, 10, f"v{number}", 2 + number), str(number))
    local.clean(path)
    maintain_metadata_table(path.table().transaction_settings(conf), conf, pytest.fail)
    done = run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=conf), job_context(lake=root.lake))
    assert done.state is JobState.COMPLETED
    table = path.table()
    archived = {one.timestamp for one in table.archived_timeline().instants if one.is_completed}
    assert archived >= {BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT}
    assert is_sound(path, FIRST, local.batch(0, 10, "v3", 5))


def test_a_source_that_changed_ends_a_write_before_anything_is_lost(root: Folder) -> None:
    path = table_over(root, "kept", COW)
    write_parquet(FIRST.slice(0, 3), root / "source" / "a" / "part-0.parquet")
    with pytest.raises(CorruptTableError, match=r"part-0.parquet has .* bytes, and had .*: restore it as it was"):
        local.cluster(path)
    assert not path.table().timeline.completed(Action.REPLACE_COMMIT)


def test_inserts_do_not_fill_a_skeleton_up(root: Folder) -> None:
    path = table_over(root, "both", COW)
    slices = path.table().file_slices()
    settings = SizeSettings(
        max_file_size=1 << 27,
        small_file_limit=1 << 26,
        split_size=500_000,
        auto_split=True,
        record_size=1024,
        small_slices=1,
    )
    assert {one.base_instant for one in slices} == {BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT}
    assert {one.partition for one in small_files(slices, settings, merge_on_read=False)} == {"b"}


def test_a_record_index_is_refused(root: Folder) -> None:
    path = table_over(root, "kept", COW)
    table = path.table()
    with pytest.raises(ConfigError, match="was bootstrapped, by an instant that is no moment"):
        table.transaction_settings({"hoodie.metadata.record.index.enable": "true"})
