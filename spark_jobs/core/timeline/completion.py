"""Whether an instant was completed since a timeline was loaded."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import Storage


@dataclass(frozen=True, slots=True)
class Completion:
    """The file below a timeline's ``folder`` by which an instant is completed. A value: tasks get it."""

    folder: str
    format: TableFormat
    instant: Instant

    def found(self, storage: Storage) -> Instant | None:
        """The completed instant; None where it is not completed. One call to the storage."""
        done = self.instant.at(State.COMPLETED)
        if not self.format.keeps_completion:
            return None if storage.stat(f"{self.folder}/{self.format.file_name(done)}") is None else done
        # the name has a time in it that only who completed it knows
        listed = (self.format.parse_instant(one.name) for one in storage.list(self.folder))
        return next((one for one in listed if one == done), None)
