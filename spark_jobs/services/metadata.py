"""Upkeep of the metadata table after a commit: its compaction, its cleaning, its archive.

It is a MERGE_ON_READ table of its own, so the plans are those of the services; what is its own is how its records
merge, and its instants, which are the newest delta commit's with a suffix. Hudi:
HoodieBackedTableMetadataWriter.performTableServices.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from spark_jobs.core.config.keys import clean as clean_keys
from spark_jobs.core.config.keys import metadata as metadata_keys
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.format.instant import WRITES, Action, Instant, State
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import earliest
from spark_jobs.core.lake import Lake
from spark_jobs.core.metadata_table.base_file import base_file_path, cells_of, encode_base_file
from spark_jobs.core.metadata_table.codecs import CODECS
from spark_jobs.core.metadata_table.commit import delta_commit_metadata
from spark_jobs.core.metadata_table.record_index import base_file_cells
from spark_jobs.core.metadata_table.record_locations import shard_of
from spark_jobs.core.metadata_table.scan import read_slice
from spark_jobs.core.metadata_table.table import MetadataTable
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.archive_plan import ArchiveLimits, instants_to_archive
from spark_jobs.core.timeline.archive_writer import archive
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.plans.rewriting import RequestedCompaction
from spark_jobs.core.timeline.steps import complete, request, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.progress import Progress
from spark_jobs.services.cleaning.candidates import plan_clean
from spark_jobs.services.cleaning.execute import carry_out_clean
from spark_jobs.services.compaction.plan import CompactionLimits, CompactionPlan, plan_compaction
from spark_jobs.services.due import delta_commits_since_compaction

_WRITE_TOKEN = "0-0-1"
_ALL_LOGS = CompactionLimits(target_io=1 << 40, log_size=0, max_file_size=10 << 30)
_MIN_RETAINED = 20
_KEPT_AT_LEAST, _KEPT_AT_MOST = 21, 31
"""Commits on its active timeline: one more than Hudi's defaults keep on the data table's."""


def maintain_metadata_table(
    settings: TransactionSettings, properties: Mapping[str, str], notify: Callable[[str], None]
) -> None:
    """Compact the metadata table when enough delta commits piled up, then clean it; the caller holds no lock.

    The commit before it stands already: what fails here is reported, and left to the next one.
    """
    if not metadata_keys.METADATA_ENABLED.of(properties):
        return
    try:
        if not _is_due(settings, properties):
            return
        with settings.new_lock() as locked:
            table = _open(locked)
            if table is not None:
                _compact(table, properties)
                _clean(settings.lake, table.reloaded(), properties)
                _archive(table.reloaded())
    except HudiError as error:
        notify(f"the metadata table was not compacted ({error}); the next commit tries again")


def _open(settings: TransactionSettings) -> MetadataTable | None:
    config = read_table_config(settings.storage, settings.base_path, settings.clock)
    if not config.lists(MetadataPartition.FILES):
        return None
    return MetadataTable.open(settings.storage, settings.base_path, settings.load_timeline(), settings.clock)


def _is_due(settings: TransactionSettings, properties: Mapping[str, str]) -> bool:
    table = _open(settings)
    return table is not None and (bool(table.pending_compactions) or _latest_due(table, properties) is not None)


def _latest_due(table: MetadataTable, properties: Mapping[str, str]) -> str | None:
    """The newest delta commit where a compaction up to it is due and may be; None where not.

    It may not while something is pending on the data table that is older: its delta commit could still be taken back.
    """
    waiting = delta_commits_since_compaction(table.timeline)
    if len(waiting) < metadata_keys.METADATA_COMPACT_AFTER.of(properties):
        return None
    newest = waiting[-1].timestamp
    pending = any(not one.is_completed and not one.follows(newest) for one in table.data_timeline.instants)
    return None if pending else newest


def _compact(table: MetadataTable, properties: Mapping[str, str]) -> None:
    for pending in table.timeline.pending({Action.COMPACTION}):
        on_timeline = RequestedCompaction.read(table.timeline, pending, table.clock)
        planned = CompactionPlan.of(on_timeline, {}, table.config.format)
        _execute(table, pending, replace(planned, slices=tuple(table.checked(planned.slices))))
        table = table.reloaded()
    latest = _latest_due(table, properties)
    if latest is None or table.pending_compactions:
        return
    slices = [one for partition in _listed(table) for one in table.slices(partition) if _has_changes(table, one)]
    plan = plan_compaction(slices, frozenset(), _ALL_LOGS)
    time = table.timeline.format.metadata.own_time(latest, Action.COMPACTION)
    requested = request(table.timeline, time, Action.COMPACTION, plan.requested(_ALL_LOGS).payload())
    _execute(table.reloaded(), requested, plan)


def _execute(table: MetadataTable, compaction: Instant, plan: CompactionPlan) -> None:
    """Merge the slices of a plan, ours or Hudi's; what an earlier attempt made goes first."""
    if compaction.state is State.REQUESTED:
        compaction = transition(table.timeline, compaction, State.INFLIGHT)
    stats = []
    listed = {table.path_of(partition): partition for partition in _listed(table)}
    for one in plan.slices:
        if one.partition in listed:  # else of a partition that was taken off since
            _remove_attempts(table, one, compaction.timestamp)
            stats.append(_rewrite(table, listed[one.partition], one, compaction.timestamp))
    data = delta_commit_metadata(tuple(stats), OperationType.COMPACT, compacted=True)
    complete(table.timeline, compaction, data, table.clock)


