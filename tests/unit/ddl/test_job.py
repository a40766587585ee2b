"""``create_table.py`` from its words to its result, on a folder of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.ddl.job import run_create_table
from spark_jobs.engine.job import run_job
from spark_jobs.options.create_table import CreateTableOptions
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[3]
DDL = (
    "create table lake.trips (id bigint, name string, dt string, ts bigint) using hudi partitioned by (dt) "
    "tblproperties (type = 'mor', primaryKey = 'id', preCombineField = 'ts')"
)
NAMED = ["--base-path", "/t", "--table-name", "t", "--record-key-fields", "a", "--hoodie-conf"]
GENERATOR = "hoodie.datasource.write.keygenerator."


def run(capfd: pytest.CaptureFixture[str], *words: str, lake: Lake = LAKE) -> tuple[int, dict[str, object], str]:
    """Exit code, result and the last line of stderr."""
    code = run_job(run_create_table, CreateTableOptions, words, lake=lake)
    out, err = capfd.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else {}, err.splitlines()[-1] if err else ""


def test_a_dry_run_tells_properties_and_schema_and_makes_nothing(
    root: Folder, capfd: pytest.CaptureFixture[str]
) -> None:
    base = root / "trips"
    code, result, _ = run(capfd, "--ddl", DDL, "--base-path", str(base), "--dry-run", lake=root.lake)
    assert (code, result["state"], result["table"], result["base_path"]) == (0, "DRY_RUN", "trips", str(base))
    plan = result["plan"]
    assert isinstance(plan, dict)
    assert plan["properties"]["hoodie.table.type"] == "MERGE_ON_READ"
    assert plan["schema"][0] == {"name": "id", "type": "int64", "nullable": True}
    assert [column["name"] for column in plan["schema"]] == ["id", "name", "ts", "dt"]
    assert not base.exists()


def test_a_statement_is_carried_out_once(root: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    base = root / "trips"
    file = root / "trips.sql"
    file.write_text(f"{DDL}\nlocation '{base}'")
    code, result, _ = run(capfd, "--ddl-file", str(file), lake=root.lake)
    assert (code, result["state"], result["table"]) == (0, "COMPLETED", "trips")
    table = base.table()
    assert table.schema.names == ["id", "name", "ts", "dt"]
    before = (base / ".hoodie" / "hoodie.properties").read_bytes()

    code, result, error = run(capfd, "--ddl-file", str(file), lake=root.lake)
    assert (code, result) == (5, {})
    assert error == (
        f"create_table: error: the table trips stands at {base} already: "
        "write IF NOT EXISTS (--if-not-exists), or choose another location"
    )
    code, result, _ = run(capfd, "--ddl-file", str(file), "--if-not-exists", lake=root.lake)
    assert (code, result["state"], result["reason"]) == (
        0,
        "NOTHING_TO_DO",
        f"the table trips stands at {base} already",
    )
    assert (base / ".hoodie" / "hoodie.properties").read_bytes() == before


def test_a_table_from_options_alone(root: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    avro = root / "rows.avsc"
    fields = [{"name": "id", "type": "string"}, {"name": "v", "type": ["null", "double"], "default": None}]
    avro.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))
    base = root / "t"
    words = ["--base-path", str(base), "--table-name", "t", "--record-key-fields", "id", "--schema-file", str(avro)]
    words += ["--hoodie-conf", "hoodie.datasource.write.hive_style_partitioning=true", "--table-type", "MERGE_ON_READ"]
    code, _, error = run(capfd, *words, lake=root.lake)
    assert code == 0, error
    table = base.table()
    assert table.schema.names == ["id", "v"]
    assert table.config.hive_style
    assert table.config.is_merge_on_read
    assert table.config.key_generator_class == "org.apache.hudi.keygen.NonpartitionedKeyGenerator"


def test_a_schema_file_that_is_nested_without_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "deep.avsc").write_text("[" * 100_000)
    words = ["--base-path", str(tmp_path / "t"), "--table-name", "t", "--record-key-fields", "id"]
    code, _, error = run(capfd, *words, "--schema-file", str(tmp_path / "deep.avsc"))
    assert code == 2
    assert f"--schema-file {tmp_path}/deep.avsc is no JSON (maximum recursion depth" in error


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "there is neither a statement nor a base path: give --ddl, --ddl-file or --base-path"),
        (["--ddl", DDL], "the statement for table trips has no LOCATION: add one, or give --base-path"),
        (["--ddl", f"{DDL} location '/a'", "--base-path", "/b"], "--base-path /b contradicts LOCATION '/a'"),
        (["--ddl", DDL, "--ddl-file", "x"], "--ddl and --ddl-file are both given: give one of them"),
        (["--ddl-file", "/no/such/file"], "--ddl-file /no/such/file is missing: give a file that can be read"),
        (["--ddl", DDL, "--table-type", "COPY_ON_WRITE"], "--table-type is given beside a statement: say it there"),
        (["--base-path", "/t", "--table-name", "t"], "a new table needs record key fields: give --record-key-fields"),
        (["--base-path", "/t", "--record-key-fields", "a"], "a new table needs a name: give --table-name"),
        ([*NAMED, f"{GENERATOR}class=com.us.Ours"], "key generator com.us.Ours is not supported: use one of Complex"),
        ([*NAMED, f"{GENERATOR}type=SIMPLE"], "SimpleKeyGenerator takes one partition column, not 0: use Complex"),
        (
            [*NAMED, "hoodie.keygen.timebased.timezone=Nowhere/At"],
            "hoodie.keygen.timebased.timezone=Nowhere/At is no time zone: give a name such as",
        ),
        (
            [*NAMED, "hoodie.x=\ud800"],
            "--hoodie-conf is not valid: a value is no Unicode text",
        ),
        (["--base-path", "/t\udcff"], "--base-path=/t\\udcff is not valid: '/t\\udcff' is no Unicode text"),
    ],
)
def test_errors_are_one_line(words: list[str], what: str, capfd: pytest.CaptureFixture[str]) -> None:
    code, result, error = run(capfd, *words)
    assert (code, result) == (2, {})
    assert error.startswith(f"create_table: error: {what}")


def test_halves_of_characters_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What JSON and Java's properties can spell and no file can hold."""
    schema, props = tmp_path / "t.avsc", tmp_path / "t.properties"
    schema.write_text(r'{"type":"record","name":"r","fields":[{"name":"a\ud800","type":"int"}]}')
    code, _, error = run(capfd, *NAMED[:-1], "--schema-file", str(schema))
    assert (code, error) == (
        2,
        f"create_table: error: --schema-file {schema} can't be a table's schema (an Avro schema has the name of a "
        "field 'a\\ud800', which is no Unicode text)",
    )
    props.write_text(r"hoodie.table.name=\ud83d\ude00\ud800")
    code, _, error = run(capfd, *NAMED[:-1], "--props", str(props))
    assert (code, error) == (
        2,
        rf"create_table: error: {props}: \ud83d\ude00\ud800 is no Unicode text: spell whole characters",
    )


