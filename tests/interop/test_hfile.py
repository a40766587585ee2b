"""HFiles between us and Hudi's own readers and writer: HBase's in the bundle of 0.15.0, the native ones of both."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.format import BOOTSTRAP_COMPARATOR, HUDI_COMPARATOR
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.hfile.writer import write_hfile
from tests.interop.hfile_client import NEWER_BUNDLE, Entries, HudiHFiles
from tests.interop.lines import ServerError

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java: install a Java 17 runtime"),
]

BLOOM = b"/////wAAABQBAAABID797Rg6cC9QEnS/" * 1000
ENTRIES: Entries = [(f"key-{number:04d}-é".encode(), f"value {number % 17}".encode() * 9) for number in range(600)]
BLOCK_SIZE = 4096


@pytest.fixture(scope="module")
def of_0_15(real_hudi_log: Path) -> Iterator[HudiHFiles]:
    with HudiHFiles(real_hudi_log / "hfiles-0.15.log") as hudi:
        yield hudi


@pytest.fixture(scope="module")
def of_1_0(real_hudi_log: Path) -> Iterator[HudiHFiles]:
    with HudiHFiles(real_hudi_log / "hfiles-1.0.log", NEWER_BUNDLE) as hudi:
        yield hudi


@pytest.fixture(scope="module")
def real_hudi_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hfiles")


def check(hudi: HudiHFiles, reader: str, path: Path, entries: Entries) -> None:
    assert hudi.count(path, reader) == len(entries)
    assert hudi.entries(path, reader) == entries
    keys = [key for key, _ in entries[::40]]
    asked = sorted([*keys, b"key-0001-x", b"a", b"z"])
    values = dict(entries)
    assert hudi.get(path, reader, asked) == [values.get(key) for key in asked]
    assert hudi.info(path, reader, "schema") == b'"string"'
    assert hudi.meta(path, reader, "bloomFilter") == BLOOM


@pytest.mark.parametrize("compression", [Compression.GZ, Compression.NONE])
@pytest.mark.parametrize("reader", ["hbase", "native"])
def test_hudi_0_15_reads_ours(of_0_15: HudiHFiles, tmp_path: Path, compression: Compression, reader: str) -> None:
    check(of_0_15, reader, ours(tmp_path, compression), ENTRIES)


@pytest.mark.parametrize("compression", [Compression.GZ, Compression.NONE])
@pytest.mark.parametrize("reader", ["hbase", "native"])
def test_hudi_1_0_reads_ours(of_1_0: HudiHFiles, tmp_path: Path, compression: Compression, reader: str) -> None:
    check(of_1_0, reader, ours(tmp_path, compression), ENTRIES)


def ours(folder: Path, compression: Compression) -> Path:
    path = folder / "ours.hfile"
    data = write_hfile(
        ENTRIES,
        compression=compression,
        block_size=BLOCK_SIZE,
        meta={"bloomFilter": BLOOM},
        file_info={b"schema": b'"string"'},
    )
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("comparator", [HUDI_COMPARATOR, BOOTSTRAP_COMPARATOR])
@pytest.mark.parametrize("entries", [ENTRIES, ENTRIES[:1], []], ids=["many", "one", "none"])
def test_we_write_what_hbase_writes(of_0_15: HudiHFiles, tmp_path: Path, entries: Entries, comparator: str) -> None:
    for name in ("GZ", "NONE"):
        path = tmp_path / f"{name}.hfile"
        of_0_15.write(path, entries, name, BLOCK_SIZE, comparator)
        data = path.read_bytes()
        assert list(HFileReader(data).entries()) == entries
        kind = Compression[name]
        assert write_hfile(entries, compression=kind, block_size=BLOCK_SIZE, comparator=comparator) == data


@pytest.mark.parametrize("name", ["SNAPPY", "LZ4", "BZIP2", "ZSTD"])
def test_compressions_that_need_more_than_the_bundle(of_0_15: HudiHFiles, tmp_path: Path, name: str) -> None:
    """HBase writes them where Hadoop has the codec."""
    path = tmp_path / "theirs.hfile"
    try:
        of_0_15.write(path, ENTRIES, name, 1 << 20, HUDI_COMPARATOR)
    except ServerError as error:
        pytest.skip(f"HBase does not write {name} here: {error}")
    assert list(HFileReader(path.read_bytes()).entries()) == ENTRIES
    again = tmp_path / "ours.hfile"
    again.write_bytes(write_hfile(ENTRIES, compression=Compression[name]))
    assert of_0_15.entries(again, "hbase") == ENTRIES
