"""``bootstrap.py`` in this process: rows as in the source, the files that Hudi makes, reasons and refusals."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import BadRecordError, ConfigError, StorageError, WriteConflictError
from spark_jobs.core.files.base_file import footer_index
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.transaction.transaction import resume
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION, BootstrapIndex
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.result import JobState
from spark_jobs.services.bootstrap import job
from spark_jobs.services.bootstrap.job import run_bootstrap
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import unpack
from tests.support.folder import Folder, file_at, write_parquet
from tests.support.jobs import job_context
from tests.support.locks import is_nothing
from tests.unit.services.bootstrap.sources import (
    ALL_COPIED,
    NORTH_STAYS,
    SCHEMA,
    all_rows,
    bootstrap,
    make_source,
    options,
    rows,
    rows_of,
)
from tests.words import all_words

pytestmark = pytest.mark.unit

KEPT, COPIED = "00000000000001", "00000000000002"


@pytest.fixture(params=["hive", "plain"])
def source(request: pytest.FixtureRequest, root: Folder) -> Folder:
    return make_source(root / "source", hive=request.param == "hive")


@pytest.fixture
def plain(root: Folder) -> Folder:
    return make_source(root / "source", hive=False)


def completed(path: Folder) -> dict[str, Any]:
    table = path.table()
    commits = table.timeline.completed_commits()
    return {one.timestamp: table.timeline.commit_metadata(one, SYSTEM_CLOCK) for one in commits}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("conf", "instants"), [({}, [KEPT]), (ALL_COPIED, [COPIED]), (NORTH_STAYS, [KEPT, COPIED])], ids=["M", "F", "MF"]
)
def test_the_table_has_the_rows_of_its_source(
    root: Folder, source: Folder, table_type: str, conf: dict[str, str], instants: list[str]
) -> None:
    path = root / "t"
    result = bootstrap(path, source, conf, table_type=table_type)
    assert (result.state, result.instant, result.records_out) == (JobState.COMPLETED, instants[-1], 28)
    assert (result.files_in, result.files_out) == (4, 4)
    assert rows_of(path).equals(all_rows().combine_chunks())
    found = completed(path)
    assert list(found) == instants
    operations = {KEPT: OperationType.BOOTSTRAP, COPIED: OperationType.BULK_INSERT}
    assert {time: one.operation_type for time, one in found.items()} == {time: operations[time] for time in instants}
    table = path.table()
    assert table.config.metadata_partitions
    assert table.config.table_type.value == table_type
    assert table.partitions() == (["region=north", "region=south"] if table.config.hive_style else ["north", "south"])
    assert validate(str(path), deep=True, lake=path.lake) == []
    assert all((path / name).exists() is (KEPT in instants) for name in (BY_PARTITION, BY_FILE_ID))


def test_the_table_keeps_what_was_asked_of_it(root: Folder, plain: Folder) -> None:
    asked = {
        "hoodie.database.name": "lake",
        "hoodie.archivelog.folder": "old",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
    dropping = {"hoodie.datasource.write.drop.partition.columns": "true"}
    with pytest.raises(ConfigError, match="=true makes a table that this release does not write to: leave it out"):
        bootstrap(root / "t", plain, {**asked, **dropping}, partition_path_fields=("region",))
    assert is_nothing(root / "t")
    bootstrap(root / "t", plain, asked, partition_path_fields=("region",))
    found = (root / "t").table().config.properties
    assert {name: found[name] for name in asked} == asked


def test_a_skeleton_is_what_hudi_makes(root: Folder, plain: Folder) -> None:
    bootstrap(root / "t", plain)
    table = (root / "t").table()
    index = BootstrapIndex.of(table.lake, table.storage, table.base_path, table.config)
    assert index is not None
    base = next(one.base_file for one in table.file_slices(partition="north") if one.base_file)
    assert len(base.name.file_id) == 36
    file = pq.ParquetFile((root / "t" / base.relative_path).open_input())
    told = index.source_of("north", base.name.file_id)
    first = 0 if told.path.endswith("part-0.parquet") else 10
    assert file.read().to_pylist()[1] == {
        "_hoodie_commit_time": KEPT,
        "_hoodie_commit_seqno": f"{KEPT}_{int(first > 0)}_1",
        "_hoodie_record_key": f"north-{first + 1:03}",
        "_hoodie_partition_path": "north",
        "_hoodie_file_name": base.name.file_id + "_" + str(base.name).split("_", 1)[1],
    }
    assert json.loads(file.metadata.metadata[b"parquet.avro.schema"])["name"] == "HoodieRecordKey"
    footer = footer_index(file)
    assert footer.key_range == (f"north-{first:03}", f"north-{first + 6:03}")
    assert footer.bloom is not None
    assert (told.partition, told.size) == ("north", (plain / told.path).size)
    (stat, *_) = completed(root / "t")[KEPT].write_stats
    assert (stat.num_writes, stat.num_inserts, stat.prev_commit) == (7, 7, "null")


def test_a_dry_run_shows_the_plan_that_its_hash_then_does(root: Folder, plain: Folder) -> None:
    path = root / "t"
    look = bootstrap(path, plain, NORTH_STAYS, dry_run=True)
    assert (look.state, look.files_in, path.exists()) == (JobState.DRY_RUN, 4, False)
    plan = look.plan or {}
    assert [one["path"] for one in plan["METADATA_ONLY"]] == ["north/part-0.parquet", "north/part-1.parquet"]
    assert [one["path"] for one in plan["FULL_RECORD"]] == ["south/part-0.parquet", "south/part-1.parquet"]
    assert plan["columns"] == [f"{field.name}: {field.type}" for field in SCHEMA]
    assert plan["estimate"]["bytes_copied"] == sum(one["bytes"] for one in plan["FULL_RECORD"])
    with pytest.raises(WriteConflictError, match="other files or settings"):
        bootstrap(path, plain, plan_hash=plan["hash"])
    assert not path.exists()
    done = bootstrap(path, plain, NORTH_STAYS, plan_hash=plan["hash"])
    assert done.state is JobState.COMPLETED
    again = bootstrap(path, plain, NORTH_STAYS, plan_hash=plan["hash"])
    assert again.state is JobState.NOTHING_TO_DO
    assert f"is there already: instants {KEPT} and {COPIED} bootstrapped it" in str(again.reason)
    assert again.extra["bootstrapped"]


def test_nothing_is_done_for_a_reason(root: Folder, plain: Folder) -> None:
    (root / "empty").mkdir()
    if not root.is_local:  # a store has no empty folder
        (root / "empty" / "_SUCCESS").touch()
    nothing = bootstrap(root / "t", root / "empty")
    assert (nothing.state, nothing.reason) == (
        JobState.NOTHING_TO_DO,
        f"there is no Parquet file below {root / 'empty'}",
    )
    path = root / "t"
    bootstrap(path, plain)
    timeline = path.table().timeline
    folder = file_at(timeline.storage, timeline.folder)
    (folder / f"{KEPT}.commit").copy_to(folder / "20260101000000000.commit")
    used = bootstrap(path, plain, NORTH_STAYS)
    assert used.state is JobState.NOTHING_TO_DO
    assert "in use: it has 2 commit(s), the last is 20260101000000000" in str(used.reason)


def test_another_plan_than_the_one_that_was_begun_is_refused(root: Folder, plain: Folder) -> None:
    bootstrap(root / "t", plain)
    with pytest.raises(WriteConflictError, match=f"instant {KEPT} of table t came of another plan"):
        bootstrap(root / "t", plain, NORTH_STAYS)
    with pytest.raises(ConfigError, match=r"hoodie.table.recordkey.fields=id, the bootstrap asks for revision"):
        bootstrap(root / "t", plain, record_key_fields=("revision",))
    HudiTable.create(str(root / "other"), name="t", record_key_fields=["id"], lake=root.lake)
    with pytest.raises(ConfigError, match=r"hoodie.bootstrap.base.path=\(none\)"):
        bootstrap(root / "other", plain)


def test_another_run_under_way_is_left_alone(root: Folder, plain: Folder) -> None:
    table = BootstrapSettings.of(options(root / "t", plain), root.lake).create_table()
    settings = table.transaction_settings({})
    with settings.new_lock() as locked:
        alive = resume(settings, request(table.timeline, KEPT, Action.COMMIT), locked)
    with pytest.raises(WriteConflictError, match=f"instant {KEPT} is under way"):
        bootstrap(root / "t", plain)
    alive.abandon()
    assert bootstrap(root / "t", plain).state is JobState.COMPLETED


def test_a_failed_bootstrap_leaves_no_table(root: Folder, plain: Folder) -> None:
    bad = rows("north", 50).set_column(0, "id", pa.array([None, *"abcdef"], pa.string()))
    write_parquet(bad, plain / "north" / "part-2.parquet")
    with pytest.raises(BadRecordError, match="no value in its key"):
        bootstrap(root / "t", plain)
    assert is_nothing(root / "t")


def test_a_failed_copy_leaves_what_was_kept(root: Folder, plain: Folder) -> None:
    path, bad = root / "t", plain / "south" / "part-2.parquet"
    write_parquet(rows("south", 150).rename_columns(["id", "revision", "cost", "region"]), bad)
    with pytest.raises(ConfigError, match=r"column cost of source file .* has no such column"):
        bootstrap(path, plain, NORTH_STAYS)
    assert list(completed(path)) == [KEPT]
    write_parquet(rows("south", 150), bad)
    with pytest.raises(WriteConflictError, match="came of another plan"):
        bootstrap(path, plain, NORTH_STAYS)
    assert validate(str(path), deep=True, lake=path.lake) == []


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"source": ""}, "needs a source"),
        ({"source": "nowhere"}, "is no folder"),
        ({"table_name": ""}, "needs a name"),
        ({"record_key_fields": ()}, "needs record key fields"),
        ({"conf": {"hoodie.populate.meta.fields": "false"}}, "hoodie.populate.meta.fields"),
        ({"conf": {"hoodie.bootstrap.index.class": "a.NoOpBootstrapIndex"}}, "none that this release writes"),
        ({"conf": {"hoodie.bootstrap.index.enable": "false"}}, "whose rows no reader finds"),
        ({"conf": {"hoodie.bootstrap.partitionpath.translator.class": "a.Decoded"}}, "leave it out"),
        ({"record_key_fields": ("nothing",)}, "no column nothing"),
        ({"partition_path_fields": ("revision",)}, "puts a row of .* into partition '0'"),
        ({"conf": {"hoodie.datasource.write.hive_style_partitioning": "true"}}, "into partition 'region=north'"),
    ],
)
def test_what_does_not_fit_is_refused(root: Folder, plain: Folder, changes: dict[str, Any], word: str) -> None:
    given = {"source": plain, **changes}
    if given["source"] == "nowhere":
        given["source"] = root / "nowhere"
    with pytest.raises(ConfigError, match=word):
        bootstrap(root / "t", **given)
    assert is_nothing(root / "t")


def test_a_table_inside_its_source_is_refused(plain: Folder) -> None:
    for path in (plain, plain / "t", plain.parent):
        with pytest.raises(ConfigError, match="lie in each other"):
            bootstrap(path, plain)


def test_a_source_of_hudi_files_is_refused(root: Folder, plain: Folder) -> None:
    bootstrap(root / "t", plain, ALL_COPIED)
    with pytest.raises(ConfigError, match="it is a file of a Hudi table"):
        bootstrap(root / "u", root / "t")


@pytest.mark.parametrize("content", [b"", b"PAR1nonsense"])
@pytest.mark.parametrize("name", ["a.parquet", "z.parquet"])
@pytest.mark.parametrize("conf", [{}, ALL_COPIED], ids=["kept", "copied"])
def test_a_damaged_source_file_is_told(
    root: Folder, plain: Folder, name: str, content: bytes, conf: dict[str, str]
) -> None:
    (plain / "north" / name).write_bytes(content)
    with pytest.raises(StorageError, match=f"^source file {plain}/north/{name} is not readable .*, or take it out of"):
        bootstrap(root / "t", plain, conf)
    assert is_nothing(root / "t")


def test_a_changed_source_file_is_told(root: Folder, plain: Folder) -> None:
    source = BootstrapSettings.of(options(root / "t", plain), root.lake).source
    (file, *_) = pickle.loads(pickle.dumps(source)).files
    write_parquet(rows("north", 0, 9), plain / file.path)
    with pytest.raises(StorageError, match="was changed meanwhile"):
        source.refuse_changed(file)
    (plain / file.path).unlink()
    with pytest.raises(StorageError, match="was removed meanwhile"):
        source.refuse_changed(file)


def test_copied_rows_go_where_their_keys_say(root: Folder) -> None:
    (root / "flat").mkdir()
    write_parquet(all_rows(), root / "flat" / "a.parquet")
    bootstrap(root / "t", root / "flat", ALL_COPIED)
    assert (root / "t").table().partitions() == ["north", "south"]
    assert rows_of(root / "t").equals(all_rows().combine_chunks())
    assert validate(str(root / "t"), deep=True, lake=root.lake) == []


def test_hive_folders_tell_the_partition_columns(root: Folder) -> None:
    source = make_source(root / "source", hive=True)
    bootstrap(root / "t", source, partition_path_fields=())
    config = (root / "t").table().config
    assert (config.partition_fields, config.hive_style) == (("region",), True)
    assert rows_of(root / "t").equals(all_rows().combine_chunks())


def test_a_source_without_folders_makes_a_table_without_partitions(root: Folder) -> None:
    (root / "flat").mkdir()
    write_parquet(rows("north", 0), root / "flat" / "a.parquet")
    write_parquet(rows("north", 0, 0), root / "flat" / "empty.parquet")
    result = bootstrap(root / "t", root / "flat", partition_path_fields=())
    assert (result.files_in, result.files_out) == (2, 1)
    assert (root / "t").table().partitions() == [""]
    assert rows_of(root / "t").equals(rows("north", 0))
    assert validate(str(root / "t"), deep=True, lake=root.lake) == []


def test_the_entry_point_does_it_in_this_process(root: Folder, plain: Folder) -> None:
    given = options(root / "t", plain)
    assert type(given).from_args(all_words(given)) == given
    result = job.run_bootstrap(given, job_context(lake=root.lake))
    assert (result.state, result.extra["engine"]) == (JobState.COMPLETED, "local")
    assert "sync" not in result.extra


def test_a_sync_follows_also_a_bootstrap_of_before(root: Folder, plain: Folder) -> None:
    """Nobody listens there, which a person chose to ignore."""
    sync = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": "thrift://127.0.0.1:9",
        "hoodie.datasource.hive_sync.ignore_exceptions": "true",
    }
    for state in (JobState.COMPLETED, JobState.NOTHING_TO_DO):
        result = job.run_bootstrap(options(root / "t", plain, sync), job_context(lake=root.lake))
        assert result.state is state
        assert "not synced" in result.extra["sync"]["reason"]
    look = job.run_bootstrap(options(root / "u", plain, sync, dry_run=True), job_context(lake=root.lake))
    assert "sync" not in look.extra


def test_what_hudi_bootstrapped_counts(root: Folder) -> None:
    """A table of real Hudi 0.15.0 that has a commit since."""
    path = unpack("tables/bootstrap_cow", root)
    result = bootstrap(path, path.with_name("bootstrap_cow_source"))
    assert result.state is JobState.NOTHING_TO_DO
    assert "bootstrap_cow is there already, and in use: it has 2 commit(s)" in str(result.reason)


class PicklingEngine(LocalEngine):
    """Hands everything over as a cluster would."""

    def run_each(
        self,
        items: Sequence[Any],
        work: Callable[[Any, TaskScope], Any],
        advance: Callable[[int], Any] = lambda steps: None,
        sizes: Sequence[int] | None = None,
    ) -> list[Any]:
        items, work = pickle.loads(pickle.dumps((items, work)))
        return list(pickle.loads(pickle.dumps(super().run_each(items, work, advance, sizes))))


def test_work_goes_to_a_cluster_in_as_many_pieces_as_allowed(root: Folder, plain: Folder) -> None:
    given = options(root / "t", plain, {**NORTH_STAYS, "hoodie.bootstrap.parallelism": "1"})
    result = run_bootstrap(given, job_context(engine=PicklingEngine(SYSTEM_CLOCK), lake=root.lake))
    assert (result.state, result.files_out) == (JobState.COMPLETED, 4)
    assert rows_of(root / "t").equals(all_rows().combine_chunks())
    sequence = (root / "t").table().scan(columns=["_hoodie_commit_seqno"]).to_arrow()
    assert len(set(sequence["_hoodie_commit_seqno"].to_pylist())) == 28


@pytest.mark.parametrize("hive", [True, False], ids=["hive", "plain"])
def test_rows_without_a_partition_value_come_along(root: Folder, hive: bool) -> None:
    source = make_source(root / "source", hive=hive)
    folder = source / ("region=__HIVE_DEFAULT_PARTITION__" if hive else "__HIVE_DEFAULT_PARTITION__")
    folder.mkdir()
    none = rows("none", 900).set_column(3, "region", pa.nulls(7, pa.string()))
    write_parquet(none.drop_columns(["region"]) if hive else none, folder / "part-0.parquet")
    bootstrap(root / "t", source)
    assert rows_of(root / "t").equals(pa.concat_tables([all_rows(), none]).sort_by("id").combine_chunks())
    assert validate(str(root / "t"), deep=True, lake=root.lake) == []


def test_a_run_goes_on_with_the_copies_that_are_left(root: Folder, plain: Folder) -> None:
    """As after a death between the two commits."""
    path, whole = root / "t", root / "whole"
    bootstrap(path, plain, NORTH_STAYS)
    path.copy_to(whole)
    meta = path / ".hoodie"
    for file in [*meta.glob(f"{COPIED}.*"), *meta.glob(f"metadata/.hoodie/{COPIED}.*")]:
        file.unlink()
    (path / "south").remove()
    for log in (meta / "metadata" / "files").glob(".files-*.log.3_*"):
        log.unlink()
    assert list(completed(path)) == [KEPT]
    result = bootstrap(path, plain, NORTH_STAYS)
    assert (result.instant, result.files_in, result.records_out) == (COPIED, 2, 14)
    assert rows_of(path).equals(rows_of(whole))
    assert validate(str(path), deep=True, lake=path.lake) == []
