"""A table version that nobody has: its timeline lies elsewhere, other words stand in the names of its files, and its
logs are of slices by when their writes were completed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from spark_jobs.core.format.instant import Action, Instant, State, order_of
from spark_jobs.core.format.metadata_layout import MetadataLayout, MetadataPartition, NamedPartitions
from tests.unit.core.format.version_66.file_names import BaseFileName66, LogFileName66, parse_base_file, parse_log_file
from tests.unit.core.format.version_66.slices import base_of, last_version, logs_of, sort_into_groups

_WORDS = {State.REQUESTED: "asked", State.INFLIGHT: "begun", State.COMPLETED: "done"}
_STATES = {word: state for state, word in _WORDS.items()}


class NumberedFirst(NamedPartitions):
    """Ids of file groups such as ``3-of-keys``; own instants have a digit behind the time of another, or four where
    they made a partition.
    """

    def file_id(self, partition: MetadataPartition, number: int) -> str:
        return f"{number}-{self.spelled[partition][1]}"

    def number_of(self, partition: MetadataPartition, file_id: str) -> int | None:
        number, _, ending = file_id.partition("-")
        return int(number) if ending == self.spelled[partition][1] else None

    @property
    def beginning(self) -> str:
        return "19990101000000000"

    def own_time(self, time: str, action: Action) -> str:
        return f"{time}{(Action.CLEAN, Action.COMPACTION, Action.ROLLBACK).index(action)}"

    def time_of_making(self, time: str, taken: Collection[str]) -> str:
        return next(one for number in range(1000, 9999) if (one := f"{time}{number}") not in taken)

    def made_as_of(self, time: str) -> str | None:
        return time[:17] if len(time) == 21 else None

    def stands_behind(self, time: str) -> str | None:
        return time[:17] if len(time) == 21 or time[17:] == "1" else None

    def is_own(self, time: str) -> bool:
        return len(time) > 17


METADATA = NumberedFirst(
    {
        MetadataPartition.FILES: ("listing", "of-files"),
        MetadataPartition.COLUMN_STATS: ("ranges", "of-ranges"),
        MetadataPartition.BLOOM_FILTERS: ("filters", "of-filters"),
        MetadataPartition.RECORD_INDEX: ("keys", "of-keys"),
    }
)


@dataclass(frozen=True, slots=True)
class Version66:
    version: int = 66
    written_by: str = "this test"
    writable: bool = True
    trusts_metadata_table: bool = True
    timeline_layout: str = "66"
    keeps_completion: bool = True
    archive_form: str = "lines"
    payload_form: str = "compressed"

    @property
    def metadata(self) -> MetadataLayout:
        return METADATA

    def timeline_folder(self, base_path: str) -> str:
        return f"{base_path}/.hoodie/history"

    def archive_folder(self, base_path: str, name: str) -> str:
        return f"{base_path}/.hoodie/history/old"

    def file_name(self, instant: Instant) -> str:
        """Such as ``clean-begun-at-20260101000000000``, ``clean-done-at-20260101000000000-until-20260101000000042``."""
        action = instant.comparable_action if instant.is_completed else instant.action
        name = f"{action.value}-{_WORDS[instant.state]}-at-{instant.timestamp}"
        return f"{name}-until-{instant.completed_at or '...'}" if instant.is_completed else name

    def parse_instant(self, file_name: str) -> Instant | None:
        parts = file_name.split("-")
        if len(parts) not in (4, 6) or parts[1] not in _STATES or not parts[-1].isdigit():
            return None
        return Instant(parts[3], Action(parts[0]), _STATES[parts[1]], parts[5] if len(parts) == 6 else None)

    def is_of(self, file_name: str, time: str) -> bool:
        return f"-at-{time}" in file_name

    def highest_states(self, names: Iterable[tuple[str, int]]) -> list[tuple[Instant, int]]:
        highest: dict[tuple[str, str], tuple[Instant, int]] = {}
        for name, number in names:
            one = self.parse_instant(name)
            if one is not None and (order_of(one) not in highest or highest[order_of(one)][0].rank < one.rank):
                highest[order_of(one)] = (one, number)
        return [highest[key] for key in sorted(highest)]

    base_file = staticmethod(BaseFileName66)
    parse_base_file = staticmethod(parse_base_file)
    parse_log_file = staticmethod(parse_log_file)
    sort_into_groups = staticmethod(sort_into_groups)
    base_of = staticmethod(base_of)
    logs_of = staticmethod(logs_of)
    last_version = staticmethod(last_version)

    def log_file(
        self, file_id: str, *, base_instant: str, instant: str, version: int, write_token: str
    ) -> LogFileName66:
        """By its own write, whatever slice it goes to."""
        return LogFileName66(file_id, instant, version, write_token)
