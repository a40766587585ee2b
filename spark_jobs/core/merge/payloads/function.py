"""One's own payload: a function over Arrow tables, named as ``module:function`` (docs/payloads.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.merge.pairs import all_of, none_of
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.merge.protocol import Mask, Verdict
from spark_jobs.core.named_function import named_function
from spark_jobs.core.schema.exact import refuse_other_kinds
from spark_jobs.core.schema.meta_fields import META_FIELDS

Combine = Callable[[pa.Table, pa.Table], Any]
"""``(older, newer)`` to the records that stay, or to these and which of the keys go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionPayload(OverwriteWithLatest):
    """Asked for pairs of records; a marked delete ends its key without asking, and what comes after it starts anew.

    Within a batch the older one of a pair is that of the lesser ordering value; against the table the stored one is.
    """

    path: str

    mixes: ClassVar[bool] = True
    makes_records: ClassVar[bool] = True
    replaces_whole_records: ClassVar[bool] = False
    deletes_are_records: ClassVar[bool] = False

    def columns(self, names: Iterable[str]) -> list[str]:
        return list(names)

    def pre_combine(self, older: pa.Table, newer: pa.Table, older_is_greater: Mask) -> Verdict:
        return self.combine(older, newer, none_of(newer), None)

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        if deleted.all():
            return Verdict(accepted=all_of(incoming), deleted=deleted)
        if not deleted.any():
            rows, gone = self._ask(stored, incoming)
            return Verdict(accepted=all_of(incoming), deleted=gone, rows=rows)
        asked = pa.array(~deleted)
        rows, gone = self._ask(stored.filter(asked), incoming.filter(asked))
        deleted = deleted.copy()
        places = pa.array(np.cumsum(~deleted) - 1, mask=deleted.copy())
        deleted[~deleted] = gone
        return Verdict(accepted=all_of(incoming), deleted=deleted, rows=rows.take(places))

    def _ask(self, older: pa.Table, newer: pa.Table) -> tuple[pa.Table, Mask]:
        own = [name for name in newer.schema.names if name not in META_FIELDS]
        answer = load_function(self.path)(older.select(own), newer.select(own))
        rows, gone = answer if isinstance(answer, tuple) else (answer, None)
        if not isinstance(rows, pa.Table) or rows.num_rows != newer.num_rows or set(rows.schema.names) != set(own):
            shown = (
                f"{rows.num_rows} rows of {rows.schema.names}" if isinstance(rows, pa.Table) else type(rows).__name__
            )
            raise BadRecordError(
                f"payload function {self.path} answered {newer.num_rows} pairs with {shown}",
                todo="return a table of as many rows, with the columns " + ", ".join(own),
                function=self.path,
            )
        try:
            refuse_other_kinds(rows.schema, newer.schema)
            columns = [
                rows.column(field.name).cast(field.type) if field.name in own else newer.column(field.name)
                for field in newer.schema
            ]
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, BadRecordError) as error:
            reason = error.what if isinstance(error, BadRecordError) else str(error)
            raise BadRecordError(
                f"payload function {self.path} answered with values that don't fit their columns ({reason})",
                todo="cast them to the types that the columns came with",
                function=self.path,
            ) from error
        combined = pa.Table.from_arrays(columns, schema=newer.schema)
        mask = none_of(newer) if gone is None else np.asarray(pc.fill_null(pa.array(gone, pa.bool_()), False), bool)
        if len(mask) != newer.num_rows:
            raise BadRecordError(
                f"payload function {self.path} answered {newer.num_rows} pairs with {len(mask)} marks of deletes",
                todo="return one for each pair",
                function=self.path,
            )
        return combined, mask | self.is_delete(combined)


@cache
def load_function(path: str) -> Combine:
    """
    :raises ConfigError: it is not ``module:function``, or there is no such module or function.
    """
    return named_function(path, "payload function", "merges:newest_price")