def _remove_attempts(table: MetadataTable, one: FileSlice, instant: str) -> None:
    for status in table.storage.list(resolve(table.folder, RelativePath(one.partition))):
        made = table.config.format.parse_base_file(status.name)
        if made is not None and (made.file_id, made.instant) == (one.file_id, instant):
            table.storage.delete(status.path)


def _listed(table: MetadataTable) -> list[MetadataPartition]:
    """The partitions that the data table lists."""
    config = read_table_config(table.storage, table.base_path, table.clock)
    return [partition for partition in table.partitions if config.lists(partition)]


def _has_changes(table: MetadataTable, one: FileSlice) -> bool:
    """Whether there is more in its logs than the delete block of nothing by which every group began."""
    return not table.is_making(one.base_instant) or any(log.name.version > 1 for log in one.log_files)


def _rewrite(table: MetadataTable, partition: MetadataPartition, one: FileSlice, instant: str) -> WriteStat:
    name = table.config.format.base_file(one.file_id, _WRITE_TOKEN, instant, ".hfile")
    cells = _merged_cells(table, partition, one, str(name))
    data = encode_base_file(cells)
    table.storage.create(base_file_path(table.folder, one.partition, name), data)
    return WriteStat(
        file_id=one.file_id,
        path=join(one.partition, str(name)),
        partition_path=one.partition,
        prev_commit=one.base_instant,
        num_writes=len(cells.keys),
        num_update_writes=len(cells.keys),
        total_log_files_compacted=len(one.log_files),
        total_log_size_compacted=one.log_size,
        total_write_bytes=len(data),
        file_size_in_bytes=len(data),
    )


def _merged_cells(table: MetadataTable, partition: MetadataPartition, one: FileSlice, file_name: str) -> Cells:
    if partition is MetadataPartition.RECORD_INDEX:
        return base_file_cells(shard_of(table, one).read_all(), file_name)
    codec = CODECS[partition]
    return cells_of(read_slice(table, one, codec), codec, file_name)


def _clean(lake: Lake, table: MetadataTable, properties: Mapping[str, str]) -> None:
    """Remove slices that compactions left behind, as the table's own cleaning would, but no fewer than 20 commits."""
    own = HudiTable(lake, table.folder, table.storage, table.folder, table.config, lists_storage=True)
    retained = max(_MIN_RETAINED, int(clean_keys.CLEAN_COMMITS_RETAINED.of(properties) * 1.2))
    limits = {clean_keys.CLEAN_COMMITS_RETAINED.name: str(retained), metadata_keys.METADATA_ENABLED.name: "false"}
    settings = own.transaction_settings(limits)
    for pending in own.timeline.pending({Action.CLEAN}):
        carry_out_clean(settings, own, pending, Progress("metadata"))
        return
    plan = plan_clean(own, limits)
    deltas = own.timeline.completed(Action.DELTA_COMMIT)
    if plan.files and deltas:
        requested = plan.requested().payload(own.base_path)
        time = own.timeline.format.metadata.own_time(deltas[-1].timestamp, Action.CLEAN)
        carry_out_clean(settings, own, request(own.timeline, time, Action.CLEAN, requested), Progress("metadata"))


def _archive(table: MetadataTable) -> None:
    """Move old instants to its archive: none since the first write or pending instant of the data table's active
    timeline, none not yet compacted. Old cleans and rollbacks, which are archived by counts of their own, hold nothing
    (TimelineUtils.getEarliestInstantForMetadataArchival).
    """
    compactions = table.timeline.completed(Action.COMMIT)
    data = [one.timestamp for one in table.data_timeline.instants if one.action in WRITES or not one.is_completed]
    if not compactions or not data:
        return
    limits = ArchiveLimits(
        keep_min=_KEPT_AT_LEAST, keep_max=_KEPT_AT_MOST, all_before=(earliest(data), compactions[-1].timestamp)
    )
    archive(table.timeline, table.folder, instants_to_archive(table.timeline.instants, limits))
