"""Schema histories: their files, and where the columns of a newer schema are in older files."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.changes import add_column, drop_column, move_column, rename_column, widen_column
from spark_jobs.core.schema.conform import Origin
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.history import read_history, write_history
from spark_jobs.core.schema.internal_avro import internal_of
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

FIRST = internal_of(
    avro_schema_of(
        pa.schema(
            [
                ("id", pa.string()),
                ("a", pa.int32()),
                ("d", pa.struct([("x", pa.int32()), ("y", pa.string())])),
                ("e", pa.list_(pa.struct([("k", pa.string())]))),
            ]
        ),
        "t",
    )
)
T1, T2 = 20240101000000000, 20240102000000000
SECOND = rename_column(rename_column(rename_column(FIRST, "a", "b"), "d.x", "z"), "e.element.k", "key").at(T1)
THIRD = add_column(drop_column(widen_column(SECOND, "b", "long"), "d.y"), "d.y", "int").at(T2)
EVOLUTION = SchemaEvolution(versions=(FIRST, SECOND, THIRD), wanted=THIRD)


def test_columns_are_found_by_their_ids() -> None:
    assert EVOLUTION.origins("20231231235959999") == {
        "b": Origin("a"),
        "d": Origin("d", {"z": Origin("x"), "y": Origin(None)}),
        "e": Origin("e", {"element": Origin("element", {"key": Origin("k")})}),
    }
    assert EVOLUTION.origins("20240101120000000") == {"d": Origin("d", {"y": Origin(None)})}
    assert EVOLUTION.origins("20240102000000000") == {}
    assert pickle.loads(pickle.dumps(EVOLUTION)) == EVOLUTION


def test_only_moved_or_widened_columns_are_found_by_name() -> None:
    moved = widen_column(move_column(FIRST, "a", before="id"), "a", "long").at(T1)
    assert SchemaEvolution(versions=(FIRST, moved), wanted=moved).origins("20230101000000000") == {}


def test_instants_of_seconds_and_others() -> None:
    assert EVOLUTION.version_at("20240101000000") == SECOND
    assert EVOLUTION.version_at("00000000000001") == FIRST
    assert EVOLUTION.version_at("not a time") is None
    assert EVOLUTION.origins("not a time") == {}
    late = SchemaEvolution(versions=(SECOND, THIRD), wanted=THIRD)
    assert late.origins("20230101000000000") == {}


def test_the_newest_completed_history_counts(root: Folder) -> None:
    storage, base, done = root.storage, str(root), {str(T1)}
    assert read_history(storage, base, done.__contains__) == ()
    write_history(storage, base, str(T1), (FIRST, SECOND), done.__contains__)
    write_history(storage, base, str(T2), (FIRST, SECOND, THIRD), done.__contains__)
    assert read_history(storage, base, done.__contains__) == (FIRST, SECOND)
    assert read_history(storage, base, {*done, str(T2)}.__contains__) == (FIRST, SECOND, THIRD)
    folder = root / ".hoodie" / ".schema"
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{time}.schemacommit{state}" for time in (T1, T2) for state in ("", ".inflight", ".requested")
    ]


def test_what_unfinished_writes_left_is_swept(root: Folder) -> None:
    storage, base = root.storage, str(root)
    write_history(storage, base, str(T1), (FIRST, SECOND), lambda _: False)
    write_history(storage, base, str(T2), (FIRST, THIRD), lambda _: False)
    names = {path.name.split(".")[0] for path in (root / ".hoodie" / ".schema").iterdir()}
    assert names == {str(T2)}


def test_a_history_that_is_none(root: Folder) -> None:
    folder = root / ".hoodie" / ".schema"
    folder.mkdir(parents=True)
    (folder / f"{T1}.schemacommit").write_bytes(b"\xff")
    with pytest.raises(CorruptTableError, match=r"\.schemacommit holds no schema history"):
        read_history(root.storage, str(root), lambda _: True)
