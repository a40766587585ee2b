"""``ingest.py`` in its own process, without Spark: what it writes, and which writes it leaves to Spark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError, ConfigError, StorageError
from spark_jobs.options import EngineKind, IngestOptions, JobResult, JobState
from spark_jobs.write.config import open_if_there, resolve
from spark_jobs.write.direct.choose import parquet_source
from spark_jobs.write.direct.source import ParquetSource
from spark_jobs.write.engine_choice import local_ingest
from spark_jobs.write.job import run_ingest
from tests.support.folder import Folder, write_parquet
from tests.support.jobs import job_context
from tests.support.locks import is_nothing

pytestmark = pytest.mark.unit
SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
Row = tuple[int, str, str, int]


@pytest.fixture(autouse=True)
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of Spark can start."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", "")


def source(folder: Folder, rows: list[Row], schema: pa.Schema = SCHEMA) -> str:
    """A file of rows in a folder of its own."""
    into = folder / f"in-{len(list(folder.glob('in-*')))}"
    into.mkdir(parents=True)
    write_parquet(pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], schema), into / "f")
    return str(into)


def options(table: Folder, **given: Any) -> IngestOptions:
    fields = {"record_key_fields": "id", "partition_path_fields": "p", "precombine_field": "ts", "table_name": "t"}
    return IngestOptions(**{"base_path": str(table), "engine": EngineKind.LOCAL, **fields, **given})


def ingest(table: Folder, op: str, rows: list[Row] | None = None, **given: Any) -> JobResult:
    files = () if rows is None else (source(table.parent, rows),)
    return run_ingest(options(table, op=op, source=files, **given), job_context(lake=table.lake))


def rows_of(table: Folder) -> list[Row]:
    found = table.table().scan(columns=SCHEMA.names).to_arrow().to_pylist()
    return sorted(tuple(one.values()) for one in found)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_every_operation_without_spark(root: Folder, table_type: str) -> None:
    table = root / "t"
    made = ingest(table, "bulk_insert", [(1, "a", "x", 1), (2, "b", "x", 1)], table_type=table_type)
    assert (made.state, made.inserts, made.files_in, made.extra["engine"]) == (JobState.COMPLETED, 2, 1, "local")
    assert made.bytes_in > 0
    done = ingest(table, "upsert", [(1, "a", "y", 2), (3, "b", "y", 2), (3, "b", "z", 3)])
    assert (done.updates, done.inserts) == (1, 1)
    ingest(table, "insert", [(4, "c", "x", 1)])
    assert rows_of(table) == [(1, "a", "y", 2), (2, "b", "x", 1), (3, "b", "z", 3), (4, "c", "x", 1)]
    assert ingest(table, "delete", [(2, "b", "", 5)]).deletes == 1
    ingest(table, "insert_overwrite", [(5, "a", "x", 1)])
    assert rows_of(table) == [(3, "b", "z", 3), (4, "c", "x", 1), (5, "a", "x", 1)]
    ingest(table, "delete_partition", [(0, "c", "", 0)])
    named = {"hoodie.datasource.write.partitions.to.delete": "b"}
    assert ingest(table, "delete_partition", hoodie_conf=named).extra["replaced_file_groups"] == 1
    assert ingest(table, "delete_partition", hoodie_conf=named).state is JobState.NOTHING_TO_DO
    assert rows_of(table) == [(5, "a", "x", 1)]
    ingest(table, "insert_overwrite_table", [(6, "d", "x", 1)])
    assert rows_of(table) == [(6, "d", "x", 1)]


def test_a_name_is_written_once(root: Folder) -> None:
    once = {"idempotency_key": "daily", "op": "insert", "source": (source(root, [(1, "a", "x", 1)]),)}
    first = run_ingest(options(root / "t", **once), job_context(lake=root.lake))
    again = run_ingest(options(root / "t", **once), job_context(lake=root.lake))
    assert again.repeated
    assert again.instant == first.instant
    assert rows_of(root / "t") == [(1, "a", "x", 1)]


def test_a_dry_run_plans_and_leaves_nothing(root: Folder) -> None:
    table = root / "t"
    plan = ingest(table, "upsert", [(1, "a", "x", 1), (2, "b", "x", 1), (3, "b", "x", 1)], dry_run=True).plan or {}
    assert plan["records_by_partition"] == {"a": 1, "b": 2}
    assert plan["creates_table"]
    assert not table.exists()
    ingest(table, "upsert", [(1, "a", "x", 1)])
    planned = ingest(table, "upsert", [(1, "a", "y", 2), (2, "b", "x", 1)], dry_run=True)
    partitions = (planned.plan or {})["sizing"]["partitions"]
    assert list(partitions["a"]["updates"].values()) == [1]
    assert [one["records"] for one in partitions["b"]["new_file_groups"]] == [1]
    assert rows_of(table) == [(1, "a", "x", 1)]
    wrong = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.bool_()), ("ts", pa.int64())])
    refused = run_ingest(
        options(table, dry_run=True, source=(source(root, [(1, "a", True, 1)], wrong),)),  # type: ignore[list-item]
        job_context(lake=root.lake),
    )
    assert (refused.plan or {})["fits"] is False


def test_an_index_is_advised(root: Folder) -> None:
    ingest(root / "t", "upsert", [(one, "ab"[one % 2], "x", 1) for one in range(9)])
    advised = ingest(root / "t", "upsert", [(1, "b", "y", 2), (2, "a", "y", 2)], explain=True)
    facts = (advised.plan or {})["facts"]
    assert (facts["records"], facts["partitions_touched"], facts["files_touched"]) == (2, 2, 2)


def test_a_write_that_fails_leaves_no_new_table(root: Folder) -> None:
    with pytest.raises(BadRecordError, match="no value in its key"):
        ingest(root / "t", "upsert", [(None, "a", "x", 1)])  # type: ignore[list-item]
    assert is_nothing(root / "t")


def test_no_value_is_shown_where_none_may_be(root: Folder) -> None:
    with pytest.raises(BadRecordError) as refused:
        ingest(root / "t", "upsert", [(1, "../up", "x", 1)], hoodie_conf={"pyhudi.errors.show.values": "false"})
    assert "up" not in str(refused.value).replace("pyhudi", "")


def test_columns_with_parts_need_no_spark(root: Folder) -> None:
    rows = pa.table(
        {
            **{"id": [1, 2], "p": ["a", "b"], "ts": [1, 1], "words": [["x", None], None]},
            "place": [{"city": "Oslo", "by": [{"day": 1}]}, None],
        }
    )
    write_parquet(rows, root / "f.parquet")
    for _ in range(2):
        run_ingest(options(root / "t", source=(str(root / "f.parquet"),)), job_context(lake=root.lake))
    found = (root / "t").table().scan(columns=rows.column_names).to_arrow().sort_by("id")
    assert found.to_pylist() == rows.to_pylist()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"source_format": "csv"}, "--source-format csv"),
        ({"source_reader": "spark"}, "--source-reader"),
        ({"source_options": {"mergeSchema": "true"}}, "--source-option"),
        ({"source_schema": "id bigint"}, "--source-schema"),
        ({"transformer_sql": "SELECT * FROM <SRC>"}, "--transformer-sql"),
        ({"transformer": ("sql",)}, "--transformer"),
        ({"error_table": "/errors"}, "--error-table"),
        ({"checkpoint": "1"}, "--checkpoint"),
        ({"continuous": True}, "--continuous"),
        ({"hoodie_conf": {"hoodie.streamer.source.sanitize.invalid.schema.field.names": "true"}}, "sanitize"),
        ({"record_key_fields": "f"}, "floating-point"),
        ({"source": ("/a/*.parquet", "/b")}, "several may have one file"),
    ],
)
def test_what_needs_spark_is_named(root: Folder, given: dict[str, Any], why: str) -> None:
    rows = pa.table({"id": [1], "p": ["a"], "f": [0.5], "ts": [1]})
    write_parquet(rows, root / "f.parquet")
    asked = options(root / "t", **{"source": (str(root / "f.parquet"),), **given})
    with pytest.raises(
        ConfigError, match=r"--engine local can't do this write.*give --engine spark or auto"
    ) as refused:
        run_ingest(asked, job_context(lake=root.lake))
    assert why in str(refused.value)
    left = options(root / "t", **{"source": asked.source, **given, "engine": EngineKind.AUTO})
    assert why in str(local_ingest(resolve(left, None, root.lake), None))


def test_auto_counts_the_source_and_what_it_touches(root: Folder) -> None:
    table = root / "t"
    ingest(table, "bulk_insert", [(1, "a", "x", 1), (2, "b", "x", 1)])
    size = sum(one.size for one in table.table().file_slices())
    files = (source(root, [(1, "a", "y", 2)]),)
    found = parquet_source(None, [one.path for one in root.storage.list(files[0])], root.lake)
    assert isinstance(found, ParquetSource)
    values = found.memory_size
    assert values >= found.content_size > 0

    def choice(most: int, op: str = "upsert") -> object:
        conf = {"pyhudi.ingest.local.max.bytes": str(most)}
        given = options(table, op=op, source=files, hoodie_conf=conf, engine=EngineKind.AUTO)
        found = open_if_there(str(table), root.lake)
        return local_ingest(resolve(given, found, root.lake), found)

    a = next(one.size for one in table.table().file_slices("a"))
    assert a < size
    assert not isinstance(choice(a + values), str)
    assert "bytes are to be read" in str(choice(a + values - 1))
    assert not isinstance(choice(values, "bulk_insert"), str)
    assert isinstance(choice(values - 1, "bulk_insert"), str)


def test_a_missing_source_is_no_reason_to_start_spark(root: Folder) -> None:
    for kind in EngineKind.AUTO, EngineKind.LOCAL:
        with pytest.raises(StorageError, match=f"source {root}/no/such does not exist"):
            run_ingest(options(root / "t", source=(f"{root}/no/such",), engine=kind), job_context(lake=root.lake))


def test_the_job_runs_where_there_is_no_spark(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path))
    words = options(folder / "t", source=(source(folder, [(1, "a", "x", 1)]),)).to_args()
    alone = (
        "import sys; sys.modules.update(pyspark=None, py4j=None, airflow=None); "
        "from spark_jobs.engine.job import run_job; from spark_jobs.options.ingest import INGEST; "
        "sys.exit(run_job(INGEST.run, INGEST.options, verdict=INGEST.verdict))"
    )
    done = subprocess.run([sys.executable, "-c", alone, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rows_of(folder / "t") == [(1, "a", "x", 1)]
