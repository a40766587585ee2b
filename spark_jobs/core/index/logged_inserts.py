"""Slices whose logs hold keys that no base file has.

The writers of this release, and Hudi's with the indexes that look at base files alone, put new keys into base files.
Hudi's other indexes (buckets, in memory, in Flink's state) send them to logs too; a writer that looked at base files
alone after them would store such a key a second time. So it would after a compaction was executed whose base files lack
a key that an earlier log deleted, and that was written again, as an update, while the compaction was pending.
"""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.core.clock import Clock
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.order import earliest, precedes
from spark_jobs.core.index.buckets import bucket_of
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.view.file_slice import FileSlice


def slices_with_logged_inserts(
    slices: Mapping[int, FileSlice], timeline: ActiveTimeline, clock: Clock
) -> dict[int, FileSlice]:
    """Those of the slices whose logs have to be looked into for keys.

    They have logs and no base file, or an id of a bucket, or a delta commit says that it inserted into their logs, or
    that it wrote them before there was a base file, or that of a log is archived and can't say.
    """
    logged = {number: one for number, one in slices.items() if one.log_files}
    sure = {
        number: one for number, one in logged.items() if one.base_file is None or bucket_of(one.file_id) is not None
    }
    left = {number: one for number, one in logged.items() if number not in sure}
    if not left:
        return sure
    listed, inserted = _appended(timeline, clock, earliest(one.base_instant for one in left.values()))
    unbroken_from = timeline.unbroken_from
    for number, one in left.items():
        is_old = precedes(one.base_instant, unbroken_from) and any(
            log.relative_path not in listed for log in one.log_files
        )
        if is_old or (one.partition, one.file_id) in inserted:
            sure[number] = one
    return sure


def _appended(timeline: ActiveTimeline, clock: Clock, since: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The log files that delta commits from an instant on wrote, and (partition, file id) of the logs that they may
    have put keys into that no base file has.
    """
    stats = [
        stat
        for instant in timeline.completed_commits()
        if instant.action is Action.DELTA_COMMIT and instant.is_from(since)
        for stat in timeline.commit_metadata(instant, clock).write_stats
        if stat.is_log_append
    ]
    inserted = {(stat.partition_path, stat.file_id) for stat in stats if stat.num_inserts > 0 or not stat.base_file}
    return {stat.path or "" for stat in stats}, inserted
