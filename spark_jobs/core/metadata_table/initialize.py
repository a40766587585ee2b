"""Making a metadata table from a listing (Hudi: HoodieBackedTableMetadataWriter.initializeFromFilesystem)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeVar

import pyarrow as pa

from spark_jobs.core.clock import Clock
from spark_jobs.core.config import table_keys as keys
from spark_jobs.core.config.table_config import TableConfig, create_table_config, read_table_config, update_table_config
from spark_jobs.core.files.delete_records import encode_delete_records
from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.files.log_block import BlockType, HeaderKey, encode_block
from spark_jobs.core.files.names import BaseFileName, LogFileName, parse_base_file_name, parse_log_file_name
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.metadata_table.base_file import base_file_path, cells_of, encode_base_file
from spark_jobs.core.metadata_table.changes import changes_of_listing
from spark_jobs.core.metadata_table.codec import Codec
from spark_jobs.core.metadata_table.commit import delta_commit_metadata
from spark_jobs.core.metadata_table.encoding import encoded
from spark_jobs.core.metadata_table.layout import MetadataPartition, group_indexes, metadata_path
from spark_jobs.core.metadata_table.records import FILES
from spark_jobs.core.metadata_table.table import FIRST_INITIALIZATION, SOLO_PREFIX
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.active import ActiveTimeline, request, transition
from spark_jobs.core.timeline.commit_metadata import OperationType
from spark_jobs.core.timeline.instant import Action, State
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.core.view.visibility import Visibility

R = TypeVar("R")

_FIRST_LOG_TOKEN = "0-0-0"
_BASE_TOKEN = "0-0-0"
_NONE: pa.Array[Any] = pa.array([], pa.string())


def is_quiet(timeline: ActiveTimeline, own: str) -> bool:
    """Whether nothing but ``own`` is under way on the data table, so that a listing can't miss what is to be added."""
    return all(one.is_completed or one.timestamp == own or one.action is Action.INDEXING for one in timeline.instants)


def initialize(storage: Storage, base_path: str, config: TableConfig, timeline: ActiveTimeline, clock: Clock) -> None:
    """Make the table and its partition ``files`` from what the storage lists, then name it in the table's properties.

    Until the last step nobody trusts the directory: a crash before it leaves nothing but work to do again. The caller
    holds the table lock, and nothing else is under way (:func:`is_quiet`).

    :param timeline: of the data table; its last completed instant is the moment that the new table shows.
    """
    folder = metadata_path(base_path)
    storage.delete_tree(folder)
    create_table_config(storage, folder, _properties(config), clock)
    changes = changes_of_listing(committed_files(storage, base_path, timeline, _last(timeline)))
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
    own = _own_timeline(storage, base_path)
    build_partition(storage, base_path, own, _free_time(own, _last(timeline)), partition, cells_of_group, groups=groups)
    list_partitions(storage, base_path, clock, {partition.path})


def build_partition(
    storage: Storage,
    base_path: str,
    own: ActiveTimeline,
    time: str,
    partition: MetadataPartition,
    cells_of_group: Callable[[int, str], Cells],
    *,
    groups: int = 1,
) -> None:
    """The same, not listed yet.

    :param own: the timeline of the metadata table; ``time`` is the instant of the delta commit there.
    """
    folder = metadata_path(base_path)
    storage.delete_tree(f"{folder}/{partition.path}")
    inflight = transition(own, request(own, time, Action.DELTA_COMMIT), State.INFLIGHT, b"")
    ensure_partition_metafile(storage, folder, partition.path, time)

    def encode(group: int) -> tuple[int, bytes]:
        cells = cells_of_group(group, str(BaseFileName(partition.file_id(group), _BASE_TOKEN, time, ".hfile")))
        return len(cells.keys), encode_base_file(cells) if len(cells.keys) else b""

    stats = []
    for group, (count, data) in encoded(range(groups), encode):
        file_id = partition.file_id(group)
        # Hudi makes every file group by a log with a delete block of nothing
        log = f"{partition.path}/{LogFileName(file_id, time, 1, _FIRST_LOG_TOKEN)}"
        storage.create(f"{folder}/{log}", _empty_delete_block(time))
        if not count:
            continue
        name = BaseFileName(file_id, _BASE_TOKEN, time, ".hfile")
        storage.create(base_file_path(folder, partition, name), data)
        stats.append(
            WriteStat(
                file_id=file_id,
                path=f"{partition.path}/{name}",
                partition_path=partition.path,
                num_writes=count,
                num_inserts=count,
                total_write_bytes=len(data),
                file_size_in_bytes=len(data),
            )
        )
    transition(own, inflight, State.COMPLETED, delta_commit_metadata(tuple(stats), OperationType.BULK_INSERT))


