"""How a source's columns fit a table's, one by one, by the rules of :mod:`spark_jobs.core.schema.reconcile`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from spark_jobs.core.schema.internal import InternalSchema, InternalType, walk
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.core.schema.promotion import is_readable_as
from spark_jobs.core.schema.reconcile import (
    SchemaRules,
    in_types_of,
    missing_columns,
    shape_of,
    type_name,
)


class Fit(StrEnum):
    """What becomes of a column."""

    SAME = "same"
    NEW = "new"
    PROMOTED = "promoted"
    NARROWER = "narrower"
    OTHER_TYPE = "refused"
    MISSING = "missing: refused"
    BECOMES_NULL = "missing: null"
    DROPPED = "missing: dropped"

    @property
    def is_refused(self) -> bool:
        return self in (Fit.OTHER_TYPE, Fit.MISSING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFit:
    """One column, inner ones by their full name; ``source`` and ``table`` are the types that it has there, if any.

    A promoted column gets the source's type in the table; the values of a narrower one get the table's.
    """

    name: str
    fit: Fit
    source: str | None = None
    table: str | None = None

    @property
    def text(self) -> str:
        """For a reader."""
        if self.fit in (Fit.PROMOTED, Fit.OTHER_TYPE):
            return f"{self.name}: {self.fit} ({self.table} in the table, {self.source} in the source)"
        if self.fit is Fit.NARROWER:
            return f"{self.name}: {self.fit} ({self.source} in the source becomes {self.table})"
        return f"{self.name}: {self.fit} ({self.source or self.table})"


def column_fits(
    table: Mapping[str, Any] | None,
    source: Mapping[str, Any],
    rules: SchemaRules,
    history: InternalSchema | None = None,
) -> tuple[ColumnFit, ...]:
    """Columns of the source in its order, then those that it lacks.

    :param table: Avro schema without meta columns, like ``source``; None where there is none yet.
    :param history: the newest schema with ids of a table that has a schema history.
    """
    given = internal_of(source)
    if table is None:
        return tuple(ColumnFit(name=name, fit=Fit.NEW, source=type_name(one.type)) for name, one in walk(given.record))
    return tuple(_fits(internal_of(table), given, rules, history))


def _fits(
    stored: InternalSchema, given: InternalSchema, rules: SchemaRules, history: InternalSchema | None
) -> Iterator[ColumnFit]:
    known, agreed = dict(walk(stored.record)), dict(walk(in_types_of(given, stored).record))
    by_history = history is not None and rules.reconcile
    for name, column in walk(given.record):
        held = known.get(name)
        if held is None:
            yield ColumnFit(name=name, fit=Fit.NEW, source=type_name(column.type))
            continue
        fit = _fit(held.type, column.type, agreed[name].type, by_history=by_history)
        yield ColumnFit(name=name, fit=fit, source=type_name(column.type), table=type_name(held.type))
    if rules.keep_missing:
        missing = Fit.BECOMES_NULL
    else:
        missing = Fit.DROPPED if rules.drop_missing and history is None else Fit.MISSING
    for name in missing_columns(given, stored):
        yield ColumnFit(name=name, fit=missing, table=type_name(known[name].type))


def _fit(held: InternalType, given: InternalType, agreed: InternalType, *, by_history: bool) -> Fit:
    if isinstance(held, str) and held == given:
        return Fit.SAME
    if not is_readable_as(held, agreed, by_history=by_history):
        return Fit.OTHER_TYPE
    if not isinstance(held, str) or not isinstance(given, str):
        return Fit.SAME if shape_of(held) == shape_of(given) else Fit.PROMOTED
    return Fit.NARROWER if agreed == held else Fit.PROMOTED
