"""Why a clustering has nothing to do, with numbers; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.core.config.keys.clustering import CLUSTER_SINGLE_GROUP
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.clustering.partitions import PartitionFilter
from spark_jobs.services.clustering.plan import ClusteringLimits
from spark_jobs.services.due import what_blocks


def why_no_group(
    slices: Sequence[FileSlice],
    busy: Mapping[tuple[str, str], str],
    kinds: Mapping[str, str],
    limits: ClusteringLimits,
    partitions: PartitionFilter,
) -> str:
    """
    :param slices: the latest of the table, of which a plan made no group.
    :param busy: by (partition, file id) the instant that has it; ``kinds`` tell what these are.
    """
    names = {one.partition for one in slices}
    chosen = set(partitions.apply(names))
    if names and not chosen:
        return f"none of {len(names)} partition(s) is chosen by {partitions.text()}"
    looked_at = [one for one in slices if one.partition in chosen]
    among = f" in the partitions of {partitions.text()}" if partitions.text() else ""
    small = [one for one in looked_at if (one.base_file.size if one.base_file else 0) < limits.small_file_limit]
    free = [one for one in small if (one.partition, one.file_id) not in busy]
    if free:
        return (
            f"{len(free)} of {len(looked_at)} file slices are below {limits.small_file_limit} bytes and free{among}, "
            f"each alone in its partition, and groups of one are not made ({CLUSTER_SINGLE_GROUP.name}=false)"
        )
    blocked = what_blocks(looked_at, busy, kinds)
    return f"none of {len(looked_at)} file slices is below {limits.small_file_limit} bytes and free{among}" + (
        f": {blocked}" if blocked else ""
    )
