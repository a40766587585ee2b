"""Rows of AWS Database Migration Service: the latest, deletes by the column Op (Hudi: AWSDmsAvroPayload)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.merge.pairs import marked
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.merge.protocol import Mask

OP = "Op"


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsDms(OverwriteWithLatest):
    """As :class:`OverwriteWithLatest`, and a record whose ``Op`` is D or d is a delete."""

    def columns(self, names: Iterable[str]) -> list[str]:
        named = list(names)
        return [*OverwriteWithLatest.columns(self, named), *[name for name in named if name == OP]]

    def is_delete(self, rows: pa.Table) -> Mask:
        """
        :raises BadRecordError: there is no column Op.
        """
        if OP not in rows.schema.names:
            raise BadRecordError(
                f"AWSDmsAvroPayload needs a column {OP}, which the records do not have",
                todo="add it, or choose another payload class",
                column=OP,
            )
        is_d = pc.equal(pc.utf8_lower(rows.column(OP).cast(pa.string())), "d")
        return np.asarray(pc.fill_null(is_d, False), bool) | marked(rows)
