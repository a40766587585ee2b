"""Record keys of data files, read for the record index: columns of base files, blocks of log files, whole slices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.base_file import open_base_file, read_batches
from spark_jobs.core.files.delete_records import DeleteRecords, decode_delete_records
from spark_jobs.core.files.log_block import BlockType, LogBlock, parse_blocks
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice

KEY_KIND = pa.large_binary()
NO_KEYS: pa.Array[Any] = pa.array([], KEY_KIND)
_KEYS_ALONE = pa.schema([(RECORD_KEY, pa.string())])


class MergedKeys(Protocol):
    """Reads the keys of the rows that a slice with logs has, its logs merged."""

    def __call__(self, timeline: ActiveTimeline, file_slice: FileSlice, also: str | None) -> Iterator[pa.Array[Any]]:
        """:param also: an instant that counts although it is not completed yet."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySource:
    """Reads keys as ``large_binary``, those of each file in one array; ``timeline`` is that of the data table."""

    storage: Storage
    base_path: str
    timeline: ActiveTimeline
    merged: MergedKeys

    def of_base(self, relative_path: RelativePath) -> pa.Array[Any]:
        """
        :raises CorruptTableError: the file is damaged, or has no key column.
        """
        file = open_base_file(self.storage, resolve(self.base_path, relative_path))
        if RECORD_KEY not in file.schema_arrow.names:
            raise CorruptTableError(f"base file {relative_path} has no column {RECORD_KEY}", path=relative_path)
        try:
            batches = read_batches(file, [RECORD_KEY], name=relative_path)
            return _together(batch.column(0) for batch in batches)
        finally:
            file.close(force=True)

    def of_slice(self, file_slice: FileSlice, *, also: str | None = None) -> pa.Array[Any]:
        """The keys of the rows that a query finds there."""
        if not file_slice.log_files and file_slice.base_file is not None:
            return self.of_base(file_slice.base_file.relative_path)
        return _together(self.merged(self.timeline, file_slice, also))

    def written_to_log(self, relative_path: RelativePath) -> pa.Array[Any]:
        """The keys in the data blocks of a log file."""

        def rows(block: LogBlock) -> Iterator[pa.Array[Any]]:
            yield from read_rows(block, _KEYS_ALONE).column(0).chunks

        return self._of_blocks(relative_path, lambda kind: kind is not BlockType.DELETE_BLOCK, rows)

    def deleted_by_log(self, relative_path: RelativePath) -> tuple[pa.Array[Any], bool]:
        """The keys in the delete blocks of a log file, and whether each delete wins whatever stands before it: it does
        without an ordering value (Hudi: DeleteRecord, the int 0).
        """
        is_final = True

        def keys(block: LogBlock) -> Iterator[pa.Array[Any]]:
            nonlocal is_final
            for part in decode_delete_records(block.read_content()):
                is_final = is_final and _is_natural(part)
                yield part.keys

        return self._of_blocks(relative_path, lambda kind: kind is BlockType.DELETE_BLOCK, keys), is_final

    def _of_blocks(
        self,
        relative_path: RelativePath,
        counts: Callable[[BlockType], bool],
        read: Callable[[LogBlock], Iterator[pa.Array[Any]]],
    ) -> pa.Array[Any]:
        with self.storage.open_input(resolve(self.base_path, relative_path)) as file:
            blocks = [block for block in parse_blocks(file) if not block.is_corrupt and counts(block.type)]
            if any(block.type is BlockType.COMMAND_BLOCK for block in blocks):
                raise UnsupportedTableError(f"{relative_path} was written by a rollback, not by a commit")
            return _together(one for block in blocks for one in read(block))


def distinct(keys: pa.Array[Any], but: pa.Array[Any]) -> pa.Array[Any]:
    """The keys that ``but`` has not."""
    return keys.filter(pc.invert(pc.is_in(keys, value_set=but))) if len(but) else keys


def _is_natural(part: DeleteRecords) -> bool:
    if pa.types.is_null(part.orderings.type):
        return True
    return bool(part.orderings.type == pa.int32() and not pc.any(pc.not_equal(part.orderings, 0)).as_py())


def _together(parts: Iterator[Any]) -> pa.Array[Any]:
    return pa.concat_arrays([NO_KEYS, *(part.cast(KEY_KIND) for part in parts)])
