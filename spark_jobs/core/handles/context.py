"""What every handle of one write shares, and what is each task's own; values that pickle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import AlreadyExistsError, StorageError, WriteConflictError
from spark_jobs.core.files.base_file import ROWS_PER_BATCH
from spark_jobs.core.files.base_file_writer import BaseFileFormat
from spark_jobs.core.files.log_format import DEFAULT_LOG_FORMAT, LogFormat
from spark_jobs.core.files.marker_service import MarkerService
from spark_jobs.core.files.markers import create_marker, marker_path
from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.files.partition_metafile import ensure_partition_metafile
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.merge.payload import Payload
from spark_jobs.core.schema.conform import Origins
from spark_jobs.core.schema.evolution import SchemaEvolution
from spark_jobs.core.schema.meta_fields import COMMIT_SEQNO, COMMIT_TIME, FILE_NAME, PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import Storage, join, resolve
from spark_jobs.core.timeline.completion import Completion
from spark_jobs.core.view.file_slice import BaseFile


class SkeletonReader(Protocol):
    """Reads base files of a bootstrapped table whose rows are in other files. Pickles."""

    def has(self, base: BaseFile) -> bool:
        """Whether a base file is one of those."""
        ...

    def read(self, base: BaseFile, schema: pa.Schema, origins: Origins) -> Iterator[pa.RecordBatch]:
        """Its rows in ``schema``."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteContext:
    """Facts of one write; ``ordering_field`` is the precombine column or None.

    With ``virtual_keys`` record keys are computed from the columns, and not stored. ``evolution`` tells of a table with
    a schema history where the columns of older files are. ``skeletons`` reads old files of a bootstrapped table.
    ``marker_service`` is asked for markers where there is one; else they are direct.
    """

    storage: Storage
    base_path: str
    format: TableFormat
    instant: str
    file_format: BaseFileFormat
    payload: Payload
    ordering_field: str | None
    max_file_size: int
    virtual_keys: KeySpec | None = None
    evolution: SchemaEvolution | None = None
    skeletons: SkeletonReader | None = None
    log_format: LogFormat = DEFAULT_LOG_FORMAT
    marker_service: MarkerService | None = None
    completion: Completion | None = None
    """Of the instant: a task that finds it completed came too late."""

    passed: set[str] = field(default_factory=set, compare=False, repr=False)
    """Folders around partitions that were seen to be none."""

    unforced: list[Marker] | None = None
    """Of data files that are forced to the disk together; None: each as it is finished."""

    def path(self, partition: str, name: str) -> str:
        return resolve(self.base_path, join(partition, name))

    def prepare(self, partition: str, file_name: str, kind: MarkerType) -> str:
        """Partition metafile and marker, in this order, then the path at which the file may be made."""
        ensure_partition_metafile(self.storage, self.base_path, partition, self.instant, self.passed)
        if self.marker_service is not None:
            self.marker_service.create(Marker(partition, file_name, kind))
        else:
            create_marker(
                self.storage, self.base_path, self.instant, partition, file_name, kind, durable=False
            )  # until its file is forced
        return self.path(partition, file_name)

    def opened(self, partition: str, file_name: str, kind: MarkerType) -> None:
        """:meth:`require_marker` where a data file is there as soon as it is opened."""
        if not self.storage.capabilities.put_when_closed:
            self.require_marker(partition, file_name, kind)

    def closed(self, partition: str, file_name: str, kind: MarkerType) -> None:
        """:meth:`require_marker` where a data file is there once it is closed."""
        if self.storage.capabilities.put_when_closed:
            self.require_marker(partition, file_name, kind)

    def require_marker(self, partition: str, file_name: str, kind: MarkerType) -> None:
        """Asked right after the file was made: one whose direct marker is gone by then would never be found again, and
        one of an instant that is completed already would be seen, so the caller takes it away.

        :raises WriteConflictError: the write was published or rolled back while this task went on.
        """
        if self.marker_service is not None:
            return
        marker = marker_path(self.base_path, self.instant, Marker(partition, file_name, kind))
        if self._is_completed or self.storage.stat(marker) is None:
            raise self._ended(join(partition, file_name))

    def give_up_log(self, partition: str, file_name: str) -> None:
        """Of a log that :meth:`require_marker` did not let pass: a rollback that saw it may have taken its blocks back,
        and then it stays, as the metadata table lists it. So it gets its marker again, and whoever sweeps what late
        tasks left behind decides. Readers of a completed instant would count it: that one goes at once.
        """
        if self._is_completed:
            self.storage.delete(self.path(partition, file_name))
        elif self.marker_service is None:
            with suppress(AlreadyExistsError):
                create_marker(self.storage, self.base_path, self.instant, partition, file_name, MarkerType.APPEND)

    @property
    def _is_completed(self) -> bool:
        return self.completion is not None and self.completion.found(self.storage) is not None

    def sync(self, partition: str, file_name: str, kind: MarkerType) -> None:
        """Let a finished data file outlive a loss of power, and its marker, before its task reports it.

        :raises WriteConflictError: it is gone: the write was rolled back while this task went on.
        :raises StorageError: the disk refuses.
        """
        marker = Marker(partition, file_name, kind)
        if self.unforced is None:
            self.force([marker])
        else:
            self.unforced.append(marker)

    def force(self, markers: Sequence[Marker]) -> None:
        """:meth:`sync` of several."""
        paths = [resolve(self.base_path, one.data_path) for one in markers]
        is_direct = self.marker_service is None
        names = [marker_path(self.base_path, self.instant, one) for one in markers] if is_direct else []
        try:
            self.storage.sync(paths, names)
        except StorageError:
            gone = next((path for path in (*paths, *names) if self.storage.stat(path) is None), None)
            if gone is None:
                raise
            raise self._ended(gone.removeprefix(f"{self.base_path}/")) from None

    def _ended(self, file: str) -> WriteConflictError:
        return WriteConflictError(
            f"instant {self.instant} ended while a task of it still wrote {file}",
            todo="nothing of that file is visible",
            instant=self.instant,
        )


