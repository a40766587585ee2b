"""New file groups: records in, base files out (Hudi: HoodieCreateHandle)."""

from __future__ import annotations

import pyarrow as pa

from spark_jobs.core.files.base_file_writer import BaseFileWriter
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.handles.context import TaskScope, WriteContext, slices, stamp
from spark_jobs.core.keygen.virtual import without_keys
from spark_jobs.core.schema.meta_fields import FILE_NAME
from spark_jobs.core.storage import join
from spark_jobs.core.timeline.write_stat import WriteStat


class CreateHandle:
    """Writes records of one partition; a file that is full is closed and the next one gets the next file id.

    :param file_id_prefix: a UUID; file ids are ``<prefix>-<n>`` from ``first`` on.
    :param whole_id: the prefix is the whole file id of the one file, whatever its size (a compaction, which has to keep
        an id that may be of any form).
    :param keep_meta: the rows carry meta columns that stay as they are, but for the file name (clustering).
    """

    def __init__(
        self,
        context: WriteContext,
        scope: TaskScope,
        partition: str,
        file_id_prefix: str,
        *,
        first: int = 0,
        whole_id: bool = False,
        keep_meta: bool = False,
    ) -> None:
        self._context = context
        self._scope = scope
        self._partition = partition
        self._prefix = file_id_prefix
        self._next = first
        self._whole_id = whole_id
        self._keep_meta = keep_meta
        self._writer: BaseFileWriter | None = None
        self._name = context.format.base_file("", "", "")
        self._stats: list[WriteStat] = []

    @property
    def next_suffix(self) -> int:
        """The first file-id suffix that this handle left unused."""
        return self._next

    def write(self, rows: pa.Table) -> None:
        """Append records (with their key column)."""
        if rows.num_rows == 0:
            return
        writer = self._writer or self._open()
        for part in slices(rows):
            for batch in self._stamped(part).combine_chunks().to_batches():
                writer.write(without_keys(batch, self._context.virtual_keys))
        if not self._whole_id and writer.is_of_size(self._context.max_file_size):
            self._finish()

    @property
    def held_bytes(self) -> int:
        """Of the records that wait in memory for their row group."""
        return self._writer.held_bytes if self._writer is not None else 0

    def flush(self) -> None:
        """Write them."""
        if self._writer is not None:
            self._writer.flush()

    def close(self) -> list[WriteStat]:
        """Finish the open file; a write stat for each file written."""
        if self._writer is not None:
            self._finish()
        return self._stats

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _stamped(self, rows: pa.Table) -> pa.Table:
        if not self._keep_meta:
            return stamp(rows, self._context, self._scope, self._partition, str(self._name))
        index = rows.schema.get_field_index(FILE_NAME)
        return rows.set_column(index, FILE_NAME, pa.repeat(pa.scalar(str(self._name)), rows.num_rows))

    def _open(self) -> BaseFileWriter:
        file_id = self._prefix if self._whole_id else f"{self._prefix}-{self._next}"
        self._name = self._context.format.base_file(file_id, self._scope.write_token, self._context.instant)
        self._next += 1
        path = self._context.prepare(self._partition, str(self._name), MarkerType.CREATE)
        self._writer = BaseFileWriter(self._context.storage, path, self._context.file_format)
        try:
            self._context.opened(self._partition, str(self._name), MarkerType.CREATE)
        except BaseException:
            self.abort()
            raise
        return self._writer

    def _finish(self) -> None:
        assert self._writer is not None
        size = self._writer.close()
        self._context.closed(self._partition, str(self._name), MarkerType.CREATE)
        self._context.sync(self._partition, str(self._name), MarkerType.CREATE)
        self._stats.append(
            WriteStat(
                file_id=self._name.file_id,
                path=join(self._partition, str(self._name)),
                partition_path=self._partition,
                num_writes=self._writer.rows,
                num_inserts=self._writer.rows,
                total_write_bytes=size,
                file_size_in_bytes=size,
            )
        )
        self._writer = None
