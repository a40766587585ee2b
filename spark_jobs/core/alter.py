"""ALTER TABLE: a commit without files that changes the schema (Hudi: AlterTableCommand with schema on read)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.features import refuse_unwritable
from spark_jobs.core.errors import ConfigError, WriteConflictError
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.read.table_schema import add_to_history, committed_schema, schema_metadata
from spark_jobs.core.schema.alteration import (
    as_stored,
    is_same_path,
    path_of,
    refuse_changed_meta_columns,
    refuse_unwritable_columns,
)
from spark_jobs.core.schema.avro import full_name_of, with_meta_fields, without_meta_fields
from spark_jobs.core.schema.evolution import SchemaEvolution, origins_between, schema_version
from spark_jobs.core.schema.internal import InternalSchema
from spark_jobs.core.schema.internal_avro import avro_of, internal_of
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.transaction.transaction import begin

Change = Callable[[InternalSchema], InternalSchema]
"""Gives the new schema for the present one, which has the meta columns too."""


def alter_schema(
    table: HudiTable,
    change: Change,
    properties: Mapping[str, str] | None = None,
    *,
    extra_metadata: Mapping[str, str] | None = None,
    expected: Alteration | None = None,
) -> Instant:
    """Change the schema of a table by the functions of :mod:`spark_jobs.core.schema.changes`.

    Files stay as they are; they are read by the ids of columns from now on, which Hudi's readers do only with
    ``hoodie.schema.on.read.enable=true``.

    :param extra_metadata: what the commit says besides.
    :param expected: the only alteration that is to be made.
    :raises ConfigError: it touches a meta column or one of the key, the partition path or the ordering, or it can't be
        made, or leaves a type or name that files can't have.
    :raises WriteConflictError: another writer changed the schema meanwhile, or the alteration is not the expected one.
    """
    refuse_unwritable(table.config)
    Alteration.of(table.refreshed(), change)  # refuses what can't be made, before anything stands on the timeline
    settings = table.transaction_settings(properties or {})
    action = Action.DELTA_COMMIT if table.config.is_merge_on_read else Action.COMMIT
    transaction = begin(settings, action)
    assert transaction is not None
    try:
        table = table.refreshed()
        made = Alteration.of(table, change)
        if expected is not None and made != expected:
            raise _changed_meanwhile(table)
        new = made.new.at(schema_version(transaction.time))
        transaction.to_inflight(CommitMetadata(operation_type=OperationType.ALTER_SCHEMA).payload())

        def check(timeline: ActiveTimeline) -> None:
            if committed_schema(timeline, table.config, table.clock) not in (None, made.avro):
                raise _changed_meanwhile(table)
            add_to_history(timeline.storage, table.base_path, timeline, transaction.time, made.history, new)

        metadata = CommitMetadata(
            operation_type=OperationType.ALTER_SCHEMA,
            extra_metadata={**(extra_metadata or {}), **schema_metadata(made.new_avro, new)},
        )
        return transaction.publish(metadata.payload(), written=frozenset(), check=check)
    except BaseException:
        transaction.abandon()
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class Alteration:
    """The schema before and after, as Avro without meta columns and with ids."""

    avro: dict[str, Any]
    new_avro: dict[str, Any]
    history: SchemaEvolution
    new: InternalSchema

    @property
    def changes_nothing(self) -> bool:
        return self.new.record == self.history.wanted.record

    @staticmethod
    def of(table: HudiTable, change: Change) -> Alteration:
        """What a change makes of the schema of a table.

        :raises ConfigError: as :func:`alter_schema` says.
        """
        avro, evolution = table.avro_schema, table.evolution_at()
        old = evolution.wanted if evolution else internal_of(with_meta_fields(avro))
        new = as_stored(change(old), old)
        refuse_changed_meta_columns(old, new)
        _refuse_changed_keys(table, old, new)
        origins = origins_between(new.record, old.record)
        new_avro = without_meta_fields(avro_of(new, full_name_of(avro), avro, origins=origins))
        refuse_unwritable_columns(new_avro, old, new)
        return Alteration(
            avro=avro,
            new_avro=new_avro,
            history=evolution or SchemaEvolution(versions=(old,), wanted=old),
            new=new,
        )


def _changed_meanwhile(table: HudiTable) -> WriteConflictError:
    return WriteConflictError(
        f"another writer changed the schema of table {table.config.name} meanwhile",
        todo="run it again",
        table=table.config.name,
    )


def _refuse_changed_keys(table: HudiTable, old: InternalSchema, new: InternalSchema) -> None:
    """What the names of the key, the partition path and the ordering lead to stays what it is.

    A table may lack the columns of its partition path, which its paths have, and that of its ordering, which Hudi names
    in every table; then it does not get them by a change either: their values would not be those of the paths.
    """
    config = table.config
    parts = (name.partition(":")[0] for name in config.partition_fields)  # some have a custom part's type behind them
    for name in filter(None, (*config.record_key_fields, *parts, config.precombine_field)):
        held = path_of(old, name)
        if not held and name in config.record_key_fields:
            raise ConfigError(
                f"table {config.name} has no column {name}, which is part of its key",
                todo="correct hoodie.table.recordkey.fields",
                column=name,
            )
        if not is_same_path(held, path_of(new, name)):
            raise ConfigError(
                f"column {name} is part of the key, the partition path or the ordering of table {config.name}",
                todo="leave its name and type as they are",
                column=name,
            )
