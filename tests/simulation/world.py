"""A world: processes of every role at one table, and what has to be true of it, meanwhile and at the quiet end."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import ConfigError, LockNotAcquiredError, StorageError, WriteConflictError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.context import JobContext
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.options import (
    ArchiveOptions,
    CleanOptions,
    ClusteringOptions,
    CompactionOptions,
    RestoreOptions,
    SavepointOptions,
)
from spark_jobs.options.choices import Operation
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.services.archival.job import run_archival
from spark_jobs.services.cleaning.job import run_cleaning
from spark_jobs.services.clustering.job import run_clustering
from spark_jobs.services.compaction.job import run_compaction
from spark_jobs.services.metadata import maintain_metadata_table
from spark_jobs.services.restore.job import run_restore
from spark_jobs.services.rollback.failed_writes import roll_back_failed_writes
from spark_jobs.services.savepoint.job import run_savepoint
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import validate
from spark_jobs.write.config import resolve
from spark_jobs.write.direct.arrow_source import ArrowSource
from spark_jobs.write.source_rows import write_source
from tests.faults import local_table as local
from tests.simulation.attempts import Attempts, EngineOfAttempts
from tests.simulation.clock import SimulatedClock, SimulatedProcesses
from tests.simulation.hudi import HudiWriter
from tests.simulation.model import Model, Write
from tests.simulation.plan import Plan, second_try_of
from tests.simulation.scheduler import Crash, Scheduler, Task
from tests.simulation.storage import SimulatedStorage
from tests.support.folder import Folder

SCHEME = "sim"
URL = f"{SCHEME}://lake/t"
TRIES, LAST_ROUNDS = 3, 6
_PAUSES = (0.0, 0.02, 0.05, 0.2, 2.0)
"""Seconds between what a role does; a write takes about 0.2."""
_LONGER_THAN_ANY_LEASE = 900.0
REFUSALS = (WriteConflictError, LockNotAcquiredError, StorageError)
"""After which a task is tried again. Of the storage too: a file that a clean took away, or a call that failed."""


def _is_late(found: Finding) -> bool:
    """A file of a write that was rolled back, or a torn part of one: a loss of power may take its marker and leave it.
    No reader sees it, and archival deletes it when it passes the write.
    """
    return found.invariant in (5, 7) and not found.is_error


@dataclass(kw_only=True)
class World:
    """``left`` are writes that no try of their task did."""

    plan: Plan
    model: Model
    scheduler: Scheduler
    storage: SimulatedStorage
    clock: SimulatedClock
    processes: SimulatedProcesses
    random: Random
    """Pauses between what a role does."""
    attempts: Attempts | None = None
    """None: each task runs once."""
    tries: int = TRIES
    """Of a task."""
    left: list[Write] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def lake(self) -> Lake:
        return Lake(storages={SCHEME: self.storage}, clock=self.clock)

    def _begin(self, within_ms: float) -> None:
        """All roles, each with a task of its own, that begins by chance; writers in the first half."""
        for role, writes in self.plan.writers.items():
            for name in (role, second_try_of(role)) if role in self.plan.doubled else (role,):
                self.scheduler.add(
                    Task(name, None, partial(self._write_all, name, writes), self.random.uniform(0, within_ms / 2))
                )
        for role, writes in self.plan.foreign.items():
            begins_at = self.random.uniform(0, within_ms / 2)
            self.scheduler.add(Task(role, None, partial(self._write_as_hudi, role, writes), begins_at))
        for role, services in self.plan.services.items():
            self.scheduler.add(
                Task(role, None, partial(self._serve, role, services), self.random.uniform(0, within_ms))
            )

    def live(self, *, within_ms: float = 1000) -> tuple[str, ...]:
        """All of it, and where nothing was wrong the quiet end; what is wrong."""
        self._begin(within_ms)
        self.scheduler.run()
        self._calm_down()
        if not self.wrong and not self.scheduler.ended_by:
            self.scheduler.add(Task("end", None, self._end, self.scheduler.now_ms))
            self.scheduler.run()
        if self.model.is_void:
            return ()
        return tuple(self.wrong) or ((self.scheduler.ended_by,) if self.scheduler.ended_by else ())

    def _calm_down(self) -> None:
        self.storage.weather.is_calm = True
        if self.attempts is not None:
            self.attempts.is_over = True

    def refuse(self, what: str) -> None:
        """Something is wrong: the world ends with it."""
        self.wrong.append(what)
        self.storage.note(f"WRONG: {what}")
        self.scheduler.end("something is wrong")

    def _write_all(self, role: str, writes: tuple[Write, ...]) -> None:
        for write in writes:
            if not any(self._tried(role, write) for _ in range(self.tries)):
                self.left.append(write)
            self.clock.sleep(self.random.choice(_PAUSES))

    def _write_as_hudi(self, role: str, writes: tuple[Write, ...]) -> None:
        for write in writes:
            hudi = HudiWriter(
                url=URL,
                lake=self.lake,
                clock=self.clock,
                scheduler=self.scheduler,
                model=self.model,
                conf=self.plan.conf,
                beat_ms=self.plan.pace.beat_ms,
                random=self.random,
            )
            self._process(role, f"upsert {write.key}", partial(hudi.write, write))
            self.clock.sleep(self.random.choice(_PAUSES))

    def _tried(self, role: str, write: Write) -> bool:
        """By one try of its task."""
        ended = self._process(role, f"{write.kind} {write.key}", partial(self.write, write))
        lapse = self.plan.pace.lapse_ms / 1000
        if ended:
            self.clock.sleep(self.random.choice((0.1, lapse / 24, lapse / 2)))
        elif not self.model.is_done(write.key):
            self.refuse(f"write {write.key} is acknowledged and was never committed")
        return not ended

    def _serve(self, role: str, services: tuple[str, ...]) -> None:
        for service in services:
            self._process(role, service, partial(self.serve, service))
            self.clock.sleep(self.random.choice(_PAUSES))

    def _process(self, role: str, name: str, work: Callable[[], object]) -> str:
        """Run something in a process of its own; how it ended: empty when it is done."""
        task = self.scheduler.current
        assert task is not None
        task.process = self.processes.new(role, self.plan.hosts.get(role, "one"), self.plan.skews_ms.get(role, 0))
        self.storage.note(f"begins {name}")
        ended = ""
        try:
            work()
            self.storage.note(f"has done {name}")
        except Crash:
            ended = "died"
        except REFUSALS as error:
            ended = f"{type(error).__name__}: {error}"
            self.storage.note(f"could not {name}: {ended}")
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"
            place = "".join(traceback.format_tb(error.__traceback__)[-3:])
            self.refuse(f"{name} failed with {ended}\n{place}")
        self.scheduler.kill(task.process)
        task.process = None
        while self.model.wrong:
            self.refuse(self.model.wrong.pop())
        self.scheduler.check()
        return ended

    def write(self, write: Write) -> None:
        rows = [
            {"id": one, "p": local.PARTITIONS[one % len(local.PARTITIONS)], "v": write.key, "ts": 1}
            for one in write.ids
        ]
        table = HudiTable.open(URL, lake=self.lake)
        options = IngestOptions(
            base_path=table.url,
            op=Operation(write.kind),
            idempotency_key=write.key,
            hoodie_conf=tuple(self.plan.conf.items()),
        )
        config = resolve(options, table, table.lake)
        source = ArrowSource.of(pa.Table.from_pylist(rows, schema=local.SCHEMA), config.name)
        write_source(config, table, source, self._engine(), self._progress())

    def serve(self, service: str) -> None:
        """One run of a service, or of a reader."""
        conf = self.plan.conf
        given: dict[str, Any] = {"base_path": URL, "hoodie_conf": conf}
        mode, _, name = service.rpartition(" ")
        if name in ("compact", "cluster"):
            given["mode"] = mode if mode in ("schedule", "execute") else "scheduleAndExecute"
        if mode == "log":
            given["log_compaction"] = True
        context = JobContext(lake=self.lake, progress=self._progress(), engine=self._engine())
        settings = HudiTable.open(URL, lake=self.lake).transaction_settings(conf)
        {
            "read": lambda: self._read(mode),
            "compact": lambda: run_compaction(CompactionOptions(**given), context),
            "cluster": lambda: run_clustering(ClusteringOptions(**given), context),
            "clean": lambda: run_cleaning(CleanOptions(**given), context),
            "archive": lambda: run_archival(ArchiveOptions(**given), context),
            "maintain": lambda: maintain_metadata_table(settings, conf, context.progress.note),
            "back": lambda: roll_back_failed_writes(settings),
            "savepoint": lambda: run_savepoint(SavepointOptions(**given), context),
            "restore": lambda: self._restore(context),
        }[name]()

    def _restore(self, context: JobContext) -> None:
        """Back to the last savepoint, where there is one."""
        saved = self._savepoints()
        if saved:
            assert self.scheduler.process is not None
            self.model.undoers.append(self.scheduler.process)
            options = RestoreOptions(base_path=URL, hoodie_conf=self.plan.conf, savepoint=saved[-1])
            run_restore(options, context)

    def _savepoints(self) -> list[str]:
        timeline = HudiTable.open(URL, lake=self.lake).timeline
        return [one.timestamp for one in timeline.completed(Action.SAVEPOINT)]

    def _read(self, mode: str) -> None:
        """What is there, was there at some moment (``moment``; ``saved``: at a savepoint), or was written since one
        (``since``).
        """
        first, table = len(self.model.states), HudiTable.open(URL, lake=self.lake)
        completed = [one.timestamp for one in table.timeline.completed_commits()]
        if mode == "saved":
            completed = [one.timestamp for one in table.timeline.completed(Action.SAVEPOINT)]
        moment = self.random.choice(completed) if mode and completed else ""
        query: dict[str, str] = {}
        if moment:
            query = {"query": "incremental", "begin": moment} if mode == "since" else {"as_of": moment}
        try:
            found = table.scan(columns=["id", "v"], **query).to_arrow().to_pylist()
        except ConfigError as error:
            if not moment or mode == "saved":
                raise
            self.storage.note(f"is refused: {error}")  # cleaning took what was there then
            return
        if not moment:
            allowed = self.model.states[first - 1 :]
        elif mode != "since":
            allowed = self.model.states_as_of(moment, first)
        else:
            allowed = self.model.states_since(moment, first)
        if why := self.model.why_not_read(((row["id"], row["v"]) for row in found), allowed):
            self.refuse(f"a reader of {query or 'all'} sees {why}")

    def _end(self) -> None:
        """Nothing fails any more: what is left is done, nothing stays pending, and the table is sound."""
        for number in range(LAST_ROUNDS):
            self.clock.sleep(_LONGER_THAN_ANY_LEASE)
            ended = [self._process("end", "roll back", partial(self.serve, "roll back"))]
            if self._half_undone():
                ended.append(self._process("end", "restore", partial(self.serve, "restore")))
            ended += [self._process("end", "savepoint", partial(self._save, one)) for one in self._half_saved()]
            ended += [self._process("end", str(plan[0]), partial(self._settle, *plan)) for plan in self._plans()]
            ended += [self._process("end", f"{one.kind} {one.key}", partial(self.write, one)) for one in self.left]
            if not any(ended):
                break
            if number == LAST_ROUNDS - 1:
                self.refuse(f"after {LAST_ROUNDS} quiet rounds it still ends so: {[one for one in ended if one]}")
        for service in ("clean", "clean", "maintain", "read"):
            if why := self._process("end", service, partial(self.serve, service)):
                self.refuse(f"at the quiet end {service} fails: {why}")
        self._process("end", "validate", self._validate)
        if self._savepoints():
            for service in ("saved read", "restore", "read"):
                if why := self._process("end", service, partial(self.serve, service)):
                    self.refuse(f"at the quiet end {service} fails: {why}")
            self._process("end", "validate", self._validate)

    def _half_undone(self) -> bool:
        return bool(HudiTable.open(URL, lake=self.lake).timeline.pending({Action.RESTORE}))

    def _half_saved(self) -> list[str]:
        """Commits that whoever began to save them did not."""
        timeline = HudiTable.open(URL, lake=self.lake).timeline
        return [one.timestamp for one in timeline.pending({Action.SAVEPOINT})]

    def _save(self, instant: str) -> None:
        context = JobContext(lake=self.lake, progress=self._progress(), engine=self._engine())
        run_savepoint(SavepointOptions(base_path=URL, hoodie_conf=self.plan.conf, instant_time=instant), context)

    def _plans(self) -> list[tuple[str, str]]:
        timeline = HudiTable.open(URL, lake=self.lake).timeline
        kinds = {Action.COMPACTION: "compact", Action.LOG_COMPACTION: "log compact", Action.REPLACE_COMMIT: "cluster"}
        return [(kinds[one.action], one.timestamp) for one in timeline.pending(set(kinds))]

    def _settle(self, name: str, instant: str) -> None:
        """Carry a plan out, or take it back where it is out of date."""
        context = JobContext(lake=self.lake, progress=self._progress(), engine=self._engine())
        given: dict[str, Any] = {"base_path": URL, "hoodie_conf": self.plan.conf, "instant_time": instant}

        def run(mode: str) -> None:
            if name == "cluster":
                run_clustering(ClusteringOptions(**given, mode=mode), context)
            else:
                run_compaction(CompactionOptions(**given, mode=mode, log_compaction=name == "log compact"), context)

        try:
            run("execute")
        except WriteConflictError:
            run("cancel")

    def _validate(self) -> None:
        for write in self.plan.writes.values():
            if not self.model.is_done(write.key):
                self.refuse(f"write {write.key} was never committed")
        found = validate(URL, deep=True, lake=self.lake)
        late = [one for one in found if self.storage.lost_power and _is_late(one)]
        late += [one for one in found if one.invariant == 7 and self._is_not_promised(one)]
        for one in found:
            if one not in late:
                self.refuse(f"validation finds {one}")
        for problem in local.problems_of(Folder(URL, self.lake)):
            if not any(problem.startswith(one.path) for one in late):
                self.refuse(f"at the quiet end {problem}")

    def _is_not_promised(self, found: Finding) -> bool:
        """A file of a task that died before it could see that it made it too late; one that a writer like Hudi, which
        never looks, made after it was rolled back.
        """
        given_up = self.model.foreign.keys() - self.model.committed
        return f"{URL}/{found.path}" in self.storage.left_by_dead or any(one in str(found) for one in given_up)

    def _engine(self) -> LocalEngine:
        return LocalEngine(self.clock) if self.attempts is None else EngineOfAttempts(self.clock, self.attempts)

    def _progress(self) -> Progress:
        return Progress.silent("simulated", self.clock)