@contextmanager
def forced_together(context: WriteContext) -> Iterator[WriteContext]:
    """The context for a task that writes many data files: at the end all are forced to the disk, and each folder once.

    :raises WriteConflictError: see :meth:`WriteContext.sync`.
    :raises StorageError: the disk refuses.
    """
    markers: list[Marker] = []
    yield replace(context, unforced=markers)
    context.force(markers)


@dataclass(slots=True)
class TaskScope:
    """One attempt of one task: what makes its file names unique, and a counter for sequence numbers."""

    task: int
    write_token: str
    _rows: int = field(default=0)

    @classmethod
    def of_attempt(cls, task: int, clock: Clock) -> TaskScope:
        """For one attempt: with random digits in place of Spark's stage and attempt. Those are the same where another
        application carries out the same plan again, and an attempt of the first that is late would take the file of the
        second for its own.
        """
        return cls(task, f"{task}-0-{int(clock.new_uuid()[:7], 16)}")

    def sequence_numbers(self, instant: str, count: int) -> pa.Array:
        """``<instant>_<task>_<n>``, unique over all files of the task."""
        numbers = pc.cast(pa.array(np.arange(self._rows, self._rows + count)), pa.string())
        self._rows += count
        return pc.binary_join_element_wise(pa.scalar(f"{instant}_{self.task}"), numbers, "_")


def slices(rows: pa.Table) -> Iterator[pa.Table]:
    """The rows some at a time, for what is made of them to be small; nothing is copied."""
    return (rows.slice(first, ROWS_PER_BATCH) for first in range(0, rows.num_rows, ROWS_PER_BATCH))


def stamp(rows: pa.Table, context: WriteContext, scope: TaskScope, partition: str, file_name: str) -> pa.Table:
    """Records with their meta columns filled, in the schema of the file.

    :param rows: the record key column and the table's columns.
    """
    count = rows.num_rows
    meta = {
        COMMIT_TIME: pa.repeat(pa.scalar(context.instant), count),
        COMMIT_SEQNO: scope.sequence_numbers(context.instant, count),
        RECORD_KEY: rows.column(RECORD_KEY),
        PARTITION_PATH: pa.repeat(pa.scalar(partition), count),
        FILE_NAME: pa.repeat(pa.scalar(file_name), count),
    }
    schema = context.file_format.schema
    columns = [meta[name] if name in meta else rows.column(name) for name in schema.names]
    return pa.Table.from_arrays(columns, schema=schema)
