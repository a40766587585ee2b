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
        theirs, ours = self._ordering_values(stored, ordering), self._ordering_values(incoming, ordering)
        if theirs is None or ours is None:
            return none_of(stored)
        return np.asarray(pc.is_valid(theirs), bool) & ~greater(ours, theirs)
