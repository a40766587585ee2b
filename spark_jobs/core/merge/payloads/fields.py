"""Payloads that choose field by field (Hudi: OverwriteNonDefaultsWithLatestAvroPayload, PartialUpdateAvroPayload)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.pairs import all_of, choose, greater, marked, none_of
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.merge.protocol import Mask, Verdict
from spark_jobs.core.schema.meta_fields import COMMIT_TIME, META_FIELDS

_PRIMITIVES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "string": (str,),
}


def defaults_of(avro_schema: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults other than null of the top-level fields, as values; those that no value in Avro's memory equals are
    given as ``None``: no value is such a default.

    Hudi compares Java objects: a text in a union, an enumeration's symbol, bytes and collections are of other classes
    than their default.
    """
    found: dict[str, Any] = {}
    for one in avro_schema["fields"]:
        if one.get("default") is None:
            continue
        kind = one["type"]
        in_union = isinstance(kind, list)
        if in_union:
            kind = kind[0]
        name = kind.get("type") if isinstance(kind, Mapping) else kind
        fits = isinstance(name, str) and isinstance(one["default"], _PRIMITIVES.get(name, ()))
        found[one["name"]] = one["default"] if fits and not (in_union and name == "string") else None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteNonDefaults(OverwriteWithLatest):
    """Of a stored record the fields stay for which the incoming one has its schema's default, mostly null.

    Within a batch and between log blocks whole records are chosen, as :class:`OverwriteWithLatest` does.

    :param defaults: the columns whose default is another than null: their incoming nulls are values like others.
    """

    defaults: Mapping[str, Any] = field(default_factory=dict)

    makes_records: ClassVar[bool] = True
    replaces_whole_records: ClassVar[bool] = False

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        columns = [
            choose(self._is_default(name, new), old, new)
            for name, old, new in zip(incoming.schema.names, stored.columns, incoming.columns, strict=True)
        ]
        rows = pa.Table.from_arrays(columns, schema=incoming.schema)
        return Verdict(accepted=all_of(incoming), deleted=deleted, rows=rows)

    def _is_default(self, name: str, values: pa.ChunkedArray) -> Mask:
        if name not in self.defaults:
            return np.asarray(pc.is_null(values), bool)
        default = self.defaults[name]
        if default is None:
            return np.zeros(len(values), bool)
        if pa.types.is_temporal(values.type):
            values = values.cast(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
        if pa.types.is_decimal(values.type):
            return np.zeros(len(values), bool)
        same = pc.equal(values, pa.scalar(default, values.type))
        return np.asarray(pc.fill_null(same, False), bool)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialUpdate(OverwriteWithLatest):
    """The fields of the record of the greater ordering value (of equal ones the newer), nulls filled from the other.

    Meta columns are those of the newer record either way. An incoming delete always wins over what is stored.

    :param ordering_field: as in :class:`~spark_jobs.core.merge.payloads.event_time.EventTime`.
    """

    ordering_field: str | None = None

    mixes: ClassVar[bool] = True
    makes_records: ClassVar[bool] = True
    replaces_whole_records: ClassVar[bool] = False

    def columns(self, names: Iterable[str]) -> list[str]:
        named = list(names)
        return [*OverwriteWithLatest.columns(self, named), *[name for name in named if name == self.ordering_field]]

    def pre_combine(self, older: pa.Table, newer: pa.Table, older_is_greater: Mask) -> Verdict:
        """A marked record that gives the fields is taken whole; a greater one before it, in a batch (not in logs, whose
        records have meta columns), is forgotten: Hudi's mergeRecords yields nothing then, and preCombine the newer.
        """
        whole = ~older_is_greater & marked(newer)
        if COMMIT_TIME not in newer.schema.names:
            whole |= older_is_greater & marked(older)
        rows = _filled(older, newer, older_is_greater & ~whole, whole)
        return Verdict(
            accepted=all_of(newer), deleted=none_of(newer), rows=rows, ordering_of_older=older_is_greater & ~whole
        )

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        stored_is_greater = none_of(incoming)
        column = self.ordering_field or ordering
        if column and ordering and stored.schema.field(column).type == incoming.schema.field(ordering).type:
            # Hudi compares the stored ordering field with the incoming precombine value
            stored_is_greater = greater(stored.column(column), incoming.column(ordering))
        rows = _filled(stored, incoming, stored_is_greater, none_of(incoming))
        return Verdict(accepted=all_of(incoming), deleted=deleted | (stored_is_greater & marked(stored)), rows=rows)


def _filled(older: pa.Table, newer: pa.Table, older_first: Mask, whole: Mask) -> pa.Table:
    """The newer record, or where ``older_first`` the older one, its nulls taken from the other but where ``whole``."""
    columns = []
    for name, old, new in zip(newer.schema.names, older.columns, newer.columns, strict=True):
        prefers_old = older_first if name not in META_FIELDS else np.zeros(len(older_first), bool)
        old_lacks, new_lacks = np.asarray(pc.is_null(old), bool), np.asarray(pc.is_null(new), bool)
        takes_old = np.where(prefers_old, ~old_lacks, new_lacks & ~whole)
        columns.append(choose(takes_old, old, new))
    return pa.Table.from_arrays(columns, schema=newer.schema)
