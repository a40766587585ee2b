"""Parquet base files: rows with their meta columns in, a file with Hudi's footer out; and reading them by batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.failure import one_line

BLOOM_FOOTER = "org.apache.hudi.bloomfilter"
LEGACY_BLOOM_FOOTER = "com.uber.hoodie.bloomfilter"
BLOOM_TYPE_FOOTER = "hoodie_bloom_filter_type_code"
MIN_KEY_FOOTER = "hoodie_min_record_key"
MAX_KEY_FOOTER = "hoodie_max_record_key"
AVRO_SCHEMA_FOOTER = "parquet.avro.schema"

ROWS_PER_ROW_GROUP = 256 * 1024
ROWS_PER_BATCH = 64 * 1024
_SAMPLE_ROWS = 4096
_REPEATING = 0.5
_FIRST_BYTE_OF_FOUR = 0xEE
"""From this lead byte on, the order of UTF-8 bytes and Java's order of UTF-16 units can differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSettings:
    """How the filter of a new file is sized; ``kind`` is DYNAMIC_V0 or SIMPLE."""

    kind: str
    entries: int
    fpp: float
    max_entries: int

    def new_filter(self) -> BloomFilter:
        return BloomFilter.create(num_entries=self.entries, fpp=self.fpp, kind=self.kind, max_entries=self.max_entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseFileFormat:
    """What all base files of one write share; ``avro_schema`` is the JSON text with the meta columns in it,
    ``codec_level`` is for zstd.
    """

    schema: pa.Schema
    avro_schema: str
    codec: str
    codec_level: int | None
    dictionary: bool
    bloom: BloomSettings | None


class BaseFileWriter:
    """Writes one base file (Hudi: HoodieAvroParquetWriter).

    ``seed`` starts the key range and the bloom filter from those of an older version of the file group, so that a merge
    adds its new keys alone; both may then be wider than the rows, which their readers allow.
    """

    def __init__(
        self, storage: Storage, path: str, file_format: BaseFileFormat, seed: FooterIndex | None = None
    ) -> None:
        self._format = file_format
        self._range = seed.key_range if seed and file_format.bloom else None
        self._bloom = (seed.bloom if seed else None) or (file_format.bloom.new_filter() if file_format.bloom else None)
        self._storage = storage
        self._path = path
        self._sink = storage.open_output(path)
        self._writer: pq.ParquetWriter | None = None
        self.rows = 0
        self._rows_in_group = 0

    def write(self, batch: pa.RecordBatch, new_keys: pa.Array | None = None) -> None:
        """Append rows in the schema of the file.

        :param new_keys: the record keys to index; all keys of ``batch`` without it.
        """
        if batch.num_rows == 0:
            return
        keys = batch.column(RECORD_KEY) if new_keys is None else new_keys
        if self._format.bloom is not None and len(keys):
            self._range = _widen(self._range, keys)
            if self._bloom is not None:
                self._bloom.add(keys)
        if self._writer is None:
            self._writer = self._open(batch)
        with one_line(self._path, "written"):
            self._writer.write_batch(batch, row_group_size=ROWS_PER_ROW_GROUP)
        self.rows += batch.num_rows
        self._rows_in_group = (self._rows_in_group + batch.num_rows) % ROWS_PER_ROW_GROUP

    @property
    def size_so_far(self) -> int:
        """Bytes that left for storage, and an estimate of those still buffered."""
        flushed = int(self._sink.tell())
        done = self.rows - self._rows_in_group
        return flushed + (self._rows_in_group * (flushed // done) if done else 0)

    def close(self) -> int:
        """Write the footer; the file's size in bytes."""
        metadata = {AVRO_SCHEMA_FOOTER: self._format.avro_schema, "writer.model.name": "avro"}
        if self._bloom is not None and self._format.bloom is not None:
            metadata[BLOOM_FOOTER] = self._bloom.to_base64()
            if self._bloom.kind != "SIMPLE":
                metadata[BLOOM_TYPE_FOOTER] = self._bloom.kind
        if self._range is not None:
            metadata[MIN_KEY_FOOTER], metadata[MAX_KEY_FOOTER] = self._range
        writer = self._writer = self._writer or self._open(None)
        writer.add_key_value_metadata(metadata)
        with one_line(self._path, "written"):
            writer.close()
            size = int(self._sink.tell())
            self._sink.close()
        return size

    def _open(self, first: pa.RecordBatch | None) -> pq.ParquetWriter:
        file_format = self._format
        repeating = repeating_columns(first) if first is not None and file_format.dictionary else []
        return pq.ParquetWriter(
            self._sink,
            file_format.schema,
            compression="none" if file_format.codec == "uncompressed" else file_format.codec,
            compression_level=file_format.codec_level if file_format.codec == "zstd" else None,
            use_dictionary=repeating or False,
            store_schema=False,
        )

    def abort(self) -> None:
        """Remove the file, whose space a rollback on a full disk may need; its marker stays for when that fails."""
        if self._writer is not None:
            self._writer.is_open = False  # else it writes a footer when Python collects it
        with suppress(OSError, StorageError):
            self._sink.close()
            self._storage.delete(self._path)


def repeating_columns(batch: pa.RecordBatch) -> list[str]:
    """Flat columns whose values repeat often enough, in a sample, that a dictionary pays.

    Parquet's Java writer decides likewise, by its first page.
    """
    sample = batch.slice(0, _SAMPLE_ROWS)
    return [
        field.name
        for field in sample.schema
        if not pa.types.is_nested(field.type)
        and not pa.types.is_boolean(field.type)
        and pc.count_distinct(sample.column(field.name)).as_py() <= sample.num_rows * _REPEATING
    ]


def _widen(known: tuple[str, str] | None, keys: pa.Array) -> tuple[str, str]:
    lowest, highest = java_min_max(keys)
    if known is None:
        return lowest, highest
    return min(known[0], lowest, key=java_order), max(known[1], highest, key=java_order)


def java_min_max(keys: pa.Array) -> tuple[str, str]:
    """Smallest and greatest key in the order of Java's String.compareTo."""
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    if data.size and int(data.max()) >= _FIRST_BYTE_OF_FOUR:
        values = keys.to_pylist()
        return min(values, key=java_order), max(values, key=java_order)
    found = pc.min_max(keys).as_py()
    return found["min"], found["max"]


def java_order(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


@dataclass(frozen=True, slots=True)
class FooterIndex:
    """What a footer says of the keys in its file; each None where the writer left it out."""

    key_range: tuple[str, str] | None
    bloom: BloomFilter | None


def footer_index(file: pq.ParquetFile) -> FooterIndex:
    """Key range and bloom filter of an open base file.

    :raises CorruptTableError: they are no text, or no filter.
    """
    try:
        raw = {
            key.decode(): value.decode()
            for key, value in (file.metadata.metadata or {}).items()
            if b"hoodie" in key or b"hudi" in key
        }
    except UnicodeDecodeError as error:
        raise CorruptTableError(f"the footer of a base file is no text ({error})") from error
    text = raw.get(BLOOM_FOOTER) or raw.get(LEGACY_BLOOM_FOOTER)
    bloom = BloomFilter.from_base64(text, raw.get(BLOOM_TYPE_FOOTER, "SIMPLE")) if text else None
    bounds = (raw[MIN_KEY_FOOTER], raw[MAX_KEY_FOOTER]) if MIN_KEY_FOOTER in raw and MAX_KEY_FOOTER in raw else None
    return FooterIndex(bounds, bloom)


def open_base_file(storage: Storage, path: str, dictionary_columns: Sequence[str] = ()) -> pq.ParquetFile:
    """Open a base file; the named string columns are read dictionary-encoded.

    :raises CorruptTableError: it is no Parquet file, or was cut off.
    """
    try:
        return pq.ParquetFile(storage.open_input(path), read_dictionary=list(dictionary_columns), pre_buffer=False)
    except (pa.ArrowException, OSError) as error:
        raise CorruptTableError(
            f"base file {path} is not readable ({_first_line(error)})",
            todo="restore it from a copy, or roll its commit back with Hudi",
            path=path,
        ) from error


def read_batches(
    file: pq.ParquetFile,
    columns: Sequence[str] | None = None,
    rows: int = ROWS_PER_BATCH,
    *,
    name: str = "(name unknown)",
) -> Iterator[pa.RecordBatch]:
    """The rows in file order, at most ``rows`` at once; columns the file lacks are left out; ``name`` is
    the file's, for messages.

    :raises CorruptTableError: a page that can't be read.
    """
    present = None
    if columns is not None:
        names = set(file.schema_arrow.names)
        present = [name for name in columns if name in names]
    batches = file.iter_batches(batch_size=rows, columns=present, use_threads=False)
    while True:
        try:
            batch = next(batches, None)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptTableError(f"base file {name} is damaged ({_first_line(error)})") from error
        if batch is None:
            return
        yield batch


def column_chunks(file: pq.ParquetFile, columns: Collection[str], name: str) -> Iterator[pq.ColumnChunkMetaData]:
    """The metadata of the chunks of some columns, row group by row group; columns that the file lacks are left out.

    A row of each chunk is read before: asked for the metadata of a damaged one Arrow ends the process, and only in
    reading it raises.

    :raises CorruptTableError: a chunk that can't be read.
    """
    metadata = file.metadata
    paths = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    places = [place for place, path in enumerate(paths) if path in columns]
    for number in range(metadata.num_row_groups if places else 0):
        try:
            next(file.iter_batches(1, [number], [paths[place] for place in places], use_threads=False), None)
        except (pa.ArrowException, OSError) as error:
            raise CorruptTableError(f"base file {name} is damaged ({_first_line(error)})") from error
        group = metadata.row_group(number)
        for place in places:
            yield group.column(place)


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
