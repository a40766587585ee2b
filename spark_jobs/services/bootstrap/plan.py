"""What a bootstrap does with each file of its source; a pure function of the listing and the options."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import bootstrap as keys
from spark_jobs.core.config.keys.bootstrap import BootstrapMode, ModeSelector
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, FULL_BOOTSTRAP_INSTANT
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.services.bootstrap.source import SourceFile

SERVICE = "bootstrap"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapPlan:
    """``schema`` is the table's; ``table`` and ``source`` are what else decides."""

    table: Mapping[str, object]
    source: str
    schema: pa.Schema
    kept: tuple[SourceFile, ...]
    copied: tuple[SourceFile, ...]

    @property
    def files(self) -> tuple[SourceFile, ...]:
        return (*self.kept, *self.copied)

    @property
    def commits(self) -> tuple[str, ...]:
        """The instants that it is carried out by, in their order."""
        wanted = ((BOOTSTRAP_INSTANT, self.kept), (FULL_BOOTSTRAP_INSTANT, self.copied))
        return tuple(instant for instant, files in wanted if files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def bytes_copied(self) -> int:
        return sum(file.size for file in self.copied)

    def without(self, done: Collection[str]) -> BootstrapPlan:
        """What is left of it once these commits are there."""
        return replace(
            self,
            kept=() if BOOTSTRAP_INSTANT in done else self.kept,
            copied=() if FULL_BOOTSTRAP_INSTANT in done else self.copied,
        )

    def content(self) -> dict[str, Any]:
        """JSON's own types: all that decides what is done."""
        return {
            "table": dict(self.table),
            "source": self.source,
            "columns": [f"{field.name}: {field.type}" for field in self.schema],
            BootstrapMode.METADATA_ONLY.value: [_content(file) for file in self.kept],
            BootstrapMode.FULL_RECORD.value: [_content(file) for file in self.copied],
        }

    def facts(self) -> PlanFacts:
        return PlanFacts(service=SERVICE, content=self.content(), files=len(self.files), bytes=self.bytes)

    def counts(self) -> dict[str, int]:
        """For a person."""
        return {
            "partitions": len({file.partition for file in self.files}),
            "metadata_only_files": len(self.kept),
            "full_record_files": len(self.copied),
            "bytes_copied": self.bytes_copied,
        }


def _content(file: SourceFile) -> dict[str, Any]:
    return {"path": file.path, "bytes": file.size, "modified_ms": file.modified_ms}


def mode_of(partition: str, properties: Mapping[str, str]) -> BootstrapMode:
    """How one partition is bootstrapped (Hudi: BootstrapModeSelector and its subclasses)."""
    selector = keys.MODE_SELECTOR.of(properties)
    if selector is ModeSelector.REGEX:
        mode = keys.SELECTOR_REGEX_MODE.of(properties)
        return mode if re.fullmatch(keys.SELECTOR_REGEX.of(properties), partition) else mode.other
    return BootstrapMode.METADATA_ONLY if selector is ModeSelector.METADATA_ONLY else BootstrapMode.FULL_RECORD


def plan_bootstrap(
    files: Sequence[SourceFile],
    table: Mapping[str, object],
    source: str,
    schema: pa.Schema,
    properties: Mapping[str, str],
) -> BootstrapPlan:
    """
    :param properties: the ``hoodie.bootstrap.*`` values.
    """
    modes = {partition: mode_of(partition, properties) for partition in {file.partition for file in files}}
    return BootstrapPlan(
        table=table,
        source=source,
        schema=schema,
        kept=tuple(file for file in files if modes[file.partition] is BootstrapMode.METADATA_ONLY),
        copied=tuple(file for file in files if modes[file.partition] is BootstrapMode.FULL_RECORD),
    )


def pieces_of(files: Sequence[SourceFile], most: int) -> list[tuple[SourceFile, ...]]:
    """The files in no more than so many pieces of about as many files, in their order."""
    count = max(1, min(most, len(files)))
    bounds = [number * len(files) // count for number in range(count + 1)]
    return [tuple(files[start:stop]) for start, stop in pairwise(bounds) if start < stop]
