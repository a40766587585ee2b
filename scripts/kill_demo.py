"""Kill the demo again and again, start it again in the same folder each time, and look at what became of the tables.

First at the start of each phase (the metastore, Airflow's database, every task), then at seeded random moments; nothing
is reset in between, and at the end of each chain the demo runs through, so that its own check compares the rows. Then
every instant that a kill left pending must have its rollback on the timeline, no write may be there twice, and no data
file may belong to nobody.

    python scripts/kill_demo.py --random 20 --seed 1              everything dies: Airflow, drivers, workers, metastore
    python scripts/kill_demo.py --airflow-only --random 5         drivers and the metastore live on
"""

from __future__ import annotations

import argparse
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.kill_demo_tables import Pending, fates, pending_now, problems  # noqa: E402

MARKER = "PYHUDI_KILL_DEMO"
"""An environment variable that every process below the demo inherits: only what carries this run's token is killed."""

WORK_SECONDS = 300.0
TASK_SECONDS = 20.0
"""About what all tasks take that have something to do, and one of them.

Random moments are spread over a whole chain, or lie within the tasks that were asked for. They count from the first
task that has not ended yet: a start of the metastore, which each run begins with, is a phase and no moment of work.
"""

_STARTED = re.compile(r"^(?:  (?P<task>\w+) +|(?P<step>Hive metastore|Airflow's database) +)$")
_ENDED = re.compile(r"^(?:  (?P<task>\w+) +|(?P<step>Hive metastore|Airflow's database) +)[\d.]+ s  (?:\S.*)$")
_JOB_PHASE = re.compile(r"\] \w+: (\w+)(?: \(0 of \d+\))? \.\.\.")
_QUARTER = re.compile(r"_q\d$")
_NOTES = re.compile(
    r"\b(rolled back \d+[^\[]*?\)|another process (?:writes|executes|completed)[^;\[]*"
    r"|instant \d+ already did this write|instant \d+ may not be published[^\[:]*)"
)


@dataclass(slots=True)
class Run:
    """One start of the demo, until it was killed or ended."""

    done: set[str] = field(default_factory=set)
    running: str = "start"
    killed_after: float | None = None
    code: int | None = None
    text: str = ""


@dataclass(slots=True, kw_only=True)
class Kill:
    number: int
    moment: str
    running: str
    pending: tuple[Pending, ...]
    survivors: int


