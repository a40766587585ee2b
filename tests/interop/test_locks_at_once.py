"""Real Hudi 0.15.0 and we write one table at the same time, with a lock that a server keeps: no commit is lost, and
nobody is in while another is.

When Hudi is in, its log says: its TransactionManager writes ``Transaction started`` when it has the lock, and
``Transaction ending`` before it gives it back.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.interop.lines import ServerError
from tests.interop.real_hudi import RealHudi
from tests.nightly import NIGHTLY
from tests.support.in_turn import options_of
from tests.support.server_locks import SERVERS

WRITERS = 10 if NIGHTLY else 5
"""Of each kind."""
LOG_SETTINGS = """
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{UNIX_MILLIS} %t %m%n
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
logger.locks.name = org.apache.hudi.client.transaction
logger.locks.level = info
"""
QUIET = {"spark.ui.showConsoleProgress": "false"}
OURS = """
import json, sys
import pyarrow as pa
from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.locks.server_lock import ServerLock
from spark_jobs.core.table import HudiTable

def now():
    return SYSTEM_CLOCK.now().timestamp() * 1000

class Logged(ServerLock):
    def acquire(self):
        super().acquire()
        self.begun = now()

    def release(self):
        if self.is_held():
            print(json.dumps([self.begun, now()]), flush=True)
        super().release()

import spark_jobs.core.locks.choose as choose
choose.ServerLock = Logged
path, first, last, conf = json.loads(sys.argv[1])
for number in range(first, last):
    rows = pa.table({"id": [f"ours-{number}-{key}" for key in range(20)], "p": [f"ours-{number}"] * 20,
                     "value": pa.array([number] * 20, pa.int64())})
    HudiTable.open(path).upsert(rows, hoodie_conf=conf)
"""
_STEPS = re.compile(r"^(\d{13}) \S+ Transaction (started|ending)", re.MULTILINE)
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Hudis:
    """Hudi, and the log of its locks."""

    hudi: RealHudi
    log: Path

    def inside(self) -> list[Interval]:
        """When it held the lock, by the clock of this machine in milliseconds since the epoch."""
        found, begun = [], 0.0
        for at_ms, step in _STEPS.findall(self.log.read_text(errors="replace")):
            if step == "started":
                begun = float(at_ms)
            elif begun:
                found.append((begun, float(at_ms)))
                begun = 0.0
        return found


@pytest.fixture(scope="module")
def hudis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hudis]:
    folder = tmp_path_factory.mktemp("real-hudi")
    settings = folder / "log4j2.properties"
    settings.write_text(LOG_SETTINGS)
    with RealHudi(folder / "spark.log", log_settings=settings, session=QUIET) as hudi:
        yield Hudis(hudi, folder / "spark.log")


@pytest.fixture(params=["zookeeper", "hive"])
def lock(request: pytest.FixtureRequest) -> dict[str, str]:
    make: Callable[[], dict[str, str]] = SERVERS[request.param]
    return make()


def options(table_type: str, lock: Mapping[str, str]) -> dict[str, str]:
    return {
        **options_of(table_type),
        "hoodie.cleaner.policy.failed.writes": "LAZY",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "500",
        **lock,
    }


def rows(writer: str, number: int) -> pa.Table:
    return pa.table(
        {
            "id": [f"{writer}-{number}-{key}" for key in range(20)],
            "p": [f"{writer}-{number}"] * 20,
            "value": pa.array([number] * 20, pa.int64()),
        }
    )


def assert_one_at_a_time(inside: list[Interval]) -> None:
    ordered = sorted(inside)
    for one, following in pairwise(ordered):
        assert one[1] <= following[0], (one, following)


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_writers_of_both_kinds_at_once(hudis: Hudis, lock: dict[str, str], tmp_path: Path, table_type: str) -> None:
    path, conf = tmp_path / "t", options(table_type, lock)
    hudis.hudi.write(path, rows("first", 0), "bulk_insert", conf)
    before = len(hudis.inside())
    halves = [(0, WRITERS // 2), (WRITERS // 2, WRITERS)]
    children = [
        subprocess.Popen(
            [sys.executable, "-c", OURS, json.dumps([str(path), first, last, conf])], stdout=subprocess.PIPE, text=True
        )
        for first, last in halves
    ]
    for number in range(WRITERS):
        hudis.hudi.write(path, rows("hudis", number), "upsert", conf)
    said = [child.communicate()[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    ours = [tuple(json.loads(line)) for text in said for line in text.splitlines()]
    theirs = hudis.inside()[before:]
    assert len(ours) >= 2 * WRITERS
    assert len(theirs) >= WRITERS
    assert max(one[0] for one in theirs) > min(one[0] for one in ours)  # they were at work at the same time
    assert min(one[0] for one in theirs) < max(one[0] for one in ours)
    assert_one_at_a_time([*ours, *theirs])
    expected = {f"first-0-{key}" for key in range(20)} | {
        f"{writer}-{number}-{key}" for writer in ("ours", "hudis") for number in range(WRITERS) for key in range(20)
    }
    for found in (hudis.hudi.read(path), HudiTable.open(str(path)).scan().to_arrow()):
        assert found.num_rows == len(expected)
        assert set(found["id"].to_pylist()) == expected
    commits = [one for one in hudis.hudi.show_commits(path) if one["action"] in ("commit", "deltacommit")]
    assert [one["state"] for one in commits] == ["COMPLETED"] * (1 + 2 * WRITERS)
    assert [str(one) for one in validate(str(path), deep=True)] == []


def test_each_waits_for_the_other(hudis: Hudis, lock: dict[str, str], tmp_path: Path) -> None:
    path, conf = tmp_path / "t", options("COPY_ON_WRITE", lock)
    hudis.hudi.write(path, rows("first", 0), "bulk_insert", conf)
    table = HudiTable.open(str(path))
    impatient = {
        **conf,
        "hoodie.write.lock.client.num_retries": "1",
        "hoodie.write.lock.wait_time_ms": "500",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "100",
    }
    with table.transaction_settings(conf).new_lock(), pytest.raises(ServerError, match=r"[Ll]ock"):
        hudis.hudi.write(path, rows("first", 0), "upsert", impatient)
    hudis.hudi.write(path, rows("first", 1), "upsert", impatient)
    table.upsert(rows("first", 2), hoodie_conf=impatient)
    assert hudis.hudi.read(path).num_rows == 60
