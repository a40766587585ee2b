"""What a delta commit writes to one partition of the metadata table, in arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.files.hfile.cells import Cells
from spark_jobs.core.metadata_table.layout import group_numbers

_KIND = pa.large_binary()


def _none() -> pa.Array[Any]:
    return pa.array([], _KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChanges:
    """Cells to write: ``keys`` and ``values`` have one length; ``deleted`` are keys that go, by a delete block.

    All are ``large_binary``, in no order; no key comes twice.
    """

    keys: pa.Array[Any] = field(default_factory=_none)
    values: pa.Array[Any] = field(default_factory=_none)
    deleted: pa.Array[Any] = field(default_factory=_none)

    @staticmethod
    def of(values: Mapping[str, bytes]) -> PartitionChanges:
        """From the values of cells by key."""
        keys = pa.array([key.encode("utf-8", "surrogatepass") for key in values], _KIND)
        return PartitionChanges(keys=keys, values=pa.array(list(values.values()), _KIND))

    @property
    def is_empty(self) -> bool:
        return not len(self.keys) and not len(self.deleted)

    def cells(self) -> Cells:
        """The cells in the order of HFiles."""
        order = pc.array_sort_indices(self.keys)
        return Cells(self.keys.take(order), self.values.take(order))

    def by_group(self, groups: int) -> dict[int, PartitionChanges]:
        """The shares of the file groups that have any, by their numbers, in order."""
        written, gone = split_by_group(self.keys, groups), split_by_group(self.deleted, groups)
        return {
            group: PartitionChanges(
                keys=self.keys.take(written[group]) if group in written else _none(),
                values=self.values.take(written[group]) if group in written else _none(),
                deleted=self.deleted.take(gone[group]) if group in gone else _none(),
            )
            for group in sorted(written.keys() | gone.keys())
        }


def split_by_group(keys: pa.Array[Any], groups: int) -> dict[int, pa.Array[Any]]:
    """The places of the keys of each file group that has any, by its number."""
    numbers = group_numbers(keys, groups)
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    bounds = [*starts.tolist(), len(order)]
    return {
        int(group): pa.array(order[begin:end]) for group, begin, end in zip(found, bounds[:-1], bounds[1:], strict=True)
    }
