"""Values that are well-formed and make no sense, where random damage seldom comes: each is an error of ours."""

from __future__ import annotations

import base64
import json
import struct
import tracemalloc
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.format.instant_time import TimelineZone, next_instant_time
from spark_jobs.core.locks.owner import parse_owner
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.storage import LocalStorage
from tests.support.folder import Folder
from tests.support.payloads import commit_in

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("count", [2**31 - 1, 1 << 27, 1000])
def test_a_filter_that_claims_more_rows_than_it_has(count: int) -> None:
    head = struct.pack(">iibi", -1, 1, 1, 7)
    text = base64.b64encode(head + struct.pack(">iii", 10, 0, count) + head + b"\0")
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTableError):
            BloomFilter.from_base64(text, "DYNAMIC_V0")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["version_id", "max_column_id"])
def test_a_schema_of_infinite_numbers(name: str) -> None:
    text = '{"type":"record","fields":[],"' + name + '":1e999}'
    with pytest.raises(CorruptTableError):
        InternalSchema.parse(text, "a commit")


@pytest.mark.parametrize(
    "raw",
    [
        {"extraMetadata": "abc"},
        {"extraMetadata": {"schema": 5}},
        {"partitionToWriteStats": {"p": [{"fileId": {"a": 1}}]}},
        {"partitionToWriteStats": {"p": [{"partitionPath": []}]}},
        {"partitionToWriteStats": {"p": [{"path": 5}]}},
        {"partitionToWriteStats": {"p": [{"numWrites": "5"}]}},
        {"partitionToWriteStats": {"p": [{"numWrites": 10**30}]}},
        {"partitionToWriteStats": {"p": [{"cdcStats": {"a": "x"}}]}},
        {"partitionToReplaceFileIds": {"p": [["f"]]}},
    ],
)
def test_commits_of_other_types(raw: object) -> None:
    with pytest.raises(CorruptTableError, match="is not commit metadata"):
        commit_in(json.dumps(raw).encode(), "1.commit")


def test_a_lock_of_an_infinite_process() -> None:
    assert parse_owner(b'{"owner":{"host":"h","pid":1e999,"started":1},"token":"t"}') is None


def test_nothing_follows_the_last_instant_of_the_calendar() -> None:
    with pytest.raises(CorruptTableError, match="which none can follow"):
        next_instant_time(datetime(2026, 1, 1), TimelineZone.UTC, "99991231235959999")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "record", "name": "r", "fields": [{"name": "a\ud800", "type": "int"}]},
        {"type": "record", "name": "r\udfff", "fields": []},
        {"type": "enum", "name": "e", "symbols": ["\udc00"]},
    ],
)
def test_names_of_half_characters(schema: dict[str, object]) -> None:
    """JSON can spell them, nothing can store them."""
    text = json.dumps({"type": "record", "name": "outer", "fields": [{"name": "f", "type": schema}]})
    with pytest.raises(CorruptTableError, match=r"'.*\\ud.*', which is no Unicode text"):
        arrow_schema_of(json.loads(text))


def test_columns_with_ids_and_half_characters() -> None:
    column = {"id": 0, "name": "\ud800", "optional": True, "type": "int"}
    with pytest.raises(CorruptTableError, match=r"no name '\\+ud800'"):
        InternalSchema.parse(json.dumps({"type": "record", "fields": [column]}), "a commit")


@pytest.mark.parametrize("line", [b"hoodie.table.name=\\ud800", b"hoodie.table.name=t\nhoodie.\\udfff=1"])
def test_properties_with_half_characters(line: bytes, root: Folder) -> None:
    (root / ".hoodie").mkdir()
    (root / ".hoodie" / "hoodie.properties").write_bytes(line)
    with pytest.raises(CorruptTableError, match=r"is corrupt \('hoodie\..*' is no Unicode text\)"):
        read_table_config(root.storage, str(root), SYSTEM_CLOCK)


@pytest.mark.parametrize("name", ["a\ud800", "a\0b"])
def test_paths_that_no_file_has(name: str, tmp_path: Path) -> None:
    """As a commit may name them, whose JSON can spell any character. Only a local disk refuses names."""
    storage, path = LocalStorage(), f"{tmp_path}/{name}/b"
    calls: list[Callable[[], object]] = [
        lambda: storage.stat(path),
        lambda: storage.read(path),
        lambda: storage.list(path),
        lambda: storage.create(path, b"x"),
        lambda: storage.create(path, b""),
        lambda: storage.replace(path, b"x"),
        lambda: storage.delete(path),
        lambda: storage.delete_tree(path),
        lambda: storage.open_input(path),
        lambda: storage.open_output(path),
    ]
    for call in calls:
        with pytest.raises(StorageError, match="characters that no path has"):
            call()
    assert list(tmp_path.iterdir()) == []
