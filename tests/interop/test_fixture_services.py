"""Every table that Hudi made through each service: by us and then read by Hudi, by Hudi and then read by us.

CI takes a few of the tables; ``make fixtures-services`` takes all of them (``PYHUDI_ALL_FIXTURES=1``, half an hour).
Every case ends with the rows that it began with: what is taken back is a rewrite of all that there is to rewrite.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.config.keys.bootstrap import BOOTSTRAP_BASE_PATH
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.format.folders import CONSISTENT_HASHING_FOLDER
from spark_jobs.core.format.instant import Action
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    JobResult,
    JobState,
    RestoreOptions,
    RollbackOptions,
    SavepointMode,
    SavepointOptions,
)
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.job import run_rollback
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.run import validate
from tests.hudi_tables import all_tables, base_path_in, unpack, with_source
from tests.interop.lines import ServerError
from tests.interop.real_hudi import RealHudi
from tests.interop.tending import assert_hudi_validates
from tests.support.jobs import job_context
from tests.unit.core.metadata_table.agreement import disagreements

IN_CI = ("tables/cow_upserts", "metadata_tables/indexed_mor")
TABLES = (
    [name for name in all_tables() if not name.startswith("old_tables/")]
    if os.environ.get("PYHUDI_ALL_FIXTURES")
    else list(IN_CI)
)
DUE = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.log.compaction.blocks.threshold": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.clustering.inline.max.commits": "1",
    "hoodie.clustering.plan.strategy.single.group.clustering.enabled": "true",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.max.commits": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


READ = {"hoodie.schema.on.read.enable": "true"}
ROW_BY_ROW = "spark.sql.parquet.enableVectorizedReader"
"""Only so Hudi reads a nested column whose type was changed, and not so decimals that Spark wrote as numbers."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder with the table of that name, which nobody changes."""
    found: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in found:
            folder = tmp_path_factory.mktemp("table")
            unpack(name, folder)
            found[name] = folder
        return found[name]

    return of


@pytest.fixture(autouse=True)
def row_by_row(name: str, unpacked: Callable[[str], Path], real_hudi: RealHudi) -> Iterator[None]:
    altered = (base_path_in(unpacked(name)) / ".hoodie" / ".schema").exists()
    if altered:
        real_hudi.sql(f"SET {ROW_BY_ROW}=false")
    yield
    if altered:
        real_hudi.sql(f"RESET {ROW_BY_ROW}")


@pytest.fixture(scope="module")
def rows_by_hudi(unpacked: Callable[[str], Path], real_hudi: RealHudi) -> Callable[[str], list[str] | None]:
    """What Hudi reads of a table that no service has touched; None where it can't."""
    found: dict[str, list[str] | None] = {}

    def of(name: str) -> list[str] | None:
        if name not in found:
            try:
                found[name] = plain(real_hudi.read(base_path_in(unpacked(name)), options=READ))
            except ServerError as error:
                if not any(known in str(error) for known in HUDI_FAILS):
                    raise
                found[name] = None
        return found[name]

    return of


@pytest.fixture
def table(name: str, tmp_path: Path, unpacked: Callable[[str], Path]) -> Path:
    return with_source(base_path_in(Path(shutil.copytree(unpacked(name), tmp_path / "tables"))))


def opened(path: Path) -> HudiTable:
    return HudiTable.open(str(path))


def plain(rows: pa.Table) -> list[str]:
    """Without the file name, which a rewrite changes; by name, since Hudi's readers order columns in several ways."""
    names = sorted(name for name in rows.column_names if name != "_hoodie_file_name")
    return sorted(map(str, rows.select(names).to_pylist()))


def compact(path: Path, **options: Any) -> JobResult:
    given = CompactionOptions(base_path=str(path), hoodie_conf=DUE, **options)
    return run_compaction(given, job_context())


def cluster(path: Path) -> JobResult:
    given = ClusteringOptions(base_path=str(path), hoodie_conf=DUE)
    return run_clustering(given, job_context())


def log_compact(path: Path) -> JobResult:
    return compact(path, log_compaction=True)


def clean(path: Path) -> JobResult:
    return run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=DUE), job_context())


def archive(path: Path) -> JobResult:
    """After the metadata table's compaction, which holds all newer commits back."""
    maintain_metadata_table(opened(path).transaction_settings(DUE), DUE, print)
    return run_archival(ArchiveOptions(base_path=str(path), hoodie_conf=DUE), job_context())


def rewrite(path: Path) -> JobResult:
    """A compaction, or where that has nothing to do a clustering, if there is one for the table."""
    done = compact(path) if opened(path).config.is_merge_on_read else cluster(path)
    return cluster(path) if done.state is JobState.NOTHING_TO_DO and not splits_buckets(path) else done


