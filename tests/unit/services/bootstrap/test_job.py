"""``bootstrap.py`` in this process: rows as in the source, the files that Hudi makes, reasons and refusals."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import BadRecordError, ConfigError, StorageError, WriteConflictError
from spark_jobs.core.files.base_file import footer_index
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.lake import LAKE
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import request
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.transaction.transaction import resume
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION, BootstrapIndex
from spark_jobs.engine.local import LocalEngine
from spark_jobs.options.result import JobState
from spark_jobs.services.bootstrap import job
from spark_jobs.services.bootstrap.job import run_bootstrap
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.validation.run import validate
from tests.support.jobs import job_context
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
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return make_source(tmp_path / "source", hive=request.param == "hive")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return make_source(tmp_path / "source", hive=False)


def completed(path: Path) -> dict[str, Any]:
    table = HudiTable.open(str(path))
    commits = table.timeline.completed_commits()
    return {one.timestamp: table.timeline.commit_metadata(one, SYSTEM_CLOCK) for one in commits}


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize(
    ("conf", "instants"), [({}, [KEPT]), (ALL_COPIED, [COPIED]), (NORTH_STAYS, [KEPT, COPIED])], ids=["M", "F", "MF"]
)
def test_the_table_has_the_rows_of_its_source(
    tmp_path: Path, source: Path, table_type: str, conf: dict[str, str], instants: list[str]
) -> None:
    path = tmp_path / "t"
    result = bootstrap(path, source, conf, table_type=table_type)
    assert (result.state, result.instant, result.records_out) == (JobState.COMPLETED, instants[-1], 28)
    assert (result.files_in, result.files_out) == (4, 4)
    assert rows_of(path).equals(all_rows().combine_chunks())
    found = completed(path)
    assert list(found) == instants
    operations = {KEPT: OperationType.BOOTSTRAP, COPIED: OperationType.BULK_INSERT}
    assert {time: one.operation_type for time, one in found.items()} == {time: operations[time] for time in instants}
    table = HudiTable.open(str(path))
    assert table.config.metadata_partitions
    assert table.config.table_type.value == table_type
    assert table.partitions() == (["region=north", "region=south"] if table.config.hive_style else ["north", "south"])
    assert validate(str(path), deep=True) == []
    assert all((path / name).exists() is (KEPT in instants) for name in (BY_PARTITION, BY_FILE_ID))


def test_the_table_keeps_what_was_asked_of_it(tmp_path: Path, plain: Path) -> None:
    asked = {
        "hoodie.database.name": "lake",
        "hoodie.archivelog.folder": "old",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
    }
    dropping = {"hoodie.datasource.write.drop.partition.columns": "true"}
    with pytest.raises(ConfigError, match="=true makes a table that this release does not write to: leave it out"):
        bootstrap(tmp_path / "t", plain, {**asked, **dropping}, partition_path_fields=("region",))
    assert not (tmp_path / "t").exists()
    bootstrap(tmp_path / "t", plain, asked, partition_path_fields=("region",))
    found = HudiTable.open(str(tmp_path / "t")).config.properties
    assert {name: found[name] for name in asked} == asked


def test_a_skeleton_is_what_hudi_makes(tmp_path: Path, plain: Path) -> None:
    bootstrap(tmp_path / "t", plain)
    table = HudiTable.open(str(tmp_path / "t"))
    index = BootstrapIndex.of(table.lake, table.storage, table.base_path, table.config)
    assert index is not None
    base = next(one.base_file for one in table.file_slices(partition="north") if one.base_file)
    assert len(base.name.file_id) == 36
    file = pq.ParquetFile(tmp_path / "t" / base.relative_path)
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
    assert (told.partition, told.size) == ("north", (plain / told.path).stat().st_size)
    (stat, *_) = completed(tmp_path / "t")[KEPT].write_stats
    assert (stat.num_writes, stat.num_inserts, stat.prev_commit) == (7, 7, "null")


def test_a_dry_run_shows_the_plan_that_its_hash_then_does(tmp_path: Path, plain: Path) -> None:
    path = tmp_path / "t"
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


def test_nothing_is_done_for_a_reason(tmp_path: Path, plain: Path) -> None:
    (tmp_path / "empty").mkdir()
    nothing = bootstrap(tmp_path / "t", tmp_path / "empty")
    assert (nothing.state, nothing.reason) == (
        JobState.NOTHING_TO_DO,
        f"there is no Parquet file below {tmp_path / 'empty'}",
    )
    path = tmp_path / "t"
    bootstrap(path, plain)
    timeline = HudiTable.open(str(path)).timeline
    later = Path(timeline.folder) / "20260101000000000.commit"
    shutil.copy(Path(timeline.folder) / f"{KEPT}.commit", later)
    used = bootstrap(path, plain, NORTH_STAYS)
    assert used.state is JobState.NOTHING_TO_DO
    assert "in use: it has 2 commit(s), the last is 20260101000000000" in str(used.reason)


def test_another_plan_than_the_one_that_was_begun_is_refused(tmp_path: Path, plain: Path) -> None:
    bootstrap(tmp_path / "t", plain)
    with pytest.raises(WriteConflictError, match=f"instant {KEPT} of table t came of another plan"):
        bootstrap(tmp_path / "t", plain, NORTH_STAYS)
    with pytest.raises(ConfigError, match=r"hoodie.table.recordkey.fields=id, the bootstrap asks for revision"):
        bootstrap(tmp_path / "t", plain, record_key_fields=("revision",))
    HudiTable.create(str(tmp_path / "other"), name="t", record_key_fields=["id"])
    with pytest.raises(ConfigError, match=r"hoodie.bootstrap.base.path=\(none\)"):
        bootstrap(tmp_path / "other", plain)


def test_another_run_under_way_is_left_alone(tmp_path: Path, plain: Path) -> None:
    table = BootstrapSettings.of(options(tmp_path / "t", plain), LAKE).create_table()
    settings = table.transaction_settings({})
    with settings.new_lock() as locked:
        alive = resume(settings, request(table.timeline, KEPT, Action.COMMIT), locked)
    with pytest.raises(WriteConflictError, match=f"instant {KEPT} is under way"):
        bootstrap(tmp_path / "t", plain)
    alive.abandon()
    assert bootstrap(tmp_path / "t", plain).state is JobState.COMPLETED


def test_a_failed_bootstrap_leaves_no_table(tmp_path: Path, plain: Path) -> None:
    bad = rows("north", 50).set_column(0, "id", pa.array([None, *"abcdef"], pa.string()))
    pq.write_table(bad, plain / "north" / "part-2.parquet")
    with pytest.raises(BadRecordError, match="no value in its key"):
        bootstrap(tmp_path / "t", plain)
    assert not (tmp_path / "t").exists()


def test_a_failed_copy_leaves_what_was_kept(tmp_path: Path, plain: Path) -> None:
    path, bad = tmp_path / "t", plain / "south" / "part-2.parquet"
    pq.write_table(rows("south", 150).rename_columns(["id", "revision", "cost", "region"]), bad)
    with pytest.raises(ConfigError, match=r"column cost of source file .* has no such column"):
        bootstrap(path, plain, NORTH_STAYS)
    assert list(completed(path)) == [KEPT]
    pq.write_table(rows("south", 150), bad)
    with pytest.raises(WriteConflictError, match="came of another plan"):
        bootstrap(path, plain, NORTH_STAYS)
    assert validate(str(path), deep=True) == []


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
def test_what_does_not_fit_is_refused(tmp_path: Path, plain: Path, changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        bootstrap(tmp_path / "t", **{"source": plain, **changes})
    assert not (tmp_path / "t").exists()


def test_a_table_inside_its_source_is_refused(plain: Path) -> None:
    for path in (plain, plain / "t", plain.parent):
        with pytest.raises(ConfigError, match="lie in each other"):
            bootstrap(path, plain)


def test_a_source_of_hudi_files_is_refused(tmp_path: Path, plain: Path) -> None:
    bootstrap(tmp_path / "t", plain, ALL_COPIED)
    with pytest.raises(ConfigError, match="it is a file of a Hudi table"):
        bootstrap(tmp_path / "u", tmp_path / "t")


@pytest.mark.parametrize("content", [b"", b"PAR1nonsense"])
@pytest.mark.parametrize("name", ["a.parquet", "z.parquet"])
@pytest.mark.parametrize("conf", [{}, ALL_COPIED], ids=["kept", "copied"])
def test_a_damaged_source_file_is_told(
    tmp_path: Path, plain: Path, name: str, content: bytes, conf: dict[str, str]
) -> None:
    (plain / "north" / name).write_bytes(content)
    with pytest.raises(StorageError, match=f"^source file {plain}/north/{name} is not readable .*, or take it out of"):
        bootstrap(tmp_path / "t", plain, conf)
    assert not (tmp_path / "t").exists()


def test_a_changed_source_file_is_told(tmp_path: Path, plain: Path) -> None:
    source = BootstrapSettings.of(options(tmp_path / "t", plain), LAKE).source
    (file, *_) = pickle.loads(pickle.dumps(source)).files
    pq.write_table(rows("north", 0, 9), plain / file.path)
    with pytest.raises(StorageError, match="was changed meanwhile"):
        source.refuse_changed(file)
    (plain / file.path).unlink()
    with pytest.raises(StorageError, match="was removed meanwhile"):
        source.refuse_changed(file)


def test_copied_rows_go_where_their_keys_say(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    pq.write_table(all_rows(), tmp_path / "flat" / "a.parquet")
    bootstrap(tmp_path / "t", tmp_path / "flat", ALL_COPIED)
    assert HudiTable.open(str(tmp_path / "t")).partitions() == ["north", "south"]
    assert rows_of(tmp_path / "t").equals(all_rows().combine_chunks())
    assert validate(str(tmp_path / "t"), deep=True) == []


def test_hive_folders_tell_the_partition_columns(tmp_path: Path) -> None:
    source = make_source(tmp_path / "source", hive=True)
    bootstrap(tmp_path / "t", source, partition_path_fields=())
    config = HudiTable.open(str(tmp_path / "t")).config
    assert (config.partition_fields, config.hive_style) == (("region",), True)
    assert rows_of(tmp_path / "t").equals(all_rows().combine_chunks())


def test_a_source_without_folders_makes_a_table_without_partitions(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    pq.write_table(rows("north", 0), tmp_path / "flat" / "a.parquet")
    pq.write_table(rows("north", 0, 0), tmp_path / "flat" / "empty.parquet")
    result = bootstrap(tmp_path / "t", tmp_path / "flat", partition_path_fields=())
    assert (result.files_in, result.files_out) == (2, 1)
    assert HudiTable.open(str(tmp_path / "t")).partitions() == [""]
    assert rows_of(tmp_path / "t").equals(rows("north", 0))
    assert validate(str(tmp_path / "t"), deep=True) == []


def test_the_entry_point_does_it_in_this_process(tmp_path: Path, plain: Path) -> None:
    given = options(tmp_path / "t", plain)
    assert type(given).from_args(all_words(given)) == given
    result = job.run_bootstrap(given, job_context())
    assert (result.state, result.extra["engine"]) == (JobState.COMPLETED, "local")
    assert "sync" not in result.extra


def test_a_sync_follows_also_a_bootstrap_of_before(tmp_path: Path, plain: Path) -> None:
    """Nobody listens there, which a person chose to ignore."""
    sync = {
        "hoodie.datasource.hive_sync.enable": "true",
        "hoodie.datasource.hive_sync.mode": "hms",
        "hoodie.datasource.hive_sync.metastore.uris": "thrift://127.0.0.1:9",
        "hoodie.datasource.hive_sync.ignore_exceptions": "true",
    }
    for state in (JobState.COMPLETED, JobState.NOTHING_TO_DO):
        result = job.run_bootstrap(options(tmp_path / "t", plain, sync), job_context())
        assert result.state is state
        assert "not synced" in result.extra["sync"]["reason"]
    look = job.run_bootstrap(options(tmp_path / "u", plain, sync, dry_run=True), job_context())
    assert "sync" not in look.extra


def test_what_hudi_bootstrapped_counts(tmp_path: Path) -> None:
    """A table of real Hudi 0.15.0 that has a commit since."""
    tables = Path(__file__).resolve().parents[3] / "fixtures" / "tables"
    with zipfile.ZipFile(tables / "bootstrap_cow.zip") as packed:
        packed.extractall(tmp_path)
    result = bootstrap(tmp_path / "bootstrap_cow", tmp_path / "bootstrap_cow_source")
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


def test_work_goes_to_a_cluster_in_as_many_pieces_as_allowed(tmp_path: Path, plain: Path) -> None:
    given = options(tmp_path / "t", plain, {**NORTH_STAYS, "hoodie.bootstrap.parallelism": "1"})
    result = run_bootstrap(given, job_context(engine=PicklingEngine(SYSTEM_CLOCK)))
    assert (result.state, result.files_out) == (JobState.COMPLETED, 4)
    assert rows_of(tmp_path / "t").equals(all_rows().combine_chunks())
    sequence = HudiTable.open(str(tmp_path / "t")).scan(columns=["_hoodie_commit_seqno"]).to_arrow()
    assert len(set(sequence["_hoodie_commit_seqno"].to_pylist())) == 28


@pytest.mark.parametrize("hive", [True, False], ids=["hive", "plain"])
def test_rows_without_a_partition_value_come_along(tmp_path: Path, hive: bool) -> None:
    source = make_source(tmp_path / "source", hive=hive)
    folder = source / ("region=__HIVE_DEFAULT_PARTITION__" if hive else "__HIVE_DEFAULT_PARTITION__")
    folder.mkdir()
    none = rows("none", 900).set_column(3, "region", pa.nulls(7, pa.string()))
    pq.write_table(none.drop_columns(["region"]) if hive else none, folder / "part-0.parquet")
    bootstrap(tmp_path / "t", source)
    assert rows_of(tmp_path / "t").equals(pa.concat_tables([all_rows(), none]).sort_by("id").combine_chunks())
    assert validate(str(tmp_path / "t"), deep=True) == []


def test_a_run_goes_on_with_the_copies_that_are_left(tmp_path: Path, plain: Path) -> None:
    """As after a death between the two commits."""
    path, whole = tmp_path / "t", tmp_path / "whole"
    bootstrap(path, plain, NORTH_STAYS)
    shutil.copytree(path, whole)
    meta = path / ".hoodie"
    for file in [*meta.glob(f"{COPIED}.*"), *meta.glob(f"metadata/.hoodie/{COPIED}.*")]:
        file.unlink()
    shutil.rmtree(path / "south")
    for log in (meta / "metadata" / "files").glob(".files-*.log.3_*"):
        log.unlink()
    assert list(completed(path)) == [KEPT]
    result = bootstrap(path, plain, NORTH_STAYS)
    assert (result.instant, result.files_in, result.records_out) == (COPIED, 2, 14)
    assert rows_of(path).equals(rows_of(whole))
    assert validate(str(path), deep=True) == []