def list_partitions(storage: Storage, base_path: str, clock: Clock, finished: AbstractSet[str]) -> None:
    """Name partitions in ``hoodie.properties`` as finished; from now on readers trust them."""
    config = read_table_config(storage, base_path, clock)
    building = set(keys.METADATA_PARTITIONS_INFLIGHT.of(config.properties)) - finished
    changed = {
        keys.METADATA_PARTITIONS.name: ",".join(sorted({*config.metadata_partitions, *finished})),
        keys.METADATA_PARTITIONS_INFLIGHT.name: ",".join(sorted(building)),
    }
    update_table_config(storage, base_path, changed, clock)


def records_by_group(records: Mapping[str, R], codec: Codec[R], groups: int) -> Callable[[int, str], Cells]:
    """The cells of each file group's base file, from records by key."""
    ordered = list(records)
    shares: dict[int, dict[str, R]] = {}
    for key, number in zip(ordered, group_indexes(ordered, groups).tolist(), strict=True):
        shares.setdefault(number, {})[key] = records[key]
    return lambda group, name: cells_of(shares.get(group, {}), codec, name)


def _own_timeline(storage: Storage, base_path: str) -> ActiveTimeline:
    folder = metadata_path(base_path)
    return ActiveTimeline.load(storage, f"{folder}/.hoodie", f"{folder}/.hoodie/archived")


def _last(timeline: ActiveTimeline) -> str:
    return max((one.timestamp for one in timeline.instants if one.is_completed), default=SOLO_PREFIX)


def _free_time(own: ActiveTimeline, last: str) -> str:
    """The first of the instants by which partitions are made that is not taken."""
    taken = {one.timestamp for one in own.instants}
    number = FIRST_INITIALIZATION
    while f"{last}{number:03d}" in taken:
        number += 1
    return f"{last}{number:03d}"


def committed_files(
    storage: Storage, base_path: str, timeline: ActiveTimeline, until: str
) -> dict[str, dict[str, int]]:
    """Bytes by file name, by partition: all data files up to an instant (inclusive), base files of completed ones only.

    Log files are told by their base instant; blocks in them that don't count are the scan's to skip.
    """
    visibility = Visibility.of(timeline, until)
    listing = StorageListing(storage, base_path)
    found: dict[str, dict[str, int]] = {partition: {} for partition in listing.partitions()}
    for partition, status in listing.files(found):
        base, log = parse_base_file_name(status.name), parse_log_file_name(status.name)
        is_seen = visibility.sees(base.instant) if base else log is not None and log.base_instant <= until
        if is_seen and status.size > 0:
            found[partition][status.name] = status.size
    return found


def _properties(config: TableConfig) -> Mapping[str, str]:
    return {
        keys.NAME.name: f"{config.name}_metadata",
        keys.TYPE.name: keys.TableType.MERGE_ON_READ.value,
        keys.VERSION.name: "6",
        keys.LAYOUT_VERSION.name: "1",
        keys.RECORD_KEY_FIELDS.name: "key",
        keys.BASE_FILE_FORMAT.name: keys.BaseFileFormat.HFILE.value,
        keys.ARCHIVE_FOLDER.name: "archived",
        keys.POPULATE_META_FIELDS.name: "false",
        keys.KEY_GENERATOR_CLASS.name: "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator",
        keys.PAYLOAD_CLASS.name: "org.apache.hudi.metadata.HoodieMetadataPayload",
        keys.MERGER_STRATEGY.name: keys.DEFAULT_MERGER_STRATEGY,
        keys.DROP_PARTITION_COLUMNS.name: "false",
    }


def _empty_delete_block(time: str) -> bytes:
    return encode_block(BlockType.DELETE_BLOCK, {HeaderKey.INSTANT_TIME: time}, encode_delete_records(_NONE, "", None))
