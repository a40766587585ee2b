"""Making a metadata table from a listing (Hudi: HoodieBackedTableMetadataWriter.initializeFromFilesystem)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import cache, partial
from typing import TypeVar

from spark_jobs.core.clock import Clock
from spark_jobs.core.config.keys import archive as archive_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import table as table_keys
from spark_jobs.core.config.table_config import TableConfig, create_table_config, read_table_config, update_table_config
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.log_extents import damaged
from spark_jobs.core.format.folders import ARCHIVE_NAME
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.order import is_up_to, latest
from spark_jobs.core.metadata_table.base_file import cells_of
from spark_jobs.core.metadata_table.changes import FileChanges, changes_of_listing
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.commit import delta_commit_metadata
from spark_jobs.core.metadata_table.layout import group_indexes, identifier_of, metadata_path
from spark_jobs.core.metadata_table.partition_files import write_partition
from spark_jobs.core.metadata_table.records import ALL_PARTITIONS, FILES
from spark_jobs.core.storage import FileStatus, Storage, join
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.steps import begin_at_once, complete
from spark_jobs.core.view.file_system_view import build_view
from spark_jobs.core.view.history import built_upon, written_by
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.core.view.written_files import (
    CommittedFiles,
    Parts,
    refuse_lost_groups,
    refuse_lost_partition,
    with_extents,
)

R = TypeVar("R")


def is_quiet(timeline: ActiveTimeline, own: str) -> bool:
    """Whether nothing but ``own`` is under way on the data table, so that a listing can't miss what is to be added."""
    return all(one.is_completed or one.timestamp == own or one.action is Action.INDEXING for one in timeline.instants)


def has_reserved_partition(storage: Storage, base_path: str) -> bool:
    """Whether the table has a partition whose files would stand under the key of the list of partitions: with it, no
    metadata table can say what the table holds. Folders below one of that name are other partitions.
    """
    return any(not one.is_directory for one in storage.list(f"{base_path}/{ALL_PARTITIONS}"))


def initialize(
    storage: Storage,
    base_path: str,
    config: TableConfig,
    timeline: ActiveTimeline,
    clock: Clock,
    to_come: FileChanges | None = None,
) -> None:
    """Make the table and its partition ``files`` from what the storage lists, then name it in the table's properties.

    Until the last step nobody trusts the directory: a crash before it leaves nothing but work to do again. The caller
    holds the table lock, and nothing else is under way (:func:`is_quiet`).

    :param timeline: of the data table; its last completed instant is the moment that the new table shows.
    :param to_come: what the next delta commit lists: log files of a write under way have the base instant of their
        slice, so the listing has them too. Listed twice, a file that is deleted later comes back in Hudi's reader,
        which takes an addition and a deletion in log blocks for nothing.
    :raises CorruptTableError: as :func:`committed_files`; nothing was changed.
    """
    folder = metadata_path(base_path)
    listed = committed_files(storage, base_path, timeline, clock, _last(timeline))
    storage.delete_tree(folder)
    create_table_config(storage, folder, _properties(config), clock)
    for partition, names in listed.items():
        for name in (to_come or {}).get(identifier_of(partition), {}):
            names.pop(name, None)
    changes = changes_of_listing(listed)
    files = records_by_group(changes, FILES, 1)
    add_partition(storage, base_path, timeline, clock, MetadataPartition.FILES, files)


def add_partition(
    storage: Storage,
    base_path: str,
    timeline: ActiveTimeline,
    clock: Clock,
    partition: MetadataPartition,
    cells_of_group: Callable[[int, str], Cells],
    *,
    groups: int = 1,
) -> None:
    """Make a partition of a metadata table from its records, in a delta commit of its own, then list it.

    :param cells_of_group: the cells of a file group's base file, by its number and the name of the file.
    :param groups: number of its file groups.
    """
    own = own_timeline(storage, base_path, timeline)
    time = free_time(own, timeline)
    inflight = begin_at_once(own, time, Action.DELTA_COMMIT)
    stats = write_partition(storage, base_path, own.format, time, partition, cells_of_group, groups)
    complete(own, inflight, delta_commit_metadata(tuple(stats), OperationType.BULK_INSERT), clock)
    list_partitions(storage, base_path, clock, {own.format.metadata.path(partition)})


def list_partitions(storage: Storage, base_path: str, clock: Clock, finished: AbstractSet[str]) -> None:
    """Name partitions in ``hoodie.properties`` as finished; from now on readers trust them."""
    config = read_table_config(storage, base_path, clock)
    building = set(table_keys.METADATA_PARTITIONS_INFLIGHT.of(config.properties)) - finished
    changed = {
        table_keys.METADATA_PARTITIONS.name: ",".join(sorted({*config.metadata_partitions, *finished})),
        table_keys.METADATA_PARTITIONS_INFLIGHT.name: ",".join(sorted(building)),
    }
    update_table_config(storage, base_path, changed, clock)


