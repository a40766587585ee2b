"""Entries of many blocks decoded by columns are those that each block has alone, whatever the bytes are."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block
from spark_jobs.core.timeline.archive.v6 import listing as archive_listing
from spark_jobs.core.timeline.archive.v6.files import (
    CONTENT_HEAD,
    LISTED,
    archive_blocks,
    encode_entries,
    entries_of,
    read_entry,
)
from spark_jobs.core.timeline.archive.v6.listing import listed_entries
from spark_jobs.core.timeline.payloads.avro_codec import encode_record, parsed_schema
from tests.nightly import examples
from tests.support.folder import Folder
from tests.unit.core.timeline.lines import archive_in

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "tables"
Found = tuple[list[Any], str]


def of_each_block(data: bytes) -> Found:
    found: list[Any] = []
    try:
        for block in archive_blocks(pa.BufferReader(data)):
            found += entries_of(block, "f", block.read_content())
    except HudiError as error:
        return found, str(error)
    return found, ""


def together(data: bytes) -> Found:
    found: list[Any] = []
    blocks = ((block, block.read_content()) for block in archive_blocks(pa.BufferReader(data)))
    try:
        found.extend(listed_entries(blocks, "f"))
    except HudiError as error:
        return found, str(error)
    return found, ""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The archive files of a table of Hudi's, by commits, cleans, rollbacks and clusterings."""
    folder = tmp_path_factory.mktemp("archived")
    with zipfile.ZipFile(TABLES / "archived.zip") as packed:
        packed.extractall(folder)
    archive = folder / "archived" / ".hoodie" / "archived"
    return [Path(status.path).read_bytes() for status in archive_in(archive).newest_first()]


def test_the_entries_of_hudi(files: list[bytes]) -> None:
    for data in files:
        found, error = together(data)
        assert (found, error) == of_each_block(data)
        assert len(found) > 0


def test_several_chunks(files: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [of_each_block(data) for data in files]
    for size in (1, 10_000):
        monkeypatch.setattr(archive_listing, "_CHUNK_BYTES", size)
        assert [together(data) for data in files] == wanted


def test_hudi_s_entries_need_no_second_look(files: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [together(data) for data in files]
    monkeypatch.setattr(archive_listing, "entries_of", None)
    assert [together(data) for data in files] == wanted


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_damaged_files_give_the_same(files: list[bytes], data: st.DataObject) -> None:
    """The same entries, and the same error at the same place."""
    whole = bytearray(data.draw(st.sampled_from(files)))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(whole[: data.draw(st.integers(0, len(whole)) | st.just(len(whole)))])
    assert together(cut) == of_each_block(cut)


def entry(number: int, **more: Any) -> dict[str, Any]:
    time = f"20240506000000{number:03d}"
    return {"commitTime": time, "actionType": "commit", "actionState": "COMPLETED", "version": None, **more}


def test_entries_before_a_block_of_unknown_type() -> None:
    unknown = bytearray(encode_entries([entry(2)]))
    unknown[18:22] = (99).to_bytes(4, "big")  # behind magic, size and version
    data = encode_entries([entry(1)]) + bytes(unknown)
    found, error = together(data)
    assert len(found) == 1
    assert "99" in error
    assert (found, error) == of_each_block(data)


def test_a_commit_of_very_many_partitions() -> None:
    """Where columns are slower than records one by one."""
    stats = {f"p{number}": [{"fileId": f"f{number}", "path": f"p{number}/f{number}"}] for number in range(2_000)}
    wide = entry(2, hoodieCommitMetadata={"partitionToWriteStats": stats, "extraMetadata": {}, "version": None})
    data = encode_entries([entry(1), wide, entry(3)])
    found, error = together(data)
    assert (found, error) == of_each_block(data)
    assert [one["commitTime"][-3:] for one, _ in found] == ["001", "002", "003"]


def test_a_schema_of_an_older_release(root: Folder) -> None:
    """With fewer fields, another order, and one that columns can't read; beside blocks of today's."""
    text = json.dumps(
        {
            "type": "record",
            "name": "HoodieArchivedMetaEntry",
            "fields": [
                {"name": "actionType", "type": ["null", "string"]},
                {"name": "either", "type": ["null", "string", "int"]},
                {"name": "commitTime", "type": "string"},
            ],
        }
    )
    old = {"actionType": "commit", "either": 7, "commitTime": "20160101000000"}
    record = encode_record(parsed_schema(text), old)
    content = CONTENT_HEAD.pack(1, 1) + len(record).to_bytes(4, "big") + record
    block = encode_block(BlockType.AVRO_DATA_BLOCK, {HeaderKey.SCHEMA: text}, content)
    data = encode_entries([entry(1)]) + block + encode_entries([entry(2)])
    found, error = together(data)
    assert ([one["commitTime"] for one, _ in found], error) == (
        ["20240506000000001", "20160101000000", "20240506000000002"],
        "",
    )
    path = root / "f"
    path.write_bytes(data)
    for one, place in found:
        assert read_entry(root.storage, replace(place, path=str(path)))["commitTime"] == one["commitTime"]
    assert set(found[0][0]) == set(LISTED)
