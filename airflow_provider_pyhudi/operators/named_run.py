"""The name of what a task does in a run of its DAG, and the record that says when the task has succeeded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import BaseOperator, Context

from spark_jobs.options import IngestOptions, JobOptions, JobResult, ServiceOptions

if TYPE_CHECKING:
    from spark_jobs.core.lake import Lake
    from spark_jobs.core.storage import Storage
    from spark_jobs.services.run_generation import RunRecord


def name_of_run(context: Context) -> str:
    """The same on every try of a task, and after it was cleared: its idempotency key without one of its own."""
    ti = context["ti"]
    return f"{ti.dag_id}/{ti.task_id}/{ti.run_id}/{ti.map_index}"


def named_by_task(operator: BaseOperator, context: Context) -> dict[str, Any]:
    """The options by which a job knows the run, and which try of it this is."""
    ti = context["ti"]
    attempt = f"{ti.try_number}/{ti.max_tries}/{operator.retries or 0}"
    return {"idempotency_key": name_of_run(context), "attempt": attempt}


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRun:
    """What a task does under its name, on the table at a base path; ``lake`` makes the one that reaches it."""

    base_path: str
    name: str
    lake: Callable[[], Lake]

    @staticmethod
    def of(
        options: JobOptions, lake: Callable[[], Lake], warn: Callable[[str], None]
    ) -> tuple[JobOptions, NamedRun | None]:
        """The run of a task that goes by its own name, if it does, and the options by which the job knows what its
        record says now. Where the worker can't keep one at the table, they say that.
        """
        if not isinstance(options, IngestOptions | ServiceOptions) or not options.attempt or options.dry_run:
            return options, None
        run = NamedRun(base_path=options.base_path, name=options.idempotency_key or "", lake=lake)
        from spark_jobs.core.errors import HudiError, StorageError

        try:
            record = run.record()
            if not run.can_be_recorded():
                raise StorageError(f"{options.base_path} can't be written")
        except HudiError as error:
            warn(f"this worker can't keep a record at the table ({error}): a cleared insert will ask for a new key")
            return dataclasses.replace(options, attempt=f"{options.attempt}/unrecorded"), None
        said = f"{options.attempt}/after={record.ended}" if record.is_whole else options.attempt
        return dataclasses.replace(options, attempt=said), run

    def record(self) -> RunRecord:
        """
        :raises StorageError: the table's storage can't be read.
        :raises OutsideTableError: a link in the table leads the record elsewhere.
        """
        from spark_jobs.services.run_generation import RunRecord

        return RunRecord.read(*self._place(), self.name)

    def can_be_recorded(self) -> bool:
        """Whether the record can be written, too; so it is taken of a table that is yet to be made.

        :raises HudiError: it can't, for a reason that the storage gives.
        """
        from spark_jobs.core.config.table_config import PROPERTIES
        from spark_jobs.core.format.folders import META_FOLDER
        from spark_jobs.services.run_generation import can_be_kept

        storage, path = self._place()
        return storage.stat(f"{path}/{META_FOLDER}/{PROPERTIES}") is None or can_be_kept(storage, path)

    def hand_back(self, operator: BaseOperator, result: JobResult) -> None:
        """The job is done, and the task is about to return: from here on Airflow alone knows what becomes of it. It
        calls back after it has kept the task's state, and each call leaves a record.

        :raises StorageError: the record can't be written.
        """
        generation = result.extra.get("generation")
        if not isinstance(generation, int) or result.instant is None:
            return  # nothing stands under the name
        self._keep(self.record().coming_back(generation))

        def succeeded(context: Context) -> None:
            if _is_success(context):  # the call comes also where Airflow refused the success, of a task it gave up
                self._keep(self.record().succeeded(generation), sweeps=True)

        def failed(context: Context) -> None:
            self._keep(self.record().failed(generation))

        operator.on_success_callback = [*_listed(operator.on_success_callback), succeeded]
        operator.on_retry_callback = [*_listed(operator.on_retry_callback), failed]
        operator.on_failure_callback = [*_listed(operator.on_failure_callback), failed]

    def _place(self) -> tuple[Storage, str]:
        """The storage of the table, which nothing in the table leads out of, and the base path there."""
        place = self.lake().place(self.base_path)
        return place.confined(), place.path

    def _keep(self, record: RunRecord, *, sweeps: bool = False) -> None:
        from spark_jobs.services.run_generation import sweep

        storage, path = self._place()
        record.write(storage, path, self.name)
        if sweeps:
            sweep(storage, path, self.name)


def _listed(callbacks: Any) -> list[Any]:
    if not callbacks:
        return []
    return list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]


def _is_success(context: Context) -> bool:
    """Whether Airflow itself has the task instance as a success."""
    ti: Any = context["ti"]
    states = ti.get_task_states(
        dag_id=ti.dag_id,
        task_ids=[ti.task_id],
        run_ids=[ti.run_id],
        map_index=ti.map_index if ti.map_index >= 0 else None,
    )
    name = f"{ti.task_id}_{ti.map_index}" if ti.map_index >= 0 else ti.task_id
    return str(states.get(ti.run_id, {}).get(name)) == "success"
