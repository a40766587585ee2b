"""Parquet base files read: their footers, and their rows by batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.files.bloom import SIMPLE, BloomFilter
from spark_jobs.core.files.fixed_room import refuse_giants
from spark_jobs.core.storage import Storage

BLOOM_FOOTER = "org.apache.hudi.bloomfilter"
LEGACY_BLOOM_FOOTER = "com.uber.hoodie.bloomfilter"
BLOOM_TYPE_FOOTER = "hoodie_bloom_filter_type_code"
MIN_KEY_FOOTER = "hoodie_min_record_key"
MAX_KEY_FOOTER = "hoodie_max_record_key"
AVRO_SCHEMA_FOOTER = "parquet.avro.schema"

ROWS_PER_BATCH = 64 * 1024
LARGE_ROW_GROUP = 64 << 20
COLUMN_BUFFER = 2 << 20
"""Of each column of a large row group, which Arrow otherwise holds whole, as it is stored."""
INT96_UNIT = "us"
"""As in all other timestamps; in nanoseconds, Arrow's choice, those before 1677 and after 2262 would be others."""


@dataclass(frozen=True, slots=True)
class FileRole:
    """What a file is to its table, and what to do where it is damaged, for messages."""

    name: str
    todo: str


BASE_FILE = FileRole("base file", "restore it from a copy, or roll its commit back with Hudi")
SOURCE_FILE = FileRole("source file", "restore it from a copy")
"""Of a bootstrap: it belongs to no commit."""


@dataclass(frozen=True, slots=True)
class FooterIndex:
    """What a footer says of the keys in its file; None where the writer left it out.

    ``bloom_text`` is the filter as it stands there, of the type ``bloom_kind``.
    """

    key_range: tuple[str, str] | None
    bloom_text: str | None
    bloom_kind: str

    @property
    def bloom(self) -> BloomFilter | None:
        """The filter, read anew each time.

        :raises CorruptTableError: the text is no filter.
        """
        return None if self.bloom_text is None else BloomFilter.from_base64(self.bloom_text, self.bloom_kind)


def footer_index(file: pq.ParquetFile) -> FooterIndex:
    """Key range and bloom filter of an open base file.

    :raises CorruptTableError: they are no text.
    """
    try:
        raw = {
            key.decode(): value.decode()
            for key, value in (file.metadata.metadata or {}).items()
            if b"hoodie" in key or b"hudi" in key
        }
    except UnicodeDecodeError as error:
        raise CorruptTableError(f"the footer of a base file is no text ({error})") from error
    bounds = (raw[MIN_KEY_FOOTER], raw[MAX_KEY_FOOTER]) if MIN_KEY_FOOTER in raw and MAX_KEY_FOOTER in raw else None
    text = raw.get(BLOOM_FOOTER) or raw.get(LEGACY_BLOOM_FOOTER)
    return FooterIndex(bounds, text, raw.get(BLOOM_TYPE_FOOTER, SIMPLE))


def open_base_file(
    storage: Storage, path: str, *, whole: bool = False, role: FileRole = BASE_FILE, length: int = 0
) -> pq.ParquetFile:
    """
    :param whole: it will be read from end to end. It is not mapped into memory then, where each page that was read
        would count as this process's, and of large row groups a part is read at a time.
    :param length: its bytes by the write that made it, or by the listing; 0 where that is not known.
    :raises CorruptTableError: it is no Parquet file, was cut off, or is not of that length.
    :raises UnsupportedTableError: it has values of a giant size.
    """
    try:
        source = storage.open_input(path, may_change=whole)
        if length and source.size() != length:
            what = f"{role.name} {path} is damaged: it has {source.size()} bytes, and its write made it of {length}"
            raise CorruptTableError(what, todo=role.todo, path=path)
        opened = partial(pq.ParquetFile, source, pre_buffer=False, coerce_int96_timestamp_unit=INT96_UNIT)
        file = opened()
        if whole and _largest_row_group(file.metadata) > LARGE_ROW_GROUP:
            file = opened(metadata=file.metadata, buffer_size=COLUMN_BUFFER)
        refuse_giants(file.metadata, file.schema_arrow, source.size())
        return file
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # the last of a column's name
        raise CorruptTableError(
            f"{role.name} {path} is not readable ({_first_line(error)})",
            todo=role.todo,
            path=path,
        ) from error


def _largest_row_group(metadata: pq.FileMetaData) -> int:
    """Bytes of its columns, encoded and not compressed."""
    return max((metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups)), default=0)


def read_batches(
    file: pq.ParquetFile,
    columns: Sequence[str] | None = None,
    rows: int = ROWS_PER_BATCH,
    *,
    name: str = "(name unknown)",
    role: FileRole = BASE_FILE,
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
        except (pa.ArrowException, OSError) as error:
            raise CorruptTableError(f"{role.name} {name} is damaged ({_first_line(error)})", todo=role.todo) from error
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