def records_by_group(records: Mapping[str, R], codec: Codec[R], groups: int) -> Callable[[int, str], Cells]:
    """The cells of each file group's base file, from records by key."""
    ordered = list(records)
    shares: dict[int, dict[str, R]] = {}
    for key, number in zip(ordered, group_indexes(ordered, groups).tolist(), strict=True):
        shares.setdefault(number, {})[key] = records[key]
    return lambda group, name: cells_of(shares.get(group, {}), codec, name)


def own_timeline(storage: Storage, base_path: str, timeline: ActiveTimeline) -> ActiveTimeline:
    """The timeline of the metadata table, which is of the version that its table is of.

    :param timeline: of the data table.
    """
    folder, format = metadata_path(base_path), timeline.format
    archive = format.archive_folder(folder, ARCHIVE_NAME)
    return ActiveTimeline.load(storage, format.timeline_folder(folder), archive, format=format, zone=timeline.zone)


def free_time(own: ActiveTimeline, timeline: ActiveTimeline) -> str:
    """The first of the instants by which partitions are made that is not taken on the metadata table.

    :param timeline: of the data table.
    """
    return own.format.metadata.time_of_making(_last(timeline), {one.timestamp for one in own.instants})


def _last(timeline: ActiveTimeline) -> str:
    return latest((one.timestamp for one in timeline.instants if one.is_completed), timeline.format.metadata.beginning)


def committed_files(
    storage: Storage, base_path: str, timeline: ActiveTimeline, clock: Clock, until: str
) -> dict[str, dict[str, int]]:
    """Bytes by file name, by partition: all data files up to an instant (inclusive), base files of completed ones only.

    Log files are recognised by their base instant; blocks in them that don't count are the scan's to skip.

    :raises CorruptTableError: a file that a completed write left is gone, or has not its length, which nobody would
        find any more: readers take what a metadata table lists for all that there is.
    """
    services, known = read_pending_services(timeline, clock), partial(written_by, timeline, clock)
    lost = partial(refuse_lost_partition, timeline.format, written_by=known, replaced=lambda: services.replaced)
    found: dict[str, dict[str, int]] = {}
    files: list[tuple[str, FileStatus]] = []
    for partition, statuses in StorageListing(storage, base_path, lost).all_files():
        found[partition] = {}
        files += ((partition, status) for status in statuses)
    built = cache(partial(built_upon, timeline, clock))
    view = build_view(
        timeline.format,
        files,
        Visibility.of(timeline, until),
        services,
        known,
        lambda partition, name, instant: instant in built(),
        partitions=None,
    )
    slices, written = view.latest_slices(), CommittedFiles(timeline, clock)
    refuse_lost_groups(slices, written, services.replaced, None, until, Parts.ALL)
    with_extents(slices, written, until=until, sizes_known=True)
    bases = {one.base_file.relative_path for group in view.groups for one in group.slices if one.base_file}
    for partition, status in files:
        base, log, path = (
            timeline.format.parse_base_file(status.name),
            timeline.format.parse_log_file(status.name),
            None,
        )
        if base is not None:
            path = join(partition, status.name)
            if path in bases and not status.size:
                raise damaged(path, base.instant, "it is empty", "base file")
        is_seen = path in bases if base else log is not None and is_up_to(log.instant, until)
        if is_seen and status.size > 0:
            found[partition][status.name] = status.size
    return found


def _properties(config: TableConfig) -> Mapping[str, str]:
    return {
        table_keys.NAME.name: f"{config.name}_metadata",
        table_keys.TYPE.name: table_keys.TableType.MERGE_ON_READ.value,
        table_keys.VERSION.name: str(config.format.version),
        table_keys.LAYOUT_VERSION.name: config.format.timeline_layout,
        table_keys.RECORD_KEY_FIELDS.name: "key",
        table_keys.BASE_FILE_FORMAT.name: table_keys.BaseFileFormat.HFILE.value,
        archive_keys.ARCHIVE_FOLDER.name: ARCHIVE_NAME,
        table_keys.POPULATE_META_FIELDS.name: "false",
        table_keys.KEY_GENERATOR_CLASS.name: "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator",
        compact_keys.PAYLOAD_CLASS.name: "org.apache.hudi.metadata.HoodieMetadataPayload",
        compact_keys.MERGER_STRATEGY.name: compact_keys.DEFAULT_MERGER_STRATEGY,
        datasource_keys.DROP_PARTITION_COLUMNS.name: "false",
    }
