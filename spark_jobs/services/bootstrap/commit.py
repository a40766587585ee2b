"""One commit of a bootstrap, from its request to its publication, and its end after an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from spark_jobs.core.config.keys import bootstrap as bootstrap_keys
from spark_jobs.core.config.keys import compact as compact_keys
from spark_jobs.core.config.keys import parquet as parquet_keys
from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.files.base_file_writer import BaseFileFormat
from spark_jobs.core.files.write_format import base_file_format, data_storage
from spark_jobs.core.format.instant import Action
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.merge.payload import payload_for_write
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.steps import request
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings, refuse_pending_restore, resume
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT
from spark_jobs.core.view.bootstrap_writer import IndexedFile, write_bootstrap_index
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.plan_hash import PLAN_HASH_KEY
from spark_jobs.services.bootstrap.leftovers import PAST, note_of_begun
from spark_jobs.services.bootstrap.plan import BootstrapPlan, pieces_of
from spark_jobs.services.bootstrap.settings import BootstrapSettings
from spark_jobs.services.bootstrap.work import CopyRows, Done, WriteSkeletons, schema_text, skeleton_format
from spark_jobs.services.rollback.failed_writes import undo
from spark_jobs.services.rollback.new_table import in_the_way, take_back_table


def planned_by(table: HudiTable, time: str) -> str | None:
    """The digest of the plan that a completed commit of a bootstrap came of; None of one that Hudi made."""
    for one in table.timeline.find(time):
        return table.timeline.commit_metadata(one, table.clock).extra_metadata.get(PLAN_HASH_KEY)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bootstrap:
    """The commits of one plan on a table that is there; ``digest`` names the plan in them, ``asked`` is the hash that
    the run was given.
    """

    table: HudiTable
    settings: BootstrapSettings
    plan: BootstrapPlan
    engine: Engine
    progress: Progress
    digest: str
    asked: str | None

    @property
    def transaction(self) -> TransactionSettings:
        return self.table.transaction_settings(self.settings.properties)

    def carry_out(self, time: str) -> list[WriteStat]:
        """Keep (00000000000001) or copy (00000000000002) what the plan says.

        :raises WriteConflictError: another process is at the table.
        """
        transaction = self._begin(time)
        try:
            transaction.to_inflight(note_of_begun(self.digest, self.asked))
            done = self._keep(time) if time == BOOTSTRAP_INSTANT else self._copy(time)
            stats = [stat for _, some in done for stat in some]
            with self.progress.phase("publish"):
                transaction.publish(self._commit(time, stats).payload(), written=written_paths(stats))
        except BaseException:
            transaction.abandon()
            raise
        return stats

    def undo(self) -> None:
        """After an error: the commit that was under way is rolled back, and a table without any is removed."""
        settings = self.transaction
        for time in (BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT):
            if any(not one.is_completed for one in settings.load_timeline().find(time)):
                undo(settings, time, self.progress.note)
        take_back_table(settings, self.progress.note)

    def _begin(self, time: str) -> Transaction:
        settings = self.transaction
        action = Action.DELTA_COMMIT if self.table.config.is_merge_on_read else Action.COMMIT
        with settings.new_lock() as locked:
            timeline = locked.load_timeline()
            refuse_pending_restore(timeline)
            others = [one for one in in_the_way(timeline, PAST) if one.is_from(time) or not one.is_completed]
            if others:
                raise WriteConflictError(
                    f"{others[0]} came to table {self.table.config.name} before it was bootstrapped",
                    todo="wait if a process is at it; else take it back or finish it; then run this again",
                    instant=others[0].timestamp,
                )
            return resume(settings, request(timeline, time, action), locked)

    def _context(self, time: str, file_format: BaseFileFormat) -> WriteContext:
        properties, config = self.settings.properties, self.table.config
        payload_class = config.payload_class or compact_keys.OVERWRITE_WITH_LATEST
        action = Action.DELTA_COMMIT if config.is_merge_on_read else Action.COMMIT
        timeline = self.transaction.load_timeline()
        (instant,) = [one for one in timeline.find(time) if one.action is action]
        return WriteContext(
            storage=data_storage(self.table.storage, properties),
            base_path=self.table.base_path,
            format=config.format,
            instant=time,
            file_format=file_format,
            payload=payload_for_write(payload_class, {}, None, merge_on_read=config.is_merge_on_read),
            ordering_field=config.precombine_field or None,
            max_file_size=parquet_keys.MAX_FILE_SIZE.of(properties),
            completion=timeline.completion(instant),
        )

    def _keep(self, time: str) -> list[Done]:
        source = self.settings.source
        work = WriteSkeletons(
            context=self._context(time, skeleton_format(self.settings.properties)),
            source=source,
            table=self.settings.name,
            schema=self.plan.schema,
            key_spec=self.settings.key_spec,
            seed=self.table.clock.new_uuid(),
        )
        pieces = pieces_of(self.plan.kept, bootstrap_keys.PARALLELISM.of(self.settings.properties))
        with self.progress.phase("keep", len(pieces)) as phase:
            done = list(chain.from_iterable(self.engine.run_each(pieces, work, phase.advance)))
        indexed = [
            IndexedFile(
                partition=file.partition,
                file_id=stat.file_id,
                path=file.path,
                size=file.size,
                modified_ms=file.modified_ms,
            )
            for file, stats in done
            for stat in stats
        ]
        created = int(self.table.clock.now().timestamp() * 1000)
        write_bootstrap_index(self.table.storage, self.table.base_path, source.path, indexed, created)
        return done

    def _copy(self, time: str) -> list[Done]:
        avro = avro_schema_of(self.plan.schema, self.settings.name)
        work = CopyRows(
            context=self._context(time, base_file_format(self.settings.properties, self.plan.schema, avro)),
            source=self.settings.source,
            table=self.settings.name,
            schema=self.plan.schema,
            key_spec=self.settings.key_spec,
            seed=self.table.clock.new_uuid(),
        )
        pieces = pieces_of(self.plan.copied, bootstrap_keys.PARALLELISM.of(self.settings.properties))
        with self.progress.phase("copy", len(pieces)) as phase:
            return list(chain.from_iterable(self.engine.run_each(pieces, work, phase.advance)))

    def _commit(self, time: str, stats: Sequence[WriteStat]) -> CommitMetadata:
        kept = time == BOOTSTRAP_INSTANT
        avro = avro_schema_of(self.plan.schema, self.settings.name)
        return CommitMetadata(
            write_stats=tuple(stats),
            operation_type=OperationType.BOOTSTRAP if kept else OperationType.BULK_INSERT,
            extra_metadata={SCHEMA_KEY: schema_text(avro), PLAN_HASH_KEY: self.digest},
        )
