"""One execution of a plan that stands on the timeline: claim it, do what is not done yet, publish.

A run that stops before all pieces are done, killed or by its budget, leaves the instant inflight with a record of each
finished piece; the next run goes on from there. Hudi knows nothing of the records: it rolls the inflight instant back,
which makes them void as it removes the files, and does all of it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from spark_jobs.core.errors import WriteConflictError
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.storage import resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.write_stat import WriteStat, written_paths
from spark_jobs.core.transaction.transaction import Transaction, TransactionSettings
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.budget import Budget, that_fit, waves
from spark_jobs.frame.nothing import Nothing
from spark_jobs.frame.results import written
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.services.rewriting.completion import CompletionRecords, Recorded
from spark_jobs.services.rewriting.context import claim
from spark_jobs.services.rewriting.service import P, RewriteService
from spark_jobs.services.rollback.failed_writes import undo

Finished = Mapping[int, list[WriteStat]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution(Generic[P]):
    """What one run needs to carry a plan out; ``note`` is for the extra metadata of the commit."""

    service: RewriteService[P]
    engine: Engine
    settings: TransactionSettings
    budget: Budget
    progress: Progress
    note: Mapping[str, str] = field(default_factory=dict)

    def run(self, table: HudiTable, wanted: Instant) -> JobResult:
        """Do what fits the budget; publish when nothing is left."""
        service, time = self.service, wanted.timestamp
        plan = service.read(table, wanted)
        records = CompletionRecords.of(table.timeline, table.base_path, wanted, len(plan.piece_bytes))
        before = records.finished() if wanted.state is State.INFLIGHT else {}
        left = [size for number, size in enumerate(plan.piece_bytes) if number not in before]
        if left and not that_fit(left, self.budget.max_bytes):
            return Nothing(
                f"{len(left)} {service.piece}(s) of {service.action} {time} are left, the smallest has {min(left)} "
                f"bytes, more than {self.budget.text()}"
            ).result(service.action, table)
        transaction = claim(self.settings, wanted, self.progress.note, records)
        if transaction is None:
            return Nothing(f"another process completed {service.action} {time}").result(service.action, table)
        finished = records.finished() if transaction.instant.state is State.INFLIGHT else {}
        resumed = len(finished)
        if resumed:
            self.progress.note(f"{resumed} {service.piece}(s) of {time} were finished by an earlier run and stay")
        try:
            table = table.refreshed()
            transaction.refuse_conflict(service.contended(plan))
            pieces, work = service.work(table, time, plan)
            if transaction.instant.state is State.REQUESTED:  # a plan that is out of date stays as it is till then
                transaction.to_inflight()
            engine = self._work(plan, pieces, Recorded(work, records), finished)
            if len(finished) < len(plan.piece_bytes):
                transaction.abandon()
                return self._unfinished(table, time, plan, finished, resumed, engine)
            done = self._publish(table, transaction, plan, finished)
            records.clear()
        except BaseException as error:
            transaction.abandon()
            self._leave(time, records, error)
            raise
        stats = [stat for number in sorted(finished) for stat in finished[number]]
        result = written(service.action, table, done.timestamp, stats, files_in=plan.files_in, bytes_in=plan.bytes_in)
        return replace(result, extra={**result.extra, **plan.facts(), "engine": engine, "resumed": resumed})

    def _work(self, plan: P, pieces: Sequence[Any], recorded: Recorded, finished: dict[int, list[WriteStat]]) -> str:
        """Add what this run does to ``finished``; the engine's name."""
        left = {number: size for number, size in enumerate(plan.piece_bytes) if number not in finished}
        engine = self.engine.settle(sum(left.values()))
        with self.progress.phase(self.service.phase, len(left)) as phase:
            for wave in waves(left, self.budget, lambda: self.engine.slots):
                numbered, sizes = [(number, pieces[number]) for number in wave], [left[number] for number in wave]
                done = self.engine.run_each(numbered, recorded, phase.advance, sizes)
                finished.update(zip(wave, done, strict=True))
        return engine

    def _publish(self, table: HudiTable, transaction: Transaction, plan: P, finished: Finished) -> Instant:
        stats = [stat for number in sorted(finished) for stat in finished[number]]

        def check(timeline: ActiveTimeline) -> None:
            for path in sorted(written_paths(stats)):
                if table.storage.stat(resolve(table.base_path, path)) is None:
                    raise WriteConflictError(
                        f"{path} of {transaction.time} is gone: another process rolled the {self.service.action} back",
                        todo="run it again; nothing of it is visible",
                        instant=transaction.time,
                    )

        with self.progress.phase("publish"):
            commit = self.service.commit(table, transaction.time, plan, stats)
            payload = replace(commit, extra_metadata={**commit.extra_metadata, **self.note}).payload()
            contended = self.service.contended(plan)
            return transaction.publish(payload, contended, written=written_paths(stats), check=check)

    def _unfinished(
        self, table: HudiTable, time: str, plan: P, finished: Finished, resumed: int, engine: str
    ) -> JobResult:
        sizes, piece = plan.piece_bytes, self.service.piece
        left = [size for number, size in enumerate(sizes) if number not in finished]
        stats = [stat for number in sorted(finished) for stat in finished[number]]
        result = written(self.service.action, table, time, stats, files_in=plan.files_in, bytes_in=plan.bytes_in)
        return replace(
            result,
            state=JobState.SCHEDULED,
            reason=(
                f"{len(finished)} of {len(sizes)} {piece}(s) are done, {len(left)} of {sum(left)} bytes are left for a "
                f"later run ({self.budget.text()}); nothing is published before all are"
            ),
            extra={**plan.facts(), "engine": engine, "resumed": resumed, "done": len(finished), "left": len(left)},
        )

    def _leave(self, time: str, records: CompletionRecords, error: BaseException) -> None:
        """After an error: finished pieces stay for the next run; without any, or where the plan itself is at fault,
        the instant goes back to requested.
        """
        finished = 0 if isinstance(error, WriteConflictError) else records.count()
        if not finished:
            undo(self.settings, time, self.progress.note)
            records.clear()
            return
        self.progress.note(
            f"{finished} {self.service.piece}(s) of {self.service.action} {time} are finished; the next run goes on"
        )