def save_and_restore(path: Path) -> JobResult:
    """To before a rewrite; a savepoint of Hudi's on an earlier commit would be in the way of nothing."""
    saved = run_savepoint(SavepointOptions(base_path=str(path), hoodie_conf=DUE), job_context())
    rewritten = rewrite(path)
    if rewritten.state is JobState.NOTHING_TO_DO:
        return rewritten
    done = run_restore(
        RestoreOptions(base_path=str(path), savepoint=saved.instant, verify="rows", hoodie_conf=DUE), job_context()
    )
    forgotten = SavepointOptions(base_path=str(path), mode=SavepointMode.DELETE, instant_time=saved.instant)
    assert run_savepoint(forgotten, job_context()).state is JobState.COMPLETED
    return done


def roll_back(path: Path) -> JobResult:
    """Of a rewrite that is the last commit: an older plan comes first."""
    if opened(path).timeline.pending({Action.COMPACTION}):
        compact(path)
    rewritten = rewrite(path)
    if rewritten.state is JobState.NOTHING_TO_DO:
        return rewritten
    options = RollbackOptions(base_path=str(path), instant_time=rewritten.instant, hoodie_conf=DUE)
    return run_rollback(options, job_context())


OURS: Mapping[str, Callable[[Path], JobResult]] = {
    "compaction": compact,
    "log compaction": log_compact,
    "clustering": cluster,
    "cleaning": clean,
    "archival": archive,
    "restore": save_and_restore,
    "rollback": roll_back,
}
OF_LOGS = ("compaction", "log compaction")


class ByHudi:
    """The same services by Hudi; each tells whether it had anything to do."""

    def __init__(self, hudi: RealHudi, path: Path) -> None:
        self.hudi, self.path = hudi, path
        self.services: Mapping[str, Callable[[], bool]] = {
            "compaction": lambda: self._planned("Compaction") is not None,
            "log compaction": lambda: self._planned("LogCompaction") is not None,
            "clustering": lambda: self._planned("Clustering") is not None,
            "cleaning": lambda: hudi.clean(path, options=self.options) > 0,
            "archival": self._archive,
            "restore": self._restore,
            "rollback": self._roll_back,
        }

    @property
    def options(self) -> dict[str, str]:
        """With all that Hudi's services have to be told of a table: they do not look into its properties for it."""
        config = opened(self.path).config
        key_options = {
            "hoodie.datasource.write.recordkey.field": ",".join(config.record_key_fields),
            "hoodie.datasource.write.partitionpath.field": ",".join(config.partition_fields),
            "hoodie.datasource.write.keygenerator.class": config.key_generator_class,
            "hoodie.datasource.write.hive_style_partitioning": str(config.hive_style).lower(),
        }
        altered = (self.path / ".hoodie" / ".schema").exists()
        return {**DUE, **(READ if altered else {}), **({} if config.populate_meta_fields else key_options)}

    def _planned(self, kind: str) -> str | None:
        """Do what is planned, else plan it and do that."""
        waiting = self._waiting() if kind == "Compaction" else None
        instant: str | None = waiting or self.hudi.ask(
            "plan_service", path=str(self.path), kind=kind, options={**self.options, "hoodie.compact.inline": "false"}
        )
        if instant is not None:
            self.hudi.ask("run_plan", path=str(self.path), kind=kind, instant=instant, options=self.options)
        return instant

    def _waiting(self) -> str | None:
        shown = self.hudi.show_commits(self.path)
        return next((one["instant"] for one in shown if one["action"] == "compaction"), None)

    def _rewrite(self) -> str | None:
        done = self._planned("Compaction") if opened(self.path).config.is_merge_on_read else None
        return done or self._planned("Clustering")

    def _archive(self) -> bool:
        before = len(self.hudi.show_commits(self.path))
        self.hudi.ask("archive", path=str(self.path), options=self.options)
        return len(self.hudi.show_commits(self.path)) < before

    def _restore(self) -> bool:
        last = opened(self.path).timeline.last_completed()
        if last is None:
            return False
        saved = last.timestamp
        self.hudi.ask("savepoint", path=str(self.path), instant=saved)
        done = self._rewrite()
        if done is not None:
            self.hudi.ask("restore", path=str(self.path), instant=saved)
        return done is not None

    def _roll_back(self) -> bool:
        if self._waiting():
            self._planned("Compaction")
        done = self._rewrite()
        return done is not None and self.hudi.rollback(self.path, done)


def refused(path: Path) -> bool:
    """Whether this release reads the table and does not write it, and says so at each service with nothing done."""
    config = read_table_config(LocalStorage(), str(path), SYSTEM_CLOCK)
    try:
        refuse_unwritable(config)
    except UnsupportedTableError as error:
        for service in OURS.values():
            with pytest.raises(UnsupportedTableError, match=str(error).split(",")[0]):
                service(path)
        return True
    return False


def splits_buckets(path: Path) -> bool:
    """Whether its index names its file groups, so that only Hudi clusters it."""
    return (path / CONSISTENT_HASHING_FOLDER).exists()


