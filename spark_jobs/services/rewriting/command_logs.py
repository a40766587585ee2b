"""Logs that hold nothing but commands of rollbacks: they come to a slice when a dead write is rolled back, and change
nothing of its rows, since the blocks of a dead write count before that as little as after.
"""

from __future__ import annotations

from collections.abc import Iterable

from spark_jobs.core.errors import CorruptTableError, StorageError
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.file_names import UNKNOWN_WRITE_TOKEN
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.file_slice import FileSlice, LogFile


def command_logs(storage: Storage, base_path: str, slices: Iterable[FileSlice]) -> frozenset[str]:
    """Relative paths. Looked into are logs with the write token of rollbacks alone, Hudi's and ours."""
    logs = (log for one in slices for log in one.log_files if log.name.write_token == UNKNOWN_WRITE_TOKEN)
    return frozenset(log.relative_path for log in logs if log.size and _has_commands_alone(storage, base_path, log))


def _has_commands_alone(storage: Storage, base_path: str, log: LogFile) -> bool:
    try:
        with storage.open_input(resolve(base_path, log.relative_path)) as file:
            kinds = {block.type for block in read_blocks(file)}
    except (CorruptTableError, StorageError):
        return False  # whoever reads its rows will say what is wrong with it
    return kinds == {BlockType.COMMAND_BLOCK}
