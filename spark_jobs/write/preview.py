"""A dry run: what a write would do, with the sizes of the files that it would fill up or begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from spark_jobs.core.config.keys import bulkinsert as bulkinsert_keys
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.context import write_context
from spark_jobs.write.overwrite import ReplacedGroups, replaced_groups
from spark_jobs.write.pack import InsertShare, SizeSettings, pack_inserts
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routing import pack
from spark_jobs.write.routing import sizes as sizes_of
from spark_jobs.write.stored_schema import StoredSchema
from spark_jobs.write.workload import OpenWrite, Workload


class PlannedRows(Protocol):
    """The rows of a write that is not done."""

    @property
    def stored(self) -> StoredSchema: ...

    def counts(self) -> Mapping[str, int]:
        """Rows by partition path."""
        ...

    def placed(self, write: OpenWrite) -> AbstractContextManager[Workload]:
        """The rows with their places, as the write would find them."""
        ...


def preview(
    config: WriteConfig,
    table: HudiTable | None,
    rows: PlannedRows,
    engine: Engine,
    progress: Progress,
    partitions: Sequence[str] = (),
) -> JobResult:
    """The plan of a write that is not done; the source is read, nothing is written.

    :param partitions: what a delete_partition takes off.
    """
    plan: dict[str, Any] = {
        "operation": config.operation.value,
        "creates_table": table is None,
        "columns": rows.stored.arrow_schema.names,
    }
    counts: Mapping[str, int] = {}
    if table is not None and config.operation is Operation.DELETE_PARTITION:
        plan["replaces"] = _shown_groups(replaced_groups(table, config.operation, partitions))
    else:
        counts = rows.counts()
        plan["records_by_partition"] = dict(sorted(counts.items()))
    if config.operation is Operation.BULK_INSERT:
        plan["sort_mode"] = bulkinsert_keys.SORT_MODE.of(config.properties).value
    elif table is None:
        plan["sizing"] = sizing(
            config.sizes,
            WorkloadProfile({}, counts, {}),
            {partition: pack_inserts(count, [], config.sizes) for partition, count in counts.items()},
            {},
        )
    elif config.operation is not Operation.DELETE_PARTITION:
        context = write_context(config, table, rows.stored, "")
        write = OpenWrite(engine=engine, config=config, table=table, context=context, progress=progress)
        with rows.placed(write) as work:
            plan |= _plan_of(write, work)
    return JobResult(
        action=config.action.value,
        state=JobState.DRY_RUN,
        base_path=config.options.base_path,
        table=config.name,
        records_in=sum(counts.values()),
        plan=plan,
    )


def _plan_of(write: OpenWrite, work: Workload) -> dict[str, Any]:
    found: dict[str, Any] = {"sizing": sizing(sizes_of(write), work.profile, pack(write, work), work.slices)}
    if work.replaced is not None:
        found["replaces"] = _shown_groups(work.replaced)
    if work.dropped:
        found["dropped_duplicates"] = work.dropped
    return found


def sizing(
    sizes: SizeSettings,
    profile: WorkloadProfile,
    shares: Mapping[str, Sequence[InsertShare]],
    slices: Mapping[int, FileSlice],
) -> dict[str, Any]:
    """For each partition the file groups that take updates, the small ones that are filled up, and the new ones; bytes
    after the write are estimates by the record size.

    :param slices: by bucket number, the key of the profile's updates.
    """
    size_of = {(one.partition, one.file_id): one.base_file.size for one in slices.values() if one.base_file}
    partitions: dict[str, Any] = {}
    for partition in sorted(profile.partitions()):
        filled, begun = [], []
        for share in shares.get(partition, ()):
            size = size_of.get((partition, share.file_id or ""), 0)
            after = size + share.records * sizes.record_size
            if share.file_id is None:
                begun.append({"records": share.records, "bytes": after})
            else:
                filled.append({"file_id": share.file_id, "bytes": size, "records": share.records, "bytes_after": after})
        partitions[partition] = {
            "updates": {
                slices[bucket].file_id: count
                for bucket, count in sorted(profile.updates.items())
                if profile.partition_of[bucket] == partition
            },
            "small_files": filled,
            "new_file_groups": begun,
        }
    return {
        "record_size": sizes.record_size,
        "max_file_size": sizes.max_file_size,
        "small_file_limit": sizes.small_file_limit,
        "partitions": partitions,
    }


def _shown_groups(replaced: ReplacedGroups) -> dict[str, list[str]]:
    return {partition: list(file_ids) for partition, file_ids in replaced.items()}
