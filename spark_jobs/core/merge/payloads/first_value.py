"""The record of the greater ordering value, of equal ones the first (Hudi: FirstValueAvroPayload)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.merge.pairs import greater, none_of
from spark_jobs.core.merge.payloads.event_time import EventTime
from spark_jobs.core.merge.protocol import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstValue(EventTime):
    """What is stored stays unless the incoming record's ordering value is greater, or the stored one has none."""

    ties_to_older: ClassVar[bool] = True

    def _stored_wins(self, stored: pa.Table, incoming: pa.Table, ordering: str | None) -> Mask:
        column = self.ordering_field or ordering
        if not column:
            return none_of(stored)
        has_one = np.asarray(pc.is_valid(stored.column(column)), bool)
        return has_one & ~greater(incoming.column(column), stored.column(column))
