"""What a payload is: how two records of one key become one, over whole Arrow tables (Hudi: HoodieRecordPayload)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of pairs of records, position by position.

    Where the newer record is not ``accepted`` the older one stays as it is. Elsewhere the key goes where ``deleted`` is
    true, or else its record is that of ``rows``, or the newer one where there are none. Its ordering value goes on as
    that of the older one where ``ordering_of_older`` says so (None: where none was accepted). All have the length of
    the pairs.
    """

    accepted: Mask
    deleted: Mask
    rows: pa.Table | None = None
    ordering_of_older: Mask | None = None


class Payload(Protocol):
    """Pairs are two tables of one schema and length: row ``i`` of both is of one key. Payloads pickle by value.

    A delete without a record (a delete block's, or of the operation delete) comes to no payload: it ends what was
    before it, and any record after it starts anew.
    """

    @property
    def ties_to_older(self) -> bool:
        """Whether of records with equal ordering values the first one stays, within a batch and between log blocks."""

    @property
    def mixes(self) -> bool:
        """Whether :meth:`pre_combine` makes new records; if not, the one of the greatest ordering value stays."""

    @property
    def makes_records(self) -> bool:
        """Whether :meth:`combine` makes new records; if not, it is given the :meth:`columns` it reads alone."""

    @property
    def deletes_are_records(self) -> bool:
        """Whether a marked record is a record like another to :meth:`pre_combine`, and a delete only afterwards."""

    @property
    def replaces_whole_records(self) -> bool:
        """Whether an incoming record takes the place of the stored one, whatever that is."""

    def columns(self, names: Iterable[str]) -> list[str]:
        """Those of the table's columns that decisions read, beside key, commit time and ordering value."""

    def is_delete(self, rows: pa.Table) -> Mask:
        """Which records are marked as deletes of their keys (Hudi: BaseAvroPayload.isDeleted)."""

    def pre_combine(self, older: pa.Table, newer: pa.Table, older_is_greater: Mask) -> Verdict:
        """Two records of one batch, or of two log blocks; asked only where the payload :attr:`mixes`.

        :param older_is_greater: where the older one's ordering value is the greater.
        """

    def combine(self, stored: pa.Table, incoming: pa.Table, deleted: Mask, ordering: str | None) -> Verdict:
        """A record and the stored one of its key (Hudi: combineAndGetUpdateValue).

        :param deleted: the incoming records that are marked as deletes.
        :param ordering: the precombine column.
        """
