"""Small tables written in this process: what Spark does in a write (tagging, packing) is a look at all keys."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.base_file_writer import BaseFileFormat, BloomSettings
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.handles.append import append_target
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.avro import with_meta_fields as avro_with_meta_fields
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY, with_meta_fields
from spark_jobs.core.storage import Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import IDEMPOTENCY_KEY, SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.plans.rewriting import requested_overwrite
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.core.transaction.transaction import begin
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.engine.progress import Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.clean import CleanOptions
from spark_jobs.options.service import ClusteringOptions, CompactionOptions
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.rewriting.context import slice_reader
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes, undo
from spark_jobs.services.run_generation import ATTEMPT_KEY
from spark_jobs.write.inserted_keys import InsertedKeys
from spark_jobs.write.once import is_free, settle
from spark_jobs.write.overwrite import replaced_groups
from spark_jobs.write.routes import AppendRoute, CreateRoute, MergeRoute, Route
from spark_jobs.write.tasks import BUCKET, RecordRules, write_buckets
from tests.support.folder import Where, as_folder, lake_of
from tests.support.jobs import job_context

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.string()), ("ts", pa.int64())])
BLOOM = BloomSettings(kind="DYNAMIC_V0", entries=100, fpp=0.001, max_entries=1000)
AT_ONCE = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.clustering.async.max.commits": "1",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.write.lock.wait_time_ms": "10000",
}
PARTITIONS = ("a", "b")


def batch(first: int, count: int, value: str, ts: int) -> pa.Table:
    """Records ``first`` to ``first + count``, spread over the partitions."""
    ids = range(first, first + count)
    return pa.table(
        {"id": ids, "p": [PARTITIONS[one % 2] for one in ids], "v": [value] * count, "ts": [ts] * count}, schema=SCHEMA
    )


def create(path: Where, table_type: str) -> HudiTable:
    return HudiTable.create(
        str(path),
        name="t",
        table_type=table_type,
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=lake_of(path),
    )


def write(path: Where, rows: pa.Table, key: str, attempt: str = "") -> str:
    """Upsert rows whose keys are all new or all known; the instant that did it.

    :param attempt: the try of a task that it says of itself.
    """
    return _write(path, rows, key, OperationType.UPSERT, attempt=attempt)


def delete(path: Where, rows: pa.Table, key: str) -> str:
    """Remove the keys of these rows, all of them known."""
    return _write(path, rows, key, OperationType.DELETE)


def overwrite(path: Where, rows: pa.Table, partitions: Sequence[str], key: str) -> str:
    """Put rows in the place of all that the partitions have, which without rows is a delete_partition.

    :raises WriteConflictError: a pending plan has one of their file groups, as :func:`replaced_groups` says.
    """
    operation = OperationType.INSERT_OVERWRITE if rows.num_rows else OperationType.DELETE_PARTITION
    return _write(path, rows, key, operation, partitions)


def _write(
    path: Where,
    rows: pa.Table,
    key: str,
    operation: OperationType,
    partitions: Sequence[str] = (),
    attempt: str = "",
) -> str:
    table = HudiTable.open(str(path), lake=lake_of(path))
    settings = table.transaction_settings(AT_ONCE)
    done = settle(settings, key, print)
    if done is not None:
        return done[0].timestamp
    roll_back_failed_writes(settings)
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    plan = b""
    if partitions:
        action, plan = Action.REPLACE_COMMIT, requested_overwrite()
    transaction = begin(
        settings, action, idempotency_key=key, plan=plan, allowed=lambda line: is_free(settings, line, key)
    )
    assert transaction is not None
    try:
        context = _context(table, transaction.time)
        keyed = _keyed(rows)
        table = table.refreshed()
        placed_by = table.timeline
        replaced = replaced_groups(table, Operation(operation.value.lower()), partitions) if partitions else None
        routed, routes = _route(table, keyed, all_new=bool(partitions))
        transaction.to_inflight()
        token = int(SYSTEM_CLOCK.new_uuid()[:7], 16)
        rules = RecordRules(combine=True, all_deleted=operation is OperationType.DELETE)
        batches = iter(routed.sort_by(BUCKET).combine_chunks().to_batches())
        stats = list(write_buckets(batches, context, TaskScope(0, f"0-0-{token}"), routes, rules))
        metadata = CommitMetadata(
            write_stats=tuple(stats),
            operation_type=operation,
            extra_metadata={
                SCHEMA_KEY: json.dumps(avro_schema_of(SCHEMA, "t")),
                IDEMPOTENCY_KEY: key,
                **({ATTEMPT_KEY: attempt} if attempt else {}),
            },
            replaced_file_ids=replaced,
        )
        touched = {(one.partition_path, one.file_id) for one in stats if one.prev_commit != "null"}
        touched |= {(partition, file_id) for partition, ids in (replaced or {}).items() for file_id in ids}
        keys = InsertedKeys(
            table=table,
            instant=transaction.time,
            stats=stats if operation is OperationType.UPSERT else (),
            placed_by=placed_by,
            reader_of=lambda now: slice_reader(now, context),
            is_global=False,
        )
        return keys.publish(
            lambda check: transaction.publish(
                metadata.encode(), frozenset(touched), written=written_paths(stats), check=check
            )
        ).timestamp
    except BaseException:
        transaction.abandon()
        undo(settings, transaction.time, print)
        raise


def begin_and_leave(path: Where, rows: pa.Table) -> None:
    """A write that put its files down and never publishes; its process is expected to die now."""
    table = HudiTable.open(str(path), lake=lake_of(path))
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    transaction = begin(table.transaction_settings(AT_ONCE), action)
    assert transaction is not None
    routed, routes = _route(table.refreshed(), _keyed(rows))
    transaction.to_inflight()
    rules = RecordRules(combine=True, all_deleted=False)
    batches = iter(routed.sort_by(BUCKET).combine_chunks().to_batches())
    for _ in write_buckets(batches, _context(table, transaction.time), TaskScope(0, "0-0-77"), routes, rules):
        continue


def compact(path: Where) -> None:
    run_compaction(
        CompactionOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path))
    )


def cluster(path: Where) -> None:
    run_clustering(
        ClusteringOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path))
    )


def clean(path: Where) -> None:
    run_cleaning(CleanOptions(base_path=str(path), hoodie_conf=AT_ONCE), job_context(_progress(), lake=lake_of(path)))


def roll_back(path: Where) -> None:
    roll_back_failed_writes(HudiTable.open(str(path), lake=lake_of(path)).transaction_settings(AT_ONCE))


def rows_of(path: Where) -> list[tuple[object, ...]]:
    """The rows of a snapshot query with their meta fields but the file name, sorted."""
    return rows_in(HudiTable.open(str(path), lake=lake_of(path)))


def rows_in(table: HudiTable) -> list[tuple[object, ...]]:
    """:func:`rows_of` an open table."""
    found = table.scan().to_arrow()
    names = [RECORD_KEY, PARTITION_PATH, *SCHEMA.names]
    return sorted(zip(*(found.column(name).to_pylist() for name in names), strict=True))


def expected_rows(*batches: pa.Table) -> list[tuple[object, ...]]:
    """What a table holds after upserts in that order."""
    newest = {row["id"]: row for one in batches for row in one.to_pylist()}
    return sorted((str(row["id"]), row["p"], *row.values()) for row in newest.values())


def problems_of(path: Where) -> list[str]:
    """What a table must not have when nothing is under way (invariants 5, 7 and 12)."""
    folder = as_folder(path)
    table = folder.table(lists_storage=True)
    archived = table.archived_timeline().states
    completed = {one.timestamp for one in (*table.timeline.completed_commits(), *archived) if one.is_completed}
    found = [f"{one} is pending" for one in table.timeline.instants if not one.is_completed]
    for file in folder.walk():
        relative = str(file.relative_to(folder))
        base, log = table.config.format.parse_base_file(file.name), table.config.format.parse_log_file(file.name)
        if relative.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/")) or relative == ".hoodie/lock":
            found.append(f"{relative} was left")
        elif folder.storage.is_unpublished(file.name):
            found.append(f"{relative} was never published")
        elif base is not None and base.instant not in completed and ".hoodie/" not in relative:
            found.append(f"{relative} belongs to no completed instant")
        elif log is not None and ".hoodie/" not in relative:
            found += [
                f"{relative} {what}"
                for what in _problems_of_log(table.config.format, folder.storage, file.url, completed)
            ]
    for one in table.file_slices():
        found += [f"{name} is named by a live slice and missing" for name in one.paths if not (folder / name).is_file()]
    return found


def _problems_of_log(format: TableFormat, storage: Storage, path: str, completed: set[str]) -> list[str]:
    with storage.open_input(path) as file:
        instants = [block.instant for block in read_blocks(file) if not block.is_rollback and not block.is_corrupt]
    folder, name = path.rsplit("/", 1)
    mine = format.parse_log_file(name)
    assert mine is not None
    cancelled = set()
    for status in storage.list(folder):
        other = format.parse_log_file(status.name)
        if other and (other.file_id, other.instant) == (mine.file_id, mine.instant):
            with storage.open_input(status.path) as file:
                cancelled |= {block.target_instant for block in read_blocks(file) if block.is_rollback}
    return [f"has a block of {one}" for one in instants if one not in completed and one not in cancelled]


def _progress() -> Progress:
    return Progress("test")


def _context(table: HudiTable, instant: str) -> WriteContext:
    return WriteContext(
        storage=table.storage,
        base_path=table.base_path,
        format=table.config.format,
        instant=instant,
        file_format=BaseFileFormat(
            schema=with_meta_fields(SCHEMA),
            avro_schema=json.dumps(avro_with_meta_fields(avro_schema_of(SCHEMA, "t"))),
            codec="zstd",
            codec_level=1,
            dictionary=True,
            bloom=BLOOM,
        ),
        payload=OVERWRITE,
        ordering_field="ts",
        max_file_size=1 << 30,
        skeletons=table.bootstrap_reader(),
    )


def _keyed(rows: pa.Table) -> pa.Table:
    return rows.append_column(RECORD_KEY, pc.cast(rows["id"], pa.string())).append_column(PARTITION_PATH, rows["p"])


def _route(table: HudiTable, keyed: pa.Table, *, all_new: bool = False) -> tuple[pa.Table, Mapping[int, Route]]:
    """Every record to the slice of its key, or to a new file group of its partition; with ``all_new`` to that alone."""
    view = table.view()
    stored = table.scan().to_arrow() if view.latest_slices() and not all_new else None
    group_of = {}
    if stored is not None:
        file_ids = [_file_id(table.config.format, name) for name in stored["_hoodie_file_name"].to_pylist()]
        keys = zip(stored[PARTITION_PATH].to_pylist(), stored[RECORD_KEY].to_pylist(), strict=True)
        group_of = dict(zip(keys, file_ids, strict=True))
    slices = {(one.partition, one.file_id): one for one in view.latest_slices()}
    numbers: dict[tuple[str, str], int] = {}
    routes: dict[int, Route] = {}
    buckets = []
    for key in zip(keyed[PARTITION_PATH].to_pylist(), keyed[RECORD_KEY].to_pylist(), strict=True):
        place = (key[0], group_of.get(key, ""))
        if place not in numbers:
            numbers[place] = len(numbers)
            routes[numbers[place]] = _route_to(table, view, slices.get(place), key[0])
        buckets.append(numbers[place])
    return keyed.append_column(BUCKET, pa.array(buckets, pa.int32())), routes


def _file_id(format: TableFormat, name: str) -> str:
    """Rows of logs name their file group in place of a file."""
    base = format.parse_base_file(name)
    return name if base is None else base.file_id


def _route_to(table: HudiTable, view: FileSystemView, one: FileSlice | None, partition: str) -> Route:
    if one is None:
        return CreateRoute(partition, SYSTEM_CLOCK.new_uuid())
    if table.config.is_merge_on_read:
        return AppendRoute(append_target(view, one, table.pending.compaction.get((one.partition, one.file_id))))
    assert one.base_file is not None
    return MergeRoute(one.base_file)
