"""Bad input: one line on stderr, the exit code of the contract, and the table as it was.

What is wrong with the options or the table is found before Spark starts, so that those cases run without spark-submit.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_jobs.core.config.table_config import PROPERTIES
from spark_jobs.core.table import HudiTable
from tests.faults import local_table as local
from tests.faults.commands import environment, ingest_arguments, ingest_by, without_spark_submit
from tests.java import needs_java
from tests.spark.tables import digests

pytestmark = [pytest.mark.faults, pytest.mark.timeout(600)]

JAVA_SAYS = ("WARNING: Using incubator modules: jdk.incubator.vector",)
"""What the Java launcher itself prints for a module that Spark's scripts ask for."""

ENGINES = ("spark", "local")


def needs(engine: str) -> None:
    if engine == "spark":
        needs_java()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    code: int
    lines: list[str]

    def refused(self, code: int, *words: str) -> None:
        """One line of error, with those words, beside lines of progress."""
        errors = [line for line in self.lines if ": error: " in line]
        others = [line for line in self.lines if line not in JAVA_SAYS and not line.startswith("ingest: ")]
        assert (self.code, len(errors), others) == (code, 1, []), "\n".join(self.lines)
        for word in words:
            assert word in errors[0]


def run(command: Sequence[str]) -> Outcome:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=environment()
    )
    if done.returncode != 0:
        assert done.stdout == ""
    return Outcome(code=done.returncode, lines=done.stderr.splitlines())


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A COPY_ON_WRITE table with two commits."""
    path = tmp_path_factory.mktemp("template") / "t"
    local.create(path, "COPY_ON_WRITE")
    local.write(path, local.batch(0, 20, "one", 1), "first")
    local.write(path, local.batch(0, 10, "two", 2), "second")
    return path


@pytest.fixture
def table(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "t"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return saved(local.batch(0, 4, "new", 3), tmp_path / "source.parquet")


def saved(rows: pa.Table, path: Path) -> Path:
    pq.write_table(rows, path)
    return path


def change(table: Path, old: str, new: str) -> None:
    """Edit hoodie.properties as a text."""
    properties = table / ".hoodie" / PROPERTIES
    text = properties.read_text()
    assert re.search(old, text)
    properties.write_text(re.sub(old, new, text))


BEFORE_SPARK: dict[str, tuple[Callable[[Path], None], tuple[str, ...], int, tuple[str, ...]]] = {
    "wrong table type": (
        lambda table: None,
        ("--table-type", "MERGE_ON_READ"),
        2,
        ("--table-type MERGE_ON_READ", "COPY_ON_WRITE", "leave the option out"),
    ),
    "wrong key": (
        lambda table: None,
        ("--record-key-fields", "v"),
        2,
        ("--record-key-fields v", "has id"),
    ),
    "unknown operation": (lambda table: None, ("--op", "merge"), 2, ("--op", "merge", "upsert")),
    "corrupt properties": (
        lambda table: change(table, r"hoodie\.table\.checksum=\d+", "hoodie.table.checksum=1"),
        (),
        5,
        ("hoodie.properties is corrupt", "checksum 1", "restore it"),
    ),
    "properties that are no text": (
        lambda table: (table / ".hoodie" / PROPERTIES).write_bytes(b"\x00\xff" * 100) and None,
        (),
        5,
        ("hoodie.properties is corrupt", "restore it"),
    ),
    "properties that are gone": (
        lambda table: (table / ".hoodie" / PROPERTIES).unlink(),
        (),
        5,
        ("hoodie.properties is missing, while there is a timeline", "restore it"),
    ),
    "unknown kind of bloom filter": (
        lambda table: None,
        ("--hoodie-conf", "hoodie.bloom.index.filter.type=FOO"),
        2,
        ("hoodie.bloom.index.filter.type=FOO", "SIMPLE, DYNAMIC_V0"),
    ),
    "table of version 8": (
        lambda table: change(table, r"hoodie\.table\.version=6", "hoodie.table.version=8"),
        (),
        5,
        ("table t has table version 8", "writes version 6", "downgrade it with Hudi 1.x"),
    ),
    "table of version 5": (
        lambda table: change(table, r"hoodie\.table\.version=6", "hoodie.table.version=5"),
        (),
        5,
        ("table t has table version 5", "reads and does not write", "upgrade it with Hudi 0.14 or 0.15"),
    ),
}


@pytest.mark.parametrize("name", BEFORE_SPARK)
def test_what_is_wrong_with_options_or_table_is_said_before_spark_starts(name: str, table: Path, source: Path) -> None:
    spoil, arguments, code, words = BEFORE_SPARK[name]
    spoil(table)
    before = digests(table)
    run(without_spark_submit("ingest", *ingest_arguments(table, source, *arguments))).refused(code, *words)
    assert digests(table) == before


def test_a_base_path_that_is_a_file(tmp_path: Path, source: Path) -> None:
    path = tmp_path / "file"
    path.write_text("mine")
    outcome = run(without_spark_submit("ingest", *ingest_arguments(path, source)))
    outcome.refused(5, f"{path} is a file", "give the folder of a table")
    assert path.read_text() == "mine"


@pytest.mark.parametrize("job", ["compact", "cluster", "clean"])
@pytest.mark.parametrize("name", ["corrupt properties", "table of version 8", "table of version 5"])
def test_services_say_the_same(name: str, job: str, table: Path) -> None:
    spoil, _, code, words = BEFORE_SPARK[name]
    spoil(table)
    before = digests(table)
    command = without_spark_submit(job, "--base-path", str(table), "--dry-run")
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    error = done.stderr.splitlines()[-1]
    assert (done.returncode, ": error: " in error) == (code, True)
    assert all(word in error for word in words)
    assert digests(table) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_missing_source(engine: str, table: Path, tmp_path: Path) -> None:
    needs(engine)
    before = digests(table)
    outcome = run(ingest_by(engine, *ingest_arguments(table, tmp_path / "nowhere")))
    outcome.refused(5, f"source {tmp_path / 'nowhere'} does not exist", "check --source")
    assert digests(table) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_a_source_without_a_key_column(engine: str, table: Path, tmp_path: Path) -> None:
    needs(engine)
    before = digests(table)
    source = saved(local.batch(0, 4, "new", 3).drop_columns(["id"]), tmp_path / "source.parquet")
    outcome = run(ingest_by(engine, *ingest_arguments(table, source)))
    outcome.refused(2, "the source has no column id, which is a record key field", "its columns are p, v, ts")
    assert digests(table) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_null_keys(engine: str, table: Path, tmp_path: Path) -> None:
    needs(engine)
    before = digests(table)
    rows = local.batch(0, 4, "new", 3)
    source = saved(rows.set_column(0, "id", pa.array([1, None, 3, 4], pa.int64())), tmp_path / "source.parquet")
    outcome = run(ingest_by(engine, *ingest_arguments(table, source)))
    outcome.refused(1, "a record has no value in its key (id): fill it in the source")
    assert digests(table) == before


def in_a_mount(options: str, prepare: str, folder: Path, command: Sequence[str]) -> list[str]:
    """A command in a mount namespace of its own, ``folder`` being a small file system in memory that ``prepare`` fills.

    It needs no rights of the machine: in a user namespace of its own a user may mount.
    """
    script = f'set -e; mount -t tmpfs -o {options} tmpfs "{folder}"; cd "{folder}"; {prepare}; exec "$@"'
    return ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", *command]


def needs_mounts(tmp_path: Path) -> None:
    trial = tmp_path / "trial"
    trial.mkdir()
    outcome = subprocess.run(
        in_a_mount("size=1m", "true", trial, ["true"]), capture_output=True, text=True, check=False
    )
    if outcome.returncode != 0:
        pytest.skip(f"no mount namespace for this user: {outcome.stderr.strip()}")


@pytest.mark.parametrize("engine", ENGINES)
def test_an_unwritable_path(engine: str, table: Path, source: Path, tmp_path: Path) -> None:
    needs(engine)
    needs_mounts(tmp_path)
    folder, kept = tmp_path / "mount", tmp_path / "kept"
    folder.mkdir()
    prepare = f'cp -r "{table}" t; mount -o remount,ro "{folder}"'
    copy_back = f'"$@"; code=$?; cp -r "{folder}/t" "{kept}"; exit $code'
    command = ["sh", "-c", copy_back, "sh", *ingest_by(engine, *ingest_arguments(folder / "t", source))]
    outcome = run(in_a_mount("size=64m", prepare, folder, command))
    outcome.refused(5, f"{folder}/t/.hoodie/lock can't be written (Read-only file system)", "writable file system")
    assert digests(kept) == digests(table)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_full_disk(engine: str, table: Path, tmp_path: Path) -> None:
    needs(engine)
    needs_mounts(tmp_path)
    folder, kept = tmp_path / "mount", tmp_path / "kept"
    folder.mkdir()
    noise = random.Random(7)
    values = [noise.randbytes(40).hex() for _ in range(200_000)]
    rows = pa.table({"id": range(200_000), "p": ["a"] * 200_000, "v": values, "ts": [3] * 200_000}, schema=local.SCHEMA)
    source = saved(rows, tmp_path / "large.parquet")
    prepare = f'cp -r "{table}" t'
    copy_back = f'"$@"; code=$?; cp -r "{folder}/t" "{kept}"; exit $code'
    arguments = ingest_arguments(folder / "t", source, "--op", "bulk_insert")
    command = ["sh", "-c", copy_back, "sh", *ingest_by(engine, *arguments)]
    outcome = run(in_a_mount("size=4m", prepare, folder, command))
    outcome.refused(5, f"{folder}/t/a/", "can't be written (No space left on device)", "free some space")
    before, after = digests(table), digests(kept)
    assert {name: after.get(name) for name in before} == before
    data = [name for name in after if name not in before and name.endswith((".parquet", ".tmp"))]
    assert data == []
    timeline = HudiTable.open(str(kept)).timeline
    assert [one for one in timeline.instants if not one.is_completed] == []
    assert local.rows_of(kept) == local.rows_of(table)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--op", "delete"), 5, ("there is no table at", "check --base-path")),
        (("--hoodie-conf", "hoodie.bloom.index.filter.type=FOO"), 2, ("hoodie.bloom.index.filter.type=FOO",)),
        (("--hoodie-conf", "hoodie.parquet.compression.codec=FOO"), 2, ("hoodie.parquet.compression.codec=FOO",)),
    ],
)
def test_a_first_write_that_is_refused_before_spark_makes_no_table(
    options: tuple[str, ...], code: int, words: tuple[str, ...], source: Path, tmp_path: Path
) -> None:
    outcome = run(without_spark_submit("ingest", *ingest_arguments(tmp_path / "new", source, *options)))
    outcome.refused(code, *words)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_first_write_whose_rows_are_refused_leaves_no_table(engine: str, tmp_path: Path) -> None:
    needs(engine)
    rows = local.batch(0, 4, "new", 3)
    source = saved(rows.set_column(1, "p", pa.array(["a", "b", "/us", "b"])), tmp_path / "source.parquet")
    outcome = run(ingest_by(engine, *ingest_arguments(tmp_path / "new", source)))
    outcome.refused(1, "a value of partition column p has an empty path part", "urlencode")
    assert not (tmp_path / "new").exists()
