"""The bootstrap index as this project writes it, against those of real Hudi 0.15.0."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from spark_jobs.core.errors import OutsideTableError
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION, BootstrapIndex, without_scheme
from spark_jobs.core.view.bootstrap_writer import IndexedFile, encode_bootstrap_index, write_bootstrap_index
from tests.support.folder import Folder

pytestmark = pytest.mark.unit

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "tables"


def contents(data: bytes) -> tuple[HFileReader, dict[bytes, bytes]]:
    reader = HFileReader(pa.BufferReader(data), "index")
    cells = reader.read_all()
    return reader, dict(zip(cells.keys.to_pylist(), cells.values.to_pylist(), strict=True))


def schema_of(payload: bytes) -> Any:
    found: Any = fastavro.reader(io.BytesIO(payload))
    return json.loads(found.metadata["avro.schema"])


def without_owner(value: Any) -> Any:
    """The one thing that no storage tells here."""
    if isinstance(value, dict):
        return {name: without_owner(one) for name, one in value.items() if name not in ("owner", "group")}
    return value


def files_of(by_file_id: dict[bytes, bytes], source: str) -> list[IndexedFile]:
    found = []
    for key, value in by_file_id.items():
        entry = decode_payload(value, "entry")
        status = entry["bootstrapFileStatus"]
        found.append(
            IndexedFile(
                partition=entry["partitionPath"],
                file_id=key.decode().rpartition("=")[2],
                path=without_scheme(status["path"]["uri"])[len(source) + 1 :],
                size=status["length"],
                modified_ms=status["modificationTime"],
            )
        )
    return found


@pytest.mark.parametrize("name", ["bootstrap_cow", "bootstrap_mor"])
def test_it_says_what_hudi_says_of_the_same_files(name: str) -> None:
    with zipfile.ZipFile(TABLES / f"{name}.zip") as packed:
        theirs = {one: contents(packed.read(f"{name}/{one}")) for one in (BY_PARTITION, BY_FILE_ID)}
    info = decode_payload(theirs[BY_FILE_ID][0].info[b"INDEX_INFO"], "info")
    source = info["bootstrapBasePath"]
    files = files_of(theirs[BY_FILE_ID][1], source)
    ours = encode_bootstrap_index(source, reversed(files), info["createdTimestamp"])
    for place, data in zip((BY_PARTITION, BY_FILE_ID), ours, strict=True):
        (their_file, their_entries), (our_file, our_entries) = theirs[place], contents(data)
        assert list(our_entries) == list(their_entries)
        for key, value in their_entries.items():
            assert schema_of(our_entries[key]) == schema_of(value)
            assert decode_payload(our_entries[key], "e") != {}
            assert without_owner(decode_payload(our_entries[key], "e")) == without_owner(decode_payload(value, "e"))
        told = [reader.info[b"INDEX_INFO"] for reader in (our_file, their_file)]
        assert schema_of(told[0]) == schema_of(told[1])
        assert decode_payload(told[0], "info") == decode_payload(told[1], "info")
        assert set(our_file.info) == set(their_file.info)
        for key in set(our_file.info) - {b"INDEX_INFO", b"hfile.AVG_VALUE_LEN"}:
            assert our_file.info[key] == their_file.info[key], key
        for fact in ("comparator", "compression", "entry_count", "index_levels", "meta_index_count"):
            assert getattr(our_file.trailer, fact) == getattr(their_file.trailer, fact)


@pytest.mark.parametrize("path", ["../x.parquet", "a/../../x.parquet", "", "a//x.parquet"])
def test_an_index_that_leads_out_of_the_source(root: Folder, path: str) -> None:
    """The rows of a table may be in another folder; nothing but that is read (invariant 15)."""
    one = IndexedFile(partition="a", file_id="f-0", path=path, size=1, modified_ms=1)
    write_bootstrap_index(root.storage, str(root), "/source", [one], 1)
    index = BootstrapIndex(lake=root.lake, storage=root.storage, base_path=str(root), source_path="/source")
    named = re.escape(f"/source/{path}")
    message = rf"^the bootstrap index of {root} names '{named}', which is no path below its source /source: "
    with pytest.raises(OutsideTableError, match=message):
        index.sources("a")
    with pytest.raises(OutsideTableError, match=message):
        index.source_of("a", "f-0")


@pytest.mark.parametrize("source", ["/lake/source", "mem://lake/source"])
def test_a_source_is_found_where_its_storage_has_it(root: Folder, source: str) -> None:
    one = IndexedFile(file_id="i", partition="p", path="p/f.parquet", size=5, modified_ms=1)
    write_bootstrap_index(root.storage, str(root), source, [one], 1)
    index = BootstrapIndex(lake=root.lake, storage=root.storage, base_path=str(root), source_path=source)
    assert index.source_of("p", "i").path == "p/f.parquet"
    assert not index.is_moved()
