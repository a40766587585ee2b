"""What the tests of the table format share: a clock turned by hand, a storage that dies on purpose, small tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa

from spark_jobs.core.clock import SYSTEM_CLOCK, Repetition
from spark_jobs.core.files.base_file_writer import BaseFileFormat, BloomSettings
from spark_jobs.core.files.log_writer import schema_text
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import next_instant_time
from spark_jobs.core.format.v6.file_names import BaseFileName, LogFileName
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.merge.payload import OVERWRITE, Payload
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import LocalStorage, Storage
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request, transition
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import BaseFile, FileSlice, LogFile
from tests.support.folder import Where, lake_of
from tests.support.through import Through

ROWS = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("value", pa.string())])
AVRO = avro_schema_of(ROWS, "t")
AVRO_WITH_META = with_meta_fields(AVRO)
SCHEMA = arrow_schema_of(AVRO_WITH_META)
KEYED = pa.schema([(RECORD_KEY, pa.string()), (PARTITION_PATH, pa.string()), *ROWS])


@dataclass
class HandClock:
    """A clock that moves only when it is slept on or turned; its ids count up."""

    moment: datetime = field(default_factory=lambda: datetime(2024, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC))
    passed: float = 0.0
    ids: int = 0
    on_sleep: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.moment + timedelta(seconds=self.passed)

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.passed += seconds
        self.on_sleep()

    def new_uuid(self) -> str:
        self.ids += 1
        return str(UUID(int=self.ids))

    def every(self, seconds: float, work: Callable[[], bool], name: str) -> Repetition:
        """By the system's clock: what waits for its turn is not what turns the hand."""
        return SYSTEM_CLOCK.every(seconds, work, name)


class Died(BaseException):
    """Stands for the death of the process at a storage call; nothing of the code under test catches it."""


class MortalStorage(Through):
    """Another storage (local disks) until the process "dies" at one changing call, before it takes effect; afterwards
    all such calls fail.
    """

    def __init__(self, dies_at: int, inner: Storage | None = None) -> None:
        super().__init__(inner or LocalStorage())
        self.left = dies_at

    def _change(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Died

    def create(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._change()
        self.inner.create(path, data, durable=durable)

    def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
        self._change()
        self.inner.replace(path, data, durable=durable)

    def replace_if(self, path: str, data: bytes, etag: str) -> None:
        self._change()
        self.inner.replace_if(path, data, etag)

    def delete(self, path: str) -> bool:
        self._change()
        return self.inner.delete(path)

    def delete_if(self, path: str, etag: str) -> bool:
        self._change()
        return self.inner.delete_if(path, etag)

    def delete_tree(self, path: str) -> None:
        self._change()
        self.inner.delete_tree(path)


def new_table(path: Where | str, *, merge_on_read: bool = True, clock: Any = None, **options: Any) -> HudiTable:
    return HudiTable.create(
        str(path),
        name="t",
        table_type="MERGE_ON_READ" if merge_on_read else "COPY_ON_WRITE",
        record_key_fields=["id"],
        partition_fields=["p"],
        precombine_field="ts",
        lake=replace(lake_of(path), clock=clock or HandClock()),
        **options,
    )


def context_of(table: HudiTable, instant: str, payload: Payload = OVERWRITE, **changes: Any) -> WriteContext:
    values: dict[str, Any] = {
        "storage": table.storage,
        "base_path": table.base_path,
        "format": table.config.format,
        "instant": instant,
        "file_format": BaseFileFormat(
            schema=SCHEMA,
            avro_schema=schema_text(AVRO_WITH_META),
            codec="zstd",
            codec_level=3,
            dictionary=True,
            bloom=BloomSettings(kind="DYNAMIC_V0", entries=1000, fpp=1e-6, max_entries=10_000),
        ),
        "payload": payload,
        "ordering_field": "ts",
        "max_file_size": 1 << 30,
    }
    return WriteContext(**{**values, **changes})


def scope(task: int = 0) -> TaskScope:
    return TaskScope(task=task, write_token=f"{task}-1-1")


def rows(*records: tuple[str, int, str], partition: str = "a") -> pa.Table:
    """Rows (id, ts, value) with key and partition path, as a write has them before it stamps them."""
    ids, stamps, values = (list(column) for column in zip(*records, strict=True)) if records else ([], [], [])
    return pa.table(
        {RECORD_KEY: ids, PARTITION_PATH: [partition] * len(ids), "id": ids, "ts": stamps, "value": values},
        schema=KEYED,
    )


def next_time(table: HudiTable) -> str:
    """A time for a new instant."""
    table = table.refreshed()
    return next_instant_time(SYSTEM_CLOCK.now(), table.config.timezone, table.timeline.last_time)


def start(table: HudiTable, time: str, action: Action = Action.DELTA_COMMIT, plan: bytes = b"") -> Instant:
    """An instant of the table, moved on to inflight."""
    line = table.refreshed().timeline
    return transition(line, request(line, time, action, plan), State.INFLIGHT, b"")


def complete(
    table: HudiTable,
    inflight: Instant,
    stats: Sequence[WriteStat],
    operation: OperationType = OperationType.UPSERT,
    replaced: Mapping[str, tuple[str, ...]] | None = None,
) -> Instant:
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=operation,
        extra_metadata={SCHEMA_KEY: schema_text(AVRO)},
        replaced_file_ids=replaced,
    )
    return transition(table.refreshed().timeline, inflight, State.COMPLETED, metadata.payload())


def contents(table: HudiTable, **query: Any) -> list[tuple[str, int, str]]:
    """(id, ts, value) of every row, sorted."""
    found = table.refreshed().scan(columns=("id", "ts", "value"), **query).to_arrow().to_pylist()
    return sorted((row["id"], row["ts"], row["value"]) for row in found)


def base_file(file_id: str, instant: str, size: int, partition: str = "a") -> BaseFile:
    return BaseFile(partition, BaseFileName(file_id, "0-1-1", instant), size)


def log_file(file_id: str, instant: str, version: int, size: int, partition: str = "a") -> LogFile:
    return LogFile(partition, LogFileName(file_id, instant, version, "0-1-1"), size)


def file_slice(file_id: str, instant: str, base: int | None, *logs: int, partition: str = "a") -> FileSlice:
    """A slice by the bytes of its files; ``base`` None: only logs."""
    return FileSlice(
        partition=partition,
        file_id=file_id,
        base_instant=instant,
        base_file=None if base is None else base_file(file_id, instant, base, partition),
        log_files=tuple(log_file(file_id, instant, n, size, partition) for n, size in enumerate(logs, 1)),
    )
