"""Parquet base files written: rows with their meta columns in, a file with Hudi's footer out."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import StorageError
from spark_jobs.core.files.base_file import (
    AVRO_SCHEMA_FOOTER,
    BLOOM_FOOTER,
    BLOOM_TYPE_FOOTER,
    MAX_KEY_FOOTER,
    MIN_KEY_FOOTER,
    FooterIndex,
)
from spark_jobs.core.files.bloom import SIMPLE, BloomFilter
from spark_jobs.core.files.key_range import widened
from spark_jobs.core.files.repeating import repeating_columns
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.failure import one_line

ROW_GROUP_BYTES = 32 << 20
"""Of values in memory."""
ROW_GROUP_ROWS = 1 << 20


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
    ``codec_level`` is for zstd, ``row_group_bytes`` are those of a row group's values in memory.
    """

    schema: pa.Schema
    avro_schema: str
    codec: str
    codec_level: int | None
    dictionary: bool
    bloom: BloomSettings | None
    row_group_bytes: int = ROW_GROUP_BYTES


class BaseFileWriter:
    """Writes one base file (Hudi: HoodieAvroParquetWriter), and holds the rows of its next row group.

    ``seed`` starts the key range and the bloom filter from those of an older version of the file group, so that a merge
    adds its new keys alone; both may then be wider than the rows, which their readers allow.
    """

    def __init__(
        self, storage: Storage, path: str, file_format: BaseFileFormat, seed: FooterIndex | None = None
    ) -> None:
        self._format = file_format
        self._range = seed.key_range if seed and file_format.bloom else None
        self._seed = seed
        self._bloom: BloomFilter | None = None
        if file_format.bloom and (seed is None or seed.bloom_text is None):
            self._bloom = file_format.bloom.new_filter()
        self._storage = storage
        self._path = path
        self._sink = storage.open_output(path)
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self.held_bytes = 0
        self._flushed_bytes = 0
        self.rows = 0

    def write(self, batch: pa.RecordBatch, new_keys: pa.Array | None = None) -> None:
        """Append rows in the schema of the file.

        :param new_keys: the record keys to index; all keys of ``batch`` without it.
        """
        if batch.num_rows == 0:
            return
        keys = batch.column(RECORD_KEY) if new_keys is None else new_keys
        if self._format.bloom is not None and len(keys):
            self._range = widened(self._range, keys)
            self._bloom = self._bloom or (self._seed.bloom if self._seed else None)
            if self._bloom is not None:
                self._bloom.add(keys)
        self._held.append(_alone(batch))
        self._held_rows += batch.num_rows
        self.held_bytes += batch.nbytes
        self.rows += batch.num_rows
        if self.held_bytes >= self._format.row_group_bytes or self._held_rows >= ROW_GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are held as a row group."""
        if not self._held:
            return
        table = pa.Table.from_batches(self._held)
        self._held = []
        writer = self._writer = self._writer or self._open(table)
        with one_line(self._path, "written"):
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._flushed_bytes += self.held_bytes
        self._held_rows = self.held_bytes = 0

    def is_of_size(self, size: int) -> bool:
        """Whether the file has at least this many bytes; rows that might bring it there are written to find out."""
        done = int(self._sink.tell())
        held = self.held_bytes * done // self._flushed_bytes if self._flushed_bytes else self.held_bytes
        if self._held and done + held >= size:
            self.flush()
        return int(self._sink.tell()) >= size

    def close(self) -> int:
        """Write the footer; the file's size in bytes. A loss of power may take it still."""
        self.flush()
        metadata = {AVRO_SCHEMA_FOOTER: self._format.avro_schema, "writer.model.name": "avro"}
        text, kind = self._filter()
        if text is not None:
            metadata[BLOOM_FOOTER] = text
            if kind != SIMPLE:
                metadata[BLOOM_TYPE_FOOTER] = kind
        if self._range is not None:
            metadata[MIN_KEY_FOOTER], metadata[MAX_KEY_FOOTER] = self._range
        writer = self._writer = self._writer or self._open(None)
        writer.add_key_value_metadata(metadata)
        with one_line(self._path, "written"):
            writer.close()
            size = int(self._sink.tell())
            self._sink.close()
        return size

    def _filter(self) -> tuple[str | None, str]:
        """The text of the bloom filter, and its kind."""
        if self._format.bloom is None:
            return None, SIMPLE
        if self._bloom is not None:
            return self._bloom.to_base64(), self._bloom.kind
        return (self._seed.bloom_text, self._seed.bloom_kind) if self._seed else (None, SIMPLE)

    def _open(self, first: pa.Table | None) -> pq.ParquetWriter:
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
        self._held = []
        if self._writer is not None:
            self._writer.is_open = False  # else it writes a footer when Python collects it
        with suppress(OSError, StorageError):
            self._sink.close()
            self._storage.delete(self._path)


def _alone(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without the rest of what it is a small slice of, which would stay in memory with it."""
    return batch if batch.get_total_buffer_size() < 2 * batch.nbytes else pa.concat_batches([batch, batch.slice(0, 0)])
