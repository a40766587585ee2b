"""What a write is about to do: which records go where, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from spark_jobs.core.config.keys.datasource import DUPLICATE_POLICY, DuplicatePolicy
from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.handles.context import WriteContext
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.config import REPLACES, WriteConfig
from spark_jobs.write.held_files import HeldFiles
from spark_jobs.write.overwrite import ReplacedGroups, overwritten_partitions, replaced_groups
from spark_jobs.write.pack import (
    NewGroup,
)
from spark_jobs.write.profile import WorkloadProfile
from spark_jobs.write.routes import (
    RoutingPlan,
)
from spark_jobs.write.tasks import RecordRules

SOURCE_READER = "source_reader"
"""The fact in a result that says who read the source: its tasks, or Spark and why."""

Spread = Mapping[str, list[tuple[int, int]]]
"""By partition path the (bucket, records) that its new records are spread over."""


class PlacedRecords(Protocol):
    """The records of a write, each with the bucket of its key, or none where the table does not have it."""

    def write(self, plan: RoutingPlan, spread: Spread, rules: RecordRules) -> list[WriteStat]:
        """Write them by the plan, new ones spread out."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The records of a write with their places in ``slices`` of ``view``, and how many go where.

    ``replaced`` is what an overwrite takes the place of, ``dropped`` how many records an insert leaves out, ``begun``
    the file groups by bucket number that the index itself begins (None: new records are packed by size),
    ``content_size`` the bytes of the records as far as anybody knows.
    """

    view: FileSystemView
    slices: Mapping[int, FileSlice]
    records: PlacedRecords
    profile: WorkloadProfile
    begun: Mapping[int, NewGroup] | None
    replaced: ReplacedGroups | None
    dropped: int
    content_size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWrite:
    """One write on an open table; ``held`` are the files that its tasks make for each other, None in one that is not
    done.
    """

    engine: Engine
    config: WriteConfig
    table: HudiTable
    context: WriteContext
    progress: Progress
    held: HeldFiles | None = None

    def target(
        self, counts: Mapping[str, int], partitions: list[str] | None
    ) -> tuple[FileSystemView, ReplacedGroups | None]:
        """The groups of some partitions (None: of all) that may take records, and those that an overwrite replaces.

        :param counts: records by partition path.
        """
        view = self.table.view(partitions)
        if self.config.operation not in REPLACES:
            return view, None
        overwritten = overwritten_partitions(self.config, self.table, counts)
        replaced = replaced_groups(self.table, self.config.operation, overwritten)
        return FileSystemView((), view.visibility, {}), replaced  # what is there takes no records

    def refuse_duplicates(self, found: int) -> None:
        """
        :raises BadRecordError: an insert that must not come upon keys of the table did, ``found`` times.
        """
        if found and self.config.duplicates is DuplicatePolicy.FAIL:
            raise BadRecordError(
                f"the table has the keys of {found} records of this insert, and {DUPLICATE_POLICY.name}=fail",
                todo="take them out of the source, or upsert",
            )
