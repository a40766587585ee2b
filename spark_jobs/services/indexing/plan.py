"""Which indexes an indexing action makes, and from which instant on (Hudi: ScheduleIndexActionExecutor)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.metadata_layout import MetadataLayout, MetadataPartition
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.indexing import RequestedIndexing
from spark_jobs.frame.nothing import Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """``base_instant``: the last completed write before the first pending one."""

    partitions: tuple[MetadataPartition, ...]
    base_instant: str

    def requested(self, layout: MetadataLayout, up_to: str = "") -> RequestedIndexing:
        """As it stands on the timeline.

        :param layout: by which the partitions are named.
        :param up_to: the instant that the indexes are up to, where it is another one by now.
        """
        paths = tuple(map(layout.path, self.partitions))
        return RequestedIndexing(partitions=paths, up_to=up_to or self.base_instant)

    @staticmethod
    def of(requested: RequestedIndexing, layout: MetadataLayout, where: str) -> IndexPlan:
        """
        :raises CorruptTableError: it names no partition, or one that there is not.
        """
        known = layout.by_path
        paths = requested.partitions
        if not paths or any(path not in known for path in paths):
            raise CorruptTableError(f"{where} plans the indexes {', '.join(paths) or 'of nothing'}", where=where)
        return IndexPlan(partitions=tuple(known[path] for path in paths), base_instant=requested.up_to)

    def to_json(self) -> dict[str, Any]:
        """For a person."""
        return {"indexes": [one.name for one in self.partitions], "base_instant": self.base_instant}


def plan_indexing(
    asked: Iterable[MetadataPartition], config: TableConfig, timeline: ActiveTimeline, planned: frozenset[str]
) -> IndexPlan | Nothing:
    """A plan for those that are not there yet, or why there is none.

    :param planned: the paths of partitions that pending plans hold.
    """
    path_of, finished = config.format.metadata.path, set(config.metadata_partitions)
    busy = planned | set(table_keys.METADATA_PARTITIONS_INFLIGHT.of(config.properties))
    wanted = tuple(one for one in asked if path_of(one) not in finished | busy)
    if not wanted:
        states = [f"{one.name} is {'finished' if path_of(one) in finished else 'being made'}" for one in asked]
        return Nothing(f"nothing is left to index: {', '.join(states)}")
    pending = timeline.pending_writes()
    writes = timeline.completed_commits()
    contiguous = [one.timestamp for one in writes if not pending or one.precedes(pending[0].timestamp)]
    if not contiguous:
        return Nothing(
            f"no write is completed before the first pending one ({len(pending)} pending, {len(writes)} completed)"
        )
    return IndexPlan(partitions=wanted, base_instant=contiguous[-1])
