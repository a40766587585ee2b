"""The incoming record over the stored one, whatever their ordering values (Hudi: OverwriteWithLatestAvroPayload)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from spark_jobs.core.merge.pairs import all_of, marked, none_of
from spark_jobs.core.merge.protocol import Mask, Verdict
from spark_jobs.core.schema.meta_fields import IS_DELETED


@dataclass(frozen=True, slots=True, kw_only=True)
class OverwriteWithLatest:
    """Within a batch and between log blocks the greatest ordering value stays, of equal ones the last."""

    ties_to_older: ClassVar[bool] = False
    mixes: ClassVar[bool] = False
    makes_records: ClassVar[bool] = False
    deletes_are_records: ClassVar[bool] = True
    replaces_whole_records: ClassVar[bool] = True

    def columns(self, names: Iterable[str]) -> list[str]:
        return [name for name in names if name == IS_DELETED]

    def is_delete(self, rows: pa.Table) -> Mask:
        return marked(rows)

    def pre_combine(self, older: pa.Table, newer: pa.Table, older_is_greater: Mask) -> Verdict:
        return Verdict(accepted=~older_is_greater, deleted=none_of(newer))

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        return Verdict(accepted=all_of(incoming), deleted=deleted)