def has_moved(path: Path) -> bool:
    """Whether it is a bootstrapped table: its index has whole paths, so that Hudi does not find its source where it is
    unpacked. ``test_bootstrap`` has tables of both at their places.
    """
    return bool(BOOTSTRAP_BASE_PATH.of(opened(path).config.properties))


def check(
    path: Path, expected: list[str], hudi: RealHudi, when: str, *, only_errors: bool = False, was_left: bool = False
) -> None:
    """We read the rows, and neither finds anything wrong.

    :param only_errors: Hudi archives more than what its clean retains, of which we warn.
    :param was_left: a dead writer left files, and a partition that stays as an empty folder when they are gone: of
        these only the storage knows.
    """
    assert plain(opened(path).scan().to_arrow()) == expected, f"our reader {when}"
    assert [str(one) for one in validate(str(path), deep=True) if one.is_error or not only_errors] == [], when
    found = disagreements(path)
    assert [one for one in found if not was_left or "only in the metadata table" in one] == [], when
    if opened(path).config.metadata_partitions and not was_left:
        assert_hudi_validates(hudi, path, when)


HUDI_FAILS = (
    "Can't redefine: array",
    "Nested types with type changes(implicit or explicit) cannot be read in vectorized mode",
    "there is no base file in MDT lesser than the commit to restore to",
    "must be earlier than the first incomplete commit timestamp",
    "java.util.concurrent.CancellationException",  # the same, of several groups at once
    "is earlier than the latest compaction",
    "incompatible types: optional fixed_len_byte_array(5) decimalField",  # of a Parquet log block that Spark wrote
    "bootstrap_mor_source/",
    "_source/region=",  # the index of a bootstrapped table has whole paths, and the source has moved
)
"""What Hudi 0.15.0 raises where a service of its own can't do with a table of its own."""

HUDI_CHANGES = {("keygen_tables/time_unix_base", "clustering")}
"""Where a service of Hudi's puts the year of the partition path in the place of a column's seconds."""


def is_due(name: str) -> bool:
    """Tables that have something to do for each service; of the others some are too small or too new."""
    return name in ("tables/cow_upserts", "metadata_tables/indexed_mor")


def is_idle(path: Path, service: str) -> bool:
    return service in OF_LOGS and not any(one.log_files for one in opened(path).file_slices())


@pytest.mark.parametrize("service", OURS)
@pytest.mark.parametrize("name", TABLES)
def test_hudi_reads_what_our_service_left(
    name: str, service: str, table: Path, rows_by_hudi: Callable[[str], list[str] | None], real_hudi: RealHudi
) -> None:
    if refused(table) or has_moved(table) or (service in OF_LOGS and not opened(table).config.is_merge_on_read):
        return
    if service == "clustering" and splits_buckets(table):
        with pytest.raises(UnsupportedTableError, match="does not cluster"):
            cluster(table)
        return
    if service == "restore" and opened(table).timeline.last_completed() is None:
        with pytest.raises(ConfigError, match="no completed commit to save"):
            save_and_restore(table)
        return
    before, of_hudi = plain(opened(table).scan().to_arrow()), rows_by_hudi(name)
    idle, was_left = is_idle(table, service), bool(opened(table).timeline.pending_writes())
    done = OURS[service](table)
    assert (done.state is JobState.NOTHING_TO_DO) == idle or not is_due(name), f"{service}: {done.reason}"
    check(table, before, real_hudi, f"after our {service}", was_left=was_left)
    if of_hudi is None:
        pytest.skip("Hudi can't read this table of its own; all else was compared")
    assert plain(real_hudi.read(table, options=READ)) == of_hudi, f"Hudi after our {service}"


@pytest.mark.parametrize("service", OURS)
@pytest.mark.parametrize("name", TABLES)
def test_we_read_what_the_service_of_hudi_left(name: str, service: str, table: Path, real_hudi: RealHudi) -> None:
    if service in OF_LOGS and not opened(table).config.is_merge_on_read:
        return
    before, idle = plain(opened(table).scan().to_arrow()), is_idle(table, service)
    was_left = bool(opened(table).timeline.pending_writes())
    try:
        worked = ByHudi(real_hudi, table).services[service]()
    except ServerError as error:
        known = [one for one in HUDI_FAILS if one in str(error)]
        if not known:
            raise
        pytest.skip(f"Hudi fails: {known[0]}")
    # Hudi's metadata table holds archival back until a write compacts it
    assert worked or idle or not is_due(name) or service == "archival", "Hudi did nothing"
    now = plain(opened(table).scan().to_arrow())
    if now != before and (name, service) in HUDI_CHANGES:
        pytest.skip("Hudi changed the values of a partition column")
    if now != before and now == plain(real_hudi.read(table, options=READ)):
        pytest.skip("Hudi changed rows, and reads what we read")
    check(table, before, real_hudi, f"after Hudi's {service}", only_errors=True, was_left=was_left)
