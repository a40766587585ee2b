"""What a job hands back: one JSON object."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from spark_jobs.options.errors import OptionsError


class JobState(StrEnum):
    """How a job ended well."""

    COMPLETED = "COMPLETED"
    SCHEDULED = "SCHEDULED"
    NOTHING_TO_DO = "NOTHING_TO_DO"
    DRY_RUN = "DRY_RUN"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The outcome of a job; counts are of files, of bytes on storage and of records, and 0 where they say nothing.

    ``instant`` is the instant that the job made or executed; ``repeated`` says that an earlier run had done it, whose
    instant and counts these are; ``reason`` says why nothing was done; ``plan`` is what a dry run would execute;
    ``extra`` holds what only one kind of job has to say. All of it is made of JSON's own types.
    """

    action: str
    state: JobState
    instant: str | None = None
    repeated: bool = False
    reason: str | None = None
    base_path: str | None = None
    table: str | None = None
    files_in: int = 0
    files_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    records_in: int = 0
    records_out: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    seconds_by_phase: dict[str, float] = field(default_factory=dict)
    plan: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "state", JobState(self.state))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON or XCom."""
        return {**dataclasses.asdict(self), "state": str(self.state)}

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.to_dict(), separators=(",", ":"), ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The value of a line that :meth:`to_json` made; names that this release does not know go to ``extra``.

        :raises OptionsError: the text is no such object.
        """
        try:
            found = json.loads(text)
            known = {part.name for part in dataclasses.fields(cls)}
            values: dict[str, Any] = {name: value for name, value in found.items() if name in known}
            others = {name: value for name, value in found.items() if name not in known}
            values["extra"] = {**others, **_mapping(values.get("extra", {}))}
            return cls(**values)
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            raise OptionsError(f"{text[:80]!r} is not the result of a job: {error}") from None


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("extra is no object")
    return value
