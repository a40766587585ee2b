"""Logs that lie on the slice of an instant which makes none: no reader opens them, and no cleaning takes them.

Nor may they stay for ever: once the timeline begins after that instant, every reader takes the slice for an archived
one, and for the newest of its file group, whose base file is then hidden.
"""

from __future__ import annotations

from collections.abc import Callable

from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.instant import Instant
from spark_jobs.core.storage import FileStatus, join, resolve
from spark_jobs.core.transaction.late_files import instants_of_blocks
from spark_jobs.core.transaction.log_bases import slice_makers
from spark_jobs.core.transaction.transaction import TransactionSettings


def stray_logs(settings: TransactionSettings, target: Instant) -> Callable[[str, LogFileName], bool]:
    """Whether a log of a pending instant, by its partition and name, lies on no slice once the instant is undone, and
    has blocks of no other.

    What is on the timeline in any form may make slices, but for the target: a restore that was begun, say, may have a
    write pending for a while.
    """
    timeline = settings.load_timeline()
    makes_slices, known = slice_makers(timeline), {one.timestamp for one in timeline.instants}

    def is_stray(partition: str, log: LogFileName) -> bool:
        base = log.instant
        if base != target.timestamp and (base in known or makes_slices(base)):
            return False
        status = settings.storage.stat(resolve(settings.base_path, join(partition, str(log))))
        return status is None or {target.timestamp}.issuperset(block_instants(settings, status))

    return is_stray


def block_instants(settings: TransactionSettings, status: FileStatus) -> list[str]:
    """Of the blocks of a log file."""
    return instants_of_blocks(settings.storage, status)