def test_a_file_at_the_base_path_is_left_alone(root: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    (root / "file").write_text("mine")
    code, _, error = run(capfd, "--ddl", DDL, "--base-path", str(root / "file"), lake=root.lake)
    assert code == 2
    assert "is a file: give the folder of the new table" in error


def test_options_without_effect_and_a_missing_key_are_told(root: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    ddl = "create table t (id int) using hudi tblproperties (hoodie.insert.shuffle.parallelism = 2)"
    words = ["--ddl", ddl, "--base-path", str(root / "t")]
    code = run_job(run_create_table, CreateTableOptions, words, lake=root.lake)
    err = capfd.readouterr().err
    assert code == 0
    assert "warning: the option hoodie.insert.shuffle.parallelism is not kept with the table" in err
    assert "warning: the statement has no primaryKey" in err


def test_the_entry_point_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "spark_jobs" / "create_table.py"), "--ddl", DDL, "--base-path", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "COMPLETED"
    assert HudiTable.open(str(tmp_path)).config.is_merge_on_read


@pytest.mark.parametrize("words", [NAMED, ["--ddl", DDL, "--base-path", "/t", "--hoodie-conf"]], ids=["options", "ddl"])
def test_what_writers_refuse_makes_no_table(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    code, _, line = run(capfd, *words, "hoodie.metaserver.enabled=true")
    assert (code, line.split(": ")[:2]) == (2, ["create_table", "error"])
    assert "hoodie.metaserver.enabled=true is not served" in line
    assert not Path("/t").exists()
