"""What a service that rewrites files by a plan has to know; compaction, log compaction and clustering are such."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeVar

from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.payloads.payload import Payload
from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.core.transaction.conflict import FileGroupKey
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.frame.plan_hash import PlanFacts
from spark_jobs.frame.service import Service
from spark_jobs.services.rewriting.command_logs import command_logs


class Plan(Protocol):
    """What a service is going to read, in pieces that are done independently; the counts are of files and bytes."""

    @property
    def files_in(self) -> int: ...

    @property
    def bytes_in(self) -> int: ...

    @property
    def log_bytes(self) -> int:
        """Of the log files among the input."""
        ...

    @property
    def slices(self) -> tuple[FileSlice, ...]: ...

    @property
    def piece_bytes(self) -> tuple[int, ...]: ...

    def only(self, pieces: Sequence[int]) -> Self:
        """A plan of some of the pieces, by their numbers."""
        ...

    def hashed(self, commands: Collection[str]) -> Self:
        """The plan as it is hashed: without logs of commands, which come when a dead write is rolled back; and in an
        order that does not depend on their bytes.

        :param commands: relative paths.
        """
        ...

    def content(self) -> dict[str, Any]:
        """The exact input, for a person and for the hash."""
        ...

    def lines(self) -> Iterator[str]:
        """The same as text."""
        ...

    def facts(self) -> dict[str, Any]:
        """What the result says of the plan beside the counts."""
        ...


P = TypeVar("P", bound=Plan)


class RewriteService(Service[HudiTable, P]):
    """What one service knows: when it is due, what it plans, and what a worker does with each piece."""

    __slots__ = ()
    timeline_action: ClassVar[Action]
    """Of its plans on the timeline."""
    operation: ClassVar[OperationType]
    phase: ClassVar[str]
    """Name of the phase in which the pieces are done."""
    piece: ClassVar[str]
    """What a piece is called."""

    @abstractmethod
    def refuse(self, table: HudiTable) -> None:
        """
        :raises ConfigError: the service has nothing to do with such a table.
        """

    @abstractmethod
    def pending(self, table: HudiTable) -> list[Instant]:
        """Pending plans on the timeline, oldest first."""

    @abstractmethod
    def expires_after(self) -> int | None:
        """Minutes after which a plan that no living process executes is taken back; None: never."""

    def facts(self, table: HudiTable, plan: P) -> PlanFacts:
        """They are the same before and after dead writes were rolled back."""
        hashed = plan.hashed(command_logs(table.storage, table.base_path, plan.slices))
        return PlanFacts(service=self.action, content=hashed.content(), files=plan.files_in, bytes=plan.bytes_in)

    @abstractmethod
    def payload(self, table: HudiTable, plan: P, note: Mapping[str, str]) -> Payload:
        """What the requested file says; ``note`` is extra metadata of the plan."""

    @abstractmethod
    def note(self, table: HudiTable, plan: Instant) -> Mapping[str, str]:
        """The extra metadata of a plan on the timeline, pending or carried out."""

    @abstractmethod
    def read(self, table: HudiTable, instant: Instant) -> P:
        """A plan on the timeline, this project's or Hudi's."""

    @abstractmethod
    def work(
        self, table: HudiTable, instant: str, plan: P
    ) -> tuple[Sequence[Any], Callable[[Any, TaskScope], list[WriteStat]]]:
        """The pieces in the order of the plan, and what a worker does with each; both pickle."""

    @abstractmethod
    def commit(self, table: HudiTable, instant: str, plan: P, stats: Sequence[WriteStat]) -> CommitMetadata:
        """What the completed file says."""

    @abstractmethod
    def contended(self, plan: P) -> frozenset[FileGroupKey]:
        """File groups that no writer may have changed meanwhile."""

    @abstractmethod
    def why_not_cancelled(self, table: HudiTable, instant: Instant, plan: P) -> str | None:
        """What stands on the plan already, so that it can't be taken back."""


def carried_out(service: RewriteService[P], table: HudiTable, done: Instant) -> bool:
    """Whether a completed instant is what a plan of the service ended in."""
    requested = Instant(done.timestamp, service.timeline_action, State.REQUESTED)
    if done.action is not requested.at(State.COMPLETED).action or not table.timeline.has_content(requested):
        return False
    # a completed overwrite is a replace commit too
    is_sure = service.timeline_action is not Action.REPLACE_COMMIT
    return is_sure or table.timeline.commit_metadata(done, table.clock).operation_type is service.operation
