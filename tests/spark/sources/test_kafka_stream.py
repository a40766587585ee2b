"""A topic by Structured Streaming, whose truth are the table's commits: availableNow, continuous, stopped, killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.lake import Lake
from spark_jobs.core.table import HudiTable
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.engine.failure import failure_of
from spark_jobs.engine.progress import Phase, Progress
from spark_jobs.options.choices import Operation
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.ingest import ingest, write_frame
from spark_jobs.write.sources.checkpointed import run_checkpointed
from spark_jobs.write.sources.stopping import Stopping
from tests.faults.commands import environment, spark_submit
from tests.spark.conftest import kafka_connector
from tests.spark.sources.reading import Make, Reading, messages
from tests.words import all_words

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SECONDS = 120


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.1)


def commits(reading: Reading) -> list[str | None]:
    return reading.said() if (reading.path / ".hoodie" / "hoodie.properties").exists() else []


def test_all_that_is_there_comes_in_several_micro_batches(reading: Make) -> None:
    it = reading(2)
    it.topic.send(messages(range(4)), 0)
    it.topic.send(messages(range(4, 6)), 1)
    done = it.run(op=Operation.INSERT, available_now=True, source_limit=3, idempotency_key="run")
    said = it.said()
    assert (done.inserts, done.extra["batches"], len(said)) == (6, len(said), len(said))
    assert len(said) > 1
    assert (said[-1], done.extra["checkpoint"]) == (it.place(4, 2), it.place(4, 2))
    assert sorted(it.rows()) == list(range(6))
    assert it.run(op=Operation.INSERT, available_now=True).state is JobState.NOTHING_TO_DO
    at_end = it.run(op=Operation.INSERT, available_now=True, checkpoint=it.place(4, 2))
    assert (at_end.state, at_end.records_in, it.said()) == (JobState.COMPLETED, 0, [*said, it.place(4, 2)])
    again = it.run(available_now=True, idempotency_key="run", checkpoint=it.place(3, 1))
    assert (again.updates, again.extra["checkpoint"]) == (2, it.place(4, 2))
    it.run(checkpoint=it.place(4, 2))
    ended = it.run(available_now=True, idempotency_key="run", checkpoint=it.place(3, 1))  # its retry, long after
    assert (ended.instant, ended.repeated) == (again.instant, True)
    said = it.said()
    it.topic.send(messages(range(6, 8)), 1)
    assert it.run(op=Operation.INSERT, available_now=True, idempotency_key="run").inserts == 2
    assert sorted(it.rows()) == list(range(8))
    assert it.said() == [*said, it.place(4, 4)]


def test_what_came_before_a_bad_message_stands(reading: Make) -> None:
    it = reading()
    it.topic.send([*messages(range(2)), "no JSON", *messages(range(3, 5))])
    with pytest.raises(BadRecordError) as refused:
        it.run(available_now=True, source_limit=2)
    assert "offset 2 is no JSON of the schema" in failure_of(refused.value).message
    assert it.said() == [it.place(2)]
    it.run(available_now=True, checkpoint=it.place(3))
    assert sorted(it.rows()) == [0, 1, 3, 4]


def test_a_continuous_run_ends_when_it_is_asked_to(reading: Make) -> None:
    """It begins at the end of the topic, which it commits before a message comes."""
    it = reading()
    it.topic.send(messages(range(2)))
    stopping, results = Stopping(), list[JobResult]()
    options = it.options({"auto.offset.reset": "latest"}, op=Operation.INSERT, continuous=True).effective()

    def run() -> None:
        results.append(run_checkpointed(it.spark, options, Progress.silent("ingest"), write_frame, Lake(), stopping))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for last in (4, 6):
            wait_until(lambda last=last: it.place(last - 2) in commits(it))  # type: ignore[misc]
            it.topic.send(messages(range(last - 2, last)))
        wait_until(lambda: it.place(6) in commits(it))
    finally:
        stopping.ask("the test")
        thread.join(SECONDS)
    assert (results[0].inserts, results[0].extra["checkpoint"]) == (4, it.place(6))
    assert sorted(it.rows()) == [2, 3, 4, 5]


def pending(path: Path) -> list[str]:
    return [one.timestamp for one in HudiTable.open(str(path)).timeline.pending([Action.COMMIT])]


class _Snapshot(Progress):
    """Copies a folder at the moment when data is written and nothing published."""

    def __init__(self, source: Path, target: Path) -> None:
        super().__init__("test", stream=open(os.devnull, "w"))  # noqa: SIM115
        self._source, self._target = source, target

    def phase(self, name: str, total: int | None = None) -> AbstractContextManager[Phase]:
        if name == "publish":
            shutil.copytree(self._source, self._target)
        return super().phase(name, total)


@pytest.mark.parametrize("available_now", [False, True])
def test_messages_whose_writer_died_before_the_commit_are_written_once(
    reading: Make, tmp_path: Path, available_now: bool
) -> None:
    it = reading()
    it.topic.send(messages(range(2)))
    it.run(op=Operation.INSERT)
    it.topic.send(messages(range(2, 4)))
    left = tmp_path / "left"
    options = it.options(op=Operation.INSERT, available_now=available_now)
    ingest(it.spark, options, _Snapshot(it.path, left))
    it.path = left
    died = pending(left)
    beat = Path(heartbeat_path(str(left), died[0]))
    beat.write_text(json.dumps({"owner": {"pid": 1, "start": "", "host": "elsewhere"}}))
    os.utime(beat, (1, 1))
    assert (len(died), it.said(), len([*left.rglob("*.parquet")])) == (1, [it.place(2)], 2)
    assert it.run(op=Operation.INSERT, available_now=available_now).inserts == 2
    table = HudiTable.open(str(left))
    rolled_back = [table.timeline.payload(one, SYSTEM_CLOCK) for one in table.timeline.completed(Action.ROLLBACK)]
    assert [one["commitsRollback"] for one in rolled_back] == [died]
    assert (sorted(it.rows()), it.said()) == ([0, 1, 2, 3], [it.place(2), it.place(4)])


@pytest.fixture
def job(reading: Make, tmp_path: Path) -> Iterator[tuple[Reading, subprocess.Popen[str], Path]]:
    """``ingest.py --continuous`` by spark-submit, in a process group of its own, and where its stderr goes."""
    it = reading()
    it.topic.send(messages(range(2)))
    words = all_words(it.options(op=Operation.INSERT, continuous=True))
    command = spark_submit("ingest", *words)
    command[1:1] = ["--jars", ",".join(kafka_connector())]
    log = tmp_path / "stderr"
    with open(log, "w") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment(), process_group=0
        )
    yield it, process, log
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def test_sigterm_ends_a_job_after_the_batch_in_flight(job: tuple[Reading, subprocess.Popen[str], Path]) -> None:
    """To the whole process group, as Airflow and a terminal send it: the JVM must not go down under the batch."""
    it, process, log = job
    wait_until(lambda: it.place(2) in commits(it))
    it.topic.send(messages(range(2, 3)))
    wait_until(lambda: len(pending(it.path)) == 1)
    os.killpg(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=SECONDS)
    shown = log.read_text()
    assert process.returncode == 0, shown
    result = JobResult.from_json(output.splitlines()[-1])
    assert (result.inserts, result.extra["batches"]) == (3, 2)
    assert f"stopped by SIGTERM at checkpoint {it.place(3)}, after 2 batches" in shown
    assert (sorted(it.rows()), it.said()) == ([0, 1, 2], [it.place(2), it.place(3)])
