"""Tables as processes leave them that die."""

from __future__ import annotations

from spark_jobs.core.files.markers import create_marker
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.table import HudiTable


def forget_newest(table: HudiTable) -> None:
    """As if the newest write had died before it was completed: its files are there, and its markers."""
    timeline, base_path = table.timeline, table.base_path
    newest = timeline.completed_commits()[-1]
    for stat in timeline.commit_metadata(newest, table.clock).write_stats:
        name = stat.path.rpartition("/")[2]
        create_marker(table.storage, base_path, newest.timestamp, stat.partition_path, name, MarkerType.CREATE)
    table.storage.delete(timeline.path(newest))
