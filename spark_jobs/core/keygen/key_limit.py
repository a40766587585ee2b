"""How long record keys may be where a write puts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLimit:
    """``place`` takes keys of at most ``most`` bytes in UTF-8; ``todo`` is for who has a longer one. Pickles."""

    most: int
    place: str
    todo: str

    def words(self) -> tuple[str, str]:
        """What is said of a key that is too long, before and behind its length."""
        return "a record key has ", f" bytes, and {self.place} takes {self.most} at most"

    def check(self, keys: pa.Array[Any] | pa.ChunkedArray[Any]) -> None:
        """
        :raises BadRecordError: one of the keys is longer.
        """
        longest = pc.max(pc.binary_length(keys)).as_py() or 0
        if longest > self.most:
            before, behind = self.words()
            raise BadRecordError(f"{before}{longest}{behind}", todo=self.todo, bytes=longest)
