"""How many records go where, counted before anything is written (Hudi: WorkloadProfile), and its form in the inflight
file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.write.pack import InsertShare, NewGroup


@dataclass(frozen=True, slots=True)
class WorkloadProfile:
    """``updates`` by bucket number, ``inserts`` by partition path; ``partition_of`` the buckets with updates."""

    updates: Mapping[int, int]
    inserts: Mapping[str, int]
    partition_of: Mapping[int, str]

    def beginning(self, groups: Mapping[int, NewGroup]) -> WorkloadProfile:
        """With the records of file groups that the index begins, by bucket number, as the inserts that they are."""
        if not groups:
            return self
        inserts = Counter(self.inserts)
        for group in groups.values():
            inserts[group.partition] += group.records
        updates = {bucket: count for bucket, count in self.updates.items() if bucket not in groups}
        partition_of = {bucket: self.partition_of[bucket] for bucket in updates}
        return WorkloadProfile(updates, inserts, partition_of)

    def partitions(self) -> set[str]:
        return {*self.inserts, *self.partition_of.values()}


def workload_metadata(
    operation: str, slices: Mapping[int, FileSlice], profile: WorkloadProfile, shares: Mapping[str, list[InsertShare]]
) -> CommitMetadata:
    """The profile as Hudi keeps it in the inflight file: for each partition its inserts, then the groups it touches."""
    stats = []
    for partition in sorted(profile.partitions()):
        stats.append(
            WriteStat(file_id="", path=None, partition_path=partition, num_inserts=profile.inserts.get(partition, 0))
        )
        packed = {share.file_id: share.records for share in shares.get(partition, []) if share.file_id is not None}
        for bucket, one in slices.items():
            updates = profile.updates.get(bucket, 0)
            if one.partition == partition and (updates or one.file_id in packed):
                stats.append(
                    WriteStat(
                        file_id=one.file_id,
                        path=None,
                        partition_path=partition,
                        prev_commit=one.base_instant,
                        num_update_writes=updates,
                        num_inserts=packed.get(one.file_id, 0),
                    )
                )
    return CommitMetadata(write_stats=tuple(stats), operation_type=OperationType(operation.upper()))
