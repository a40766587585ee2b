"""HFiles read and written by Hudi's own classes, in a JVM without a Spark session; the serving end of ``lines``.

``hbase`` is HBase's reader in Hudi's bundle, the default of 0.15; ``native`` Hudi's own, the default from 1.0 on.
Keys and values are hexadecimal in requests and answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from py4j.java_gateway import java_import
from pyspark.java_gateway import launch_gateway

from tests.interop.lines import serve

SHADED = "org.apache.hudi."
FOUND = 0


class HFileServer:
    """The commands; each public method is one, its keyword arguments are the request's ``args``."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        java_import(jvm, "org.apache.hadoop.fs.Path")
        self._conf = jvm.org.apache.hadoop.conf.Configuration()
        self._files = jvm.org.apache.hadoop.fs.FileSystem.getLocal(self._conf)
        self._hbase = jvm.org.apache.hudi.org.apache.hadoop.hbase

    def entries(self, *, path: str, reader: str) -> list[list[str]]:
        """All cells in their order: ``[key, value]``."""
        return [[key.hex(), value.hex()] for key, value in self._cells(path, reader)]

    def count(self, *, path: str, reader: str) -> int:
        """What the trailer says."""
        opened = self._open(path, reader)
        return int(opened.getEntries() if reader == "hbase" else opened.getNumKeyValueEntries())

    def get(self, *, path: str, reader: str, keys: list[str]) -> list[str | None]:
        """The value of each key, which must be given in ascending order; None where it is not there."""
        opened = self._open(path, reader)
        if reader == "native":
            opened.seekTo()  # it only looks forward from where it stands
            return [self._native_value(opened, bytes.fromhex(key)) for key in keys]
        scanner = opened.getScanner(False, True)
        return [self._hbase_value(scanner, bytes.fromhex(key)) for key in keys]

    def info(self, *, path: str, reader: str, key: str) -> str | None:
        """An entry of the file info."""
        opened = self._open(path, reader)
        if reader == "hbase":
            found = opened.getHFileInfo().get(key.encode())
            return None if found is None else bytes(found).hex()
        option = opened.getMetaInfo(self._jvm.org.apache.hudi.io.hfile.UTF8StringKey(key))
        return bytes(option.get()).hex() if option.isPresent() else None

    def meta(self, *, path: str, reader: str, name: str) -> str | None:
        """A meta block."""
        opened = self._open(path, reader)
        if reader == "hbase":
            block = opened.getMetaBlock(name, False)
            return None if block is None else bytes(block.getBufferWithoutHeader().toBytes()).hex()
        option = opened.getMetaBlock(name)
        return _buffer(self._jvm, option.get()).hex() if option.isPresent() else None

    def write(self, *, path: str, entries: list[list[str]], compression: str, block_size: int, name: str) -> None:
        """A file by HBase's writer; ``name`` is of its comparator."""
        io = self._hbase.io
        context = (
            io.hfile.HFileContextBuilder()
            .withBlockSize(block_size)
            .withCompression(getattr(io.compress.Compression.Algorithm, compression))
            .withCellComparator(self._jvm.java.lang.Class.forName(name).newInstance())
            .build()
        )
        factory = io.hfile.HFile.getWriterFactory(self._conf, io.hfile.CacheConfig(self._conf))
        writer = factory.withPath(self._files, self._jvm.Path(path)).withFileContext(context).create()
        for key, value in entries:
            writer.append(self._hbase.KeyValue(bytes.fromhex(key), None, None, bytes.fromhex(value)))
        writer.close()

    def _open(self, path: str, reader: str) -> Any:
        where = self._jvm.Path(path)
        if reader == "hbase":
            cache = self._hbase.io.hfile.CacheConfig(self._conf)
            return self._hbase.io.hfile.HFile.createReader(self._files, where, cache, True, self._conf)
        stream = self._jvm.org.apache.hudi.hadoop.fs.HadoopSeekableDataInputStream(self._files.open(where))
        opened = self._jvm.org.apache.hudi.io.hfile.HFileReaderImpl(stream, self._files.getFileStatus(where).getLen())
        opened.initializeMetadata()
        return opened

    def _cells(self, path: str, reader: str) -> Iterator[tuple[bytes, bytes]]:
        opened = self._open(path, reader)
        if reader == "native":
            more = opened.seekTo()
            while more:
                cell = opened.getKeyValue().get()
                yield cell.getKey().getContentInString().encode(), self._value_of(cell)
                more = opened.next()
            return
        scanner = opened.getScanner(False, False)
        more = scanner.seekTo()
        while more:
            cell, cells = scanner.getCell(), self._hbase.CellUtil
            yield bytes(cells.cloneRow(cell)), bytes(cells.cloneValue(cell))
            more = scanner.next()

    def _value_of(self, cell: Any) -> bytes:
        begin, length = cell.getValueOffset(), cell.getValueLength()
        return bytes(self._jvm.java.util.Arrays.copyOfRange(cell.getBytes(), begin, begin + length))

    def _native_value(self, opened: Any, key: bytes) -> str | None:
        if opened.seekTo(self._jvm.org.apache.hudi.io.hfile.UTF8StringKey(key.decode())) != FOUND:
            return None
        return self._value_of(opened.getKeyValue().get()).hex()

    def _hbase_value(self, scanner: Any, key: bytes) -> str | None:
        if scanner.seekTo(self._hbase.KeyValue(key, None, None, None)) != FOUND:
            return None
        return bytes(self._hbase.CellUtil.cloneValue(scanner.getCell())).hex()


def _buffer(jvm: Any, buffer: Any) -> bytes:
    copy = jvm.java.util.Arrays.copyOfRange
    return bytes(copy(buffer.array(), buffer.arrayOffset() + buffer.position(), buffer.arrayOffset() + buffer.limit()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True, help="descriptor that answers go to")
    options = parser.parse_args()
    serve(HFileServer(launch_gateway().jvm), options.answers)


if __name__ == "__main__":
    main()
