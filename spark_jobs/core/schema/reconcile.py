"""The schema that a write stores, from the table's and the source's (Hudi 0.15: HoodieSchemaUtils.deduceWriterSchema).

Without options the source decides: its columns in its order, new ones anywhere, wider types where Avro reads the old
ones as the new; a column that the table has and the source lacks is an error. With
``hoodie.write.set.null.for.missing.columns`` or ``hoodie.datasource.write.reconcile.schema`` the table's columns stay
and the source's are added. Types that are narrower in the source become the table's. docs/types.md tells where this is
stricter than Hudi.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import write as write_keys
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import full_name_of, without_meta_fields
from spark_jobs.core.schema.changes import add_column, widen_column
from spark_jobs.core.schema.internal import (
    ArrayType,
    Column,
    InternalSchema,
    InternalType,
    MapType,
    RecordType,
    children,
    walk,
)
from spark_jobs.core.schema.internal_avro import avro_of, internal_of
from spark_jobs.core.schema.promotion import is_readable_as, may_become


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRules:
    """What a write may do to the table's schema; ``keep_missing``: columns that the source lacks become null."""

    keep_missing: bool = False
    drop_missing: bool = False
    reconcile: bool = False

    @staticmethod
    def of(properties: Mapping[str, str]) -> SchemaRules:
        reconcile = datasource_keys.RECONCILE_SCHEMA.of(properties)
        return SchemaRules(
            keep_missing=reconcile or write_keys.SET_NULL_FOR_MISSING.of(properties),
            drop_missing=datasource_keys.ALLOW_COLUMN_DROP.of(properties),
            reconcile=reconcile,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterSchema:
    """What a write stores: the Avro record without meta columns, and on a table with a schema history the same with
    ids and meta columns (its version is that of the history where nothing changed, else 0).
    """

    avro: dict[str, Any]
    internal: InternalSchema | None = None


def deduce_writer_schema(
    table: Mapping[str, Any] | None,
    source: Mapping[str, Any],
    rules: SchemaRules,
    history: InternalSchema | None = None,
) -> WriterSchema:
    """The schema of a write; ``table`` and ``source`` are without meta columns.

    :param history: the newest schema with ids of a table that has a schema history.
    :raises ConfigError: the source lacks a column of the table, has one of a type that would lose values, or one whose
        name is another's but for case.
    """
    given = internal_of(source)
    if table is None:
        _refuse_twins(given, None)
        return WriterSchema(avro=dict(source))
    stored = internal_of(table)
    _refuse_twins(given, stored)
    agreed = in_types_of(given, stored)
    keeps = rules.keep_missing or history is not None
    _refuse_missing(agreed, stored, allowed=rules.keep_missing if keeps else rules.drop_missing)
    _refuse_unreadable(agreed, stored, by_history=history is not None and rules.reconcile)
    if history is not None:
        merged = merge(agreed, history)
        if merged.record == history.record:
            return WriterSchema(avro=dict(table), internal=history)
        avro = without_meta_fields(avro_of(merged, full_name_of(table), table, source))
        return WriterSchema(avro=avro, internal=merged.at(0))
    merged = merge(agreed, stored) if keeps else agreed
    if shape_of(merged.record) == shape_of(stored.record):
        return WriterSchema(avro=dict(table))
    return WriterSchema(avro=avro_of(merged, full_name_of(table), table, source))


def _refuse_twins(given: InternalSchema, stored: InternalSchema | None) -> None:
    """Spark, and Hudi there, takes no two columns of one name, in whatever case.

    :raises ConfigError: a new column has the name of another but for case.
    """
    known = [] if stored is None else [name for name, _ in walk(stored.record)]
    seen = {name.lower(): name for name in known}
    for name, _ in walk(given.record):
        twin = seen.setdefault(name.lower(), name)
        if twin != name and name not in known:
            raise ConfigError(
                f"column {name} of the source and column {twin} have one name but for case",
                todo="rename it in the source",
                column=name,
            )


def merge(incoming: InternalSchema, old: InternalSchema) -> InternalSchema:
    """``old`` with what ``incoming`` adds or widens (Hudi: AvroSchemaEvolutionUtils.reconcileSchema).

    Columns that ``incoming`` lacks stay. A new one comes before the sibling of least id that follows it in
    ``incoming``, else to the end. The version is that of ``old``.

    :raises ConfigError: a type that :func:`may_become` does not allow.
    """
    known = dict(walk(old.record))
    result = old
    for name, column, following in _added(incoming.record, known, ""):
        parent = name.rpartition(".")[0]
        candidates = [one for one in following if _join(parent, one.name) in known]
        before = min(candidates, key=lambda one: known[_join(parent, one.name)].id, default=None)
        result = add_column(result, name, column.type, column.doc, before=before.name if before else None)
    for name, column in walk(incoming.record):
        held = known.get(name)
        if held is None:
            continue
        if isinstance(column.type, str) and isinstance(held.type, str) and held.type != column.type:
            result = widen_column(result, name, column.type)
    optional = {name for name, column in walk(incoming.record) if column.optional}
    record = _with_optional(result.record, optional, "")
    assert isinstance(record, RecordType)
    return replace(result, record=record)


def _join(parent: str, name: str) -> str:
    return f"{parent}.{name}" if parent else name


def _added(
    kind: InternalType, known: Mapping[str, Column], prefix: str
) -> Iterator[tuple[str, Column, tuple[Column, ...]]]:
    """Columns that are new while their parent is not, each with its later siblings; outer ones first."""
    columns = children(kind)
    for place, column in enumerate(columns):
        if f"{prefix}{column.name}" not in known:
            yield f"{prefix}{column.name}", column, columns[place + 1 :]
    for column in columns:
        if f"{prefix}{column.name}" in known:
            yield from _added(column.type, known, f"{prefix}{column.name}.")


def in_types_of(given: InternalSchema, stored: InternalSchema) -> InternalSchema:
    """The source's schema, in the table's types where its own are narrower; null is allowed where either allows it."""
    known = dict(walk(stored.record))

    def adapt(kind: InternalType, prefix: str) -> InternalType:
        adapted = tuple(_adapted(column, f"{prefix}{column.name}") for column in children(kind))
        return _with_children(kind, adapted)

    def _adapted(column: Column, name: str) -> Column:
        held = known.get(name)
        kind = adapt(column.type, f"{name}.")
        if held is None:
            return replace(column, type=kind)
        if isinstance(kind, str) and isinstance(held.type, str) and _becomes_the_table_s(kind, held.type):
            kind = held.type
        return replace(column, type=kind, optional=column.optional or held.optional, doc=column.doc or held.doc)

    record = adapt(given.record, "")
    assert isinstance(record, RecordType)
    return replace(given, record=record)


def _becomes_the_table_s(given: str, held: str) -> bool:
    return may_become(given, held) or {given, held} == {"string", "binary"}


def _with_optional(kind: InternalType, names: set[str], prefix: str) -> InternalType:
    found = tuple(
        replace(
            column,
            optional=column.optional or f"{prefix}{column.name}" in names,
            type=_with_optional(column.type, names, f"{prefix}{column.name}."),
        )
        for column in children(kind)
    )
    return _with_children(kind, found)


def _with_children(kind: InternalType, columns: tuple[Column, ...]) -> InternalType:
    if isinstance(kind, RecordType):
        return RecordType(columns)
    if isinstance(kind, ArrayType):
        return replace(kind, element=columns[0].type, optional=columns[0].optional)
    if isinstance(kind, MapType):
        return replace(kind, value=columns[0].type, optional=columns[0].optional)
    return kind


def missing_columns(given: InternalSchema, stored: InternalSchema) -> Iterator[str]:
    """Full names of the stored columns that the given schema lacks, but for parts of a column that has none there."""
    names = dict(walk(given.record))
    for name, _ in walk(stored.record):
        parent = names.get(name.rpartition(".")[0])
        if name not in names and not (parent is not None and isinstance(parent.type, str)):
            yield name


def _refuse_missing(given: InternalSchema, stored: InternalSchema, *, allowed: bool) -> None:
    name = None if allowed else next(missing_columns(given, stored), None)
    if name is not None:
        raise ConfigError(
            f"the source has no column {name}, which the table has",
            todo=f"add it, or set {write_keys.SET_NULL_FOR_MISSING.name}=true; the source's columns are "
            + ", ".join(column.name for column in given.record.columns),
            column=name,
        )


def _refuse_unreadable(agreed: InternalSchema, stored: InternalSchema, *, by_history: bool) -> None:
    known = dict(walk(agreed.record))
    for name, column in walk(stored.record):
        new = known.get(name)
        if new is None or is_readable_as(column.type, new.type, by_history=by_history):
            continue
        raise ConfigError(
            f"column {name} is {type_name(new.type)} in the source and {type_name(column.type)} in the table",
            todo="convert it in the source",
            column=name,
        )


def type_name(kind: InternalType) -> str:
    return kind if isinstance(kind, str) else {RecordType: "struct", ArrayType: "array", MapType: "map"}[type(kind)]


def shape_of(kind: InternalType) -> Any:
    """A type without ids and comments."""
    if isinstance(kind, str):
        return kind
    return type(kind), [(one.name, one.optional, shape_of(one.type)) for one in children(kind)]