class Chain:
    """One folder: killed many times, never reset."""

    def __init__(self, directory: Path, options: argparse.Namespace, token: str) -> None:
        self.directory = directory
        self.airflow_only: bool = options.airflow_only
        self.every: int = options.every
        self.task_starts: bool = options.phases in ("tasks", "all")
        self.job_phases: bool = options.phases in ("jobs", "all")
        self.tasks: re.Pattern[str] = options.tasks
        self.token = token
        for part in ("sources", "tables") if options.start_from else ():
            shutil.copytree(options.start_from / part, directory / part)
        if options.start_from and (options.start_from / ".every").exists():
            shutil.copy(options.start_from / ".every", directory)
        self.kills: list[Kill] = []
        self.finished: set[str] = set()

    def run(self, at_start_of: set[str] | None = None, after: float | None = None) -> Run:
        """Start the demo and kill it at the start of a phase that is not in ``at_start_of``, or ``after`` seconds of
        work that was not done before; with neither let it run through.
        """
        command = [sys.executable, "-m", "dags_examples.demo", "--directory", str(self.directory)]
        command += ["--every", str(self.every), "--keep-metastore"]
        environment = {**os.environ, MARKER: self.token, "PYTHONUNBUFFERED": "1"}
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        child = subprocess.Popen(
            command,
            env=environment,
            cwd=self.directory.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        run = Run()
        deadline: float | None = None
        began = time.monotonic()
        chunks = _chunks(child)
        line, read, summary = "", 0, False
        while True:
            if deadline is not None and time.monotonic() >= deadline:
                self._kill(child)
                run.killed_after = time.monotonic() - began
                break
            try:
                chunk = chunks.get(timeout=0.05 if deadline is None else max(deadline - time.monotonic(), 0.0))
            except queue.Empty:
                if self.job_phases and at_start_of is not None and self.tasks.search(run.running) and not summary:
                    phase, read = self._job_phase(run, read)
                    if phase and phase not in at_start_of:
                        run.running, deadline = phase, time.monotonic()
                continue
            if not chunk:
                break
            run.text += chunk
            for character in chunk:
                if summary:
                    break
                if character != "\n":
                    line += character
                    started = _STARTED.match(line)
                    name = (started["task"] or started["step"]) if started else run.running
                    if name == run.running:
                        continue
                    run.running = name
                    read = len(self.log())
                    if not self.tasks.search(name):
                        continue
                    if self.task_starts and at_start_of is not None and name not in at_start_of:
                        deadline = time.monotonic()
                    if (
                        after is not None
                        and deadline is None
                        and started
                        and started["task"] not in {None, *self.finished}
                    ):
                        deadline = time.monotonic() + after
                    continue
                if ended := _ENDED.match(line):
                    run.done.add(ended["task"] or ended["step"])
                summary, line = line == "What ran:", ""
        run.code = child.wait()
        self.finished |= run.done
        return run

    def _job_phase(self, run: Run, read: int) -> tuple[str | None, int]:
        """The phase that the running job has come to since ``read`` characters of the log, without the quarter."""
        log = self.log()
        phases = _JOB_PHASE.findall(log[read:])
        task = _QUARTER.sub("", run.running.partition(":")[0])
        return (f"{task}:{phases[-1]}" if phases else None), len(log)

    def _kill(self, child: subprocess.Popen[bytes]) -> None:
        if self.airflow_only:
            os.killpg(child.pid, signal.SIGKILL)
            return
        # All are held before the first dies: no process may see another's end.
        held: dict[int, psutil.Process] = {}
        while fresh := [process for process in self.alive() if process.pid not in held]:
            for process in fresh:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
                held[process.pid] = process
        for process in held.values():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        while self.alive():
            time.sleep(0.02)

    def alive(self) -> list[psutil.Process]:
        """The processes that this chain's demo started and that still run."""
        return [process for process in psutil.process_iter() if _is_ours(process, self.token)]

    def stop(self) -> None:
        """End what is left: the metastore, after the last run."""
        for process in self.alive():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def log(self) -> str:
        path = self.directory / "logs" / "flights_demo.log"
        return re.sub(r"\x1b\[[0-9;]*m", "", path.read_text(errors="replace")) if path.exists() else ""


def _is_ours(process: psutil.Process, token: str) -> bool:
    try:
        return process.environ().get(MARKER) == token and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:  # it ended, or is another user's
        return False


def _chunks(child: subprocess.Popen[bytes]) -> queue.Queue[str]:
    """What the child says, as it says it; an empty text at its end."""
    found: queue.Queue[str] = queue.Queue()
    assert child.stdout is not None
    pipe = child.stdout.fileno()

    def read() -> None:
        while data := os.read(pipe, 4096):
            found.put(data.decode(errors="replace"))
        found.put("")

    threading.Thread(target=read, daemon=True).start()
    return found


class Harness:
    """Kills by plan, one line for each, and what went wrong."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.token = uuid.uuid4().hex
        self.random = random.Random(options.seed)
        self.wrong: list[str] = []
        self.number = 0
        self.chain_number = 0
        self.chain = self._new_chain()

    def _new_chain(self) -> Chain:
        self.chain_number += 1
        directory: Path = self.options.directory / f"chain{self.chain_number}"
        directory.mkdir()
        return Chain(directory, self.options, self.token)

    def go(self) -> None:
        if self.options.phases != "none":
            seen: set[str] = set()
            while self._step("phase start", at_start_of=seen):
                seen.add(self.chain.kills[-1].running)
        randoms = 0
        while randoms < self.options.random:
            whole = 2 * WORK_SECONDS / (self.options.random + 1)
            after = self.random.uniform(0.0, TASK_SECONDS if self.options.tasks.pattern else whole)
            if self._step(f"{after:5.2f} s into new work", after=after):
                randoms += 1
            else:
                self.chain = self._new_chain()
        if self.chain.kills:
            self._step("", at_start_of=None)

    def _step(self, moment: str, at_start_of: set[str] | None = None, after: float | None = None) -> bool:
        """One start of the demo; whether it was killed."""
        chain = self.chain
        run = chain.run(at_start_of, after)
        if chain.kills:
            self._tell(chain, chain.kills[-1], run)
        if run.killed_after is None:
            self._check(chain, run)
            return False
        self.number += 1
        pending = pending_now(chain.directory / "tables")
        chain.kills.append(
            Kill(
                number=self.number,
                moment=moment,
                running=run.running,
                pending=pending,
                survivors=len(chain.alive()),
            )
        )
        return True

    def _tell(self, chain: Chain, kill: Kill, after: Run) -> None:
        """One line about a kill, once the next run has shown what it makes of it."""
        notes = list(dict.fromkeys(found.strip() for found in _NOTES.findall(chain.log())))
        interesting = [note for note in notes if any(one.instant in note for one in kill.pending)]
        became = fates(chain.directory / "tables", kill.pending)
        left = ", ".join(f"{one}: {became[one]}" for one in kill.pending) or "nothing pending"
        print(
            f"kill {kill.number:>3}  seed {self.options.seed}  {kill.moment:<24} in {kill.running:<22} "
            f"{f'{kill.survivors} live on; ' if kill.survivors else ''}{left}"
            f"{'; the next run: ' + '; '.join(interesting) if interesting else ''}",
            flush=True,
        )
        if after.killed_after is None and after.code != 0:
            tail = "\n      ".join(after.text.strip().splitlines()[-6:])
            self.wrong.append(f"after kill {kill.number} the demo ended with {after.code}:\n      {tail}")

    def _check(self, chain: Chain, run: Run) -> None:
        while chain.airflow_only and any("metastore" not in " ".join(_words(one)).lower() for one in chain.alive()):
            time.sleep(0.5)  # drivers that outlived their Airflow end by themselves
        if run.code != 0 and not chain.kills:
            self.wrong.append(f"the demo ended with {run.code} without a kill:\n{run.text[-600:]}")
        before = [one for kill in chain.kills for one in kill.pending]
        self.wrong += problems(chain.directory / "tables", before, airflow_only=chain.airflow_only)
        verdict = "rows equal" if run.code == 0 else f"ended with {run.code}"
        print(f"chain {self.chain_number}: {len(chain.kills)} kill(s), then run to its end: {verdict}", flush=True)
        chain.stop()


def _words(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return ["metastore"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="kill_demo.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--directory", type=Path, help="where the chains are (a new temporary folder)")
    parser.add_argument("--random", type=int, default=20, metavar="N", help="kills at random moments (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the random moments (%(default)s)")
    parser.add_argument(
        "--phases",
        choices=("tasks", "jobs", "all", "none"),
        default="tasks",
        help="kill at the start of each task, of each phase inside each kind of job, of both, or of none (%(default)s)",
    )
    parser.add_argument(
        "--airflow-only", action="store_true", help="kill the demo's process group: drivers and metastore live on"
    )
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th flight alone (%(default)s: all)")
    parser.add_argument(
        "--tasks", type=re.compile, default=re.compile(""), metavar="REGEX", help="kill within these tasks alone (all)"
    )
    parser.add_argument(
        "--from",
        dest="start_from",
        type=Path,
        metavar="DIRECTORY",
        help="begin each chain with the sources and tables of this folder of the demo, instead of nothing",
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder also where all went well")
    options = parser.parse_args(arguments)
    options.directory = (options.directory or Path(tempfile.mkdtemp(prefix="kill-demo-"))).resolve()
    options.directory.mkdir(parents=True, exist_ok=True)
    if any(options.directory.iterdir()):
        print(f"kill_demo.py: {options.directory} is not empty: name a new folder", file=sys.stderr)
        return 2
    if options.start_from and not (options.start_from / "tables").is_dir():
        print(f"kill_demo.py: --from {options.start_from} is no folder of the demo", file=sys.stderr)
        return 2
    began = time.monotonic()
    harness = Harness(options)
    try:
        harness.go()
    finally:
        harness.chain.stop()
    for line in harness.wrong:
        print(f"WRONG  {line}")
    took = (time.monotonic() - began) / 60
    print(
        f"{'FAILED' if harness.wrong else 'PASSED'}: {harness.number} kills "
        f"({'Airflow alone' if options.airflow_only else 'everything'}), {harness.chain_number} chain(s), "
        f"seed {options.seed}, {len(harness.wrong)} wrong, {took:.0f} min; {options.directory}"
    )
    if not harness.wrong and not options.keep:
        shutil.rmtree(options.directory)
    return 1 if harness.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
