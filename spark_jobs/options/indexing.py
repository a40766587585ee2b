"""Options of ``index.py``: indexes of the metadata table, made beside running writers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar

from spark_jobs.options.base import JobOptions
from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import Kind, flag
from spark_jobs.options.job import Job


class IndexType(StrEnum):
    """What can be indexed (``MetadataPartitionType``)."""

    COLUMN_STATS = "COLUMN_STATS"
    BLOOM_FILTERS = "BLOOM_FILTERS"
    RECORD_INDEX = "RECORD_INDEX"


class IndexingMode(StrEnum):
    """Which part of the indexing a job does (``HoodieIndexer``)."""

    SCHEDULE = "schedule"
    EXECUTE = "execute"
    SCHEDULE_AND_EXECUTE = "scheduleAndExecute"
    DROP_INDEX = "dropindex"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexingOptions(JobOptions):
    """Make indexes of the metadata table, or drop them (``HoodieIndexer``).

    ``instant_time`` is the pending plan to execute; without it, the earliest.
    """

    job: ClassVar[str] = "index"

    mode: Annotated[
        IndexingMode, flag("--mode", choices=IndexingMode, help="Plan, execute a plan, both, or drop the indexes.")
    ] = IndexingMode.SCHEDULE_AND_EXECUTE
    index_types: Annotated[
        tuple[str, ...],
        flag(
            "--index-types",
            kind=Kind.NAMES,
            help="Indexes to make or drop: COLUMN_STATS, BLOOM_FILTERS, RECORD_INDEX; an execution takes its plan's.",
        ),
    ] = ()
    instant_time: Annotated[str | None, flag("--instant-time", help="Instant of the plan to execute.")] = None

    @property
    def types(self) -> tuple[IndexType, ...]:
        """The asked indexes, each once.

        :raises OptionsError: one that there is none of, or none asked where the mode needs it.
        """
        known = {one.value: one for one in IndexType}
        for name in self.index_types:
            if name.upper() not in known:
                raise OptionsError(f"--index-types={name} is not valid: give some of {', '.join(known)}")
        if not self.index_types and self.mode is not IndexingMode.EXECUTE:
            raise OptionsError(f"--index-types is missing: give some of {', '.join(known)}")
        return tuple(dict.fromkeys(known[name.upper()] for name in self.index_types))


INDEXING = Job(
    name="indexing",
    options=IndexingOptions,
    runner="spark_jobs.services.indexing.job:run_indexing",
    operator="HudiIndexingOperator",
)
