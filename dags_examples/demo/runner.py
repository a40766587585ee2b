"""``pyhudi-demo``: run the flights DAG with a new Airflow in a folder of its own, and tell what happened.

Nothing is reset when the folder is there already: finished writes are recognised by their idempotency keys, and what an
interrupted run left is rolled back or taken up by the tasks themselves.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import NoReturn
from urllib.parse import urlsplit

from dags_examples.demo import report
from dags_examples.demo.instants import read_bars
from dags_examples.demo.metastore import start_metastore, stop_metastore
from dags_examples.demo.processes import end_tree
from dags_examples.demo.progress import follow, last_error, state_in
from dags_examples.demo.s3_server import s3_server
from dags_examples.demo.settings import METASTORE_VARIABLE, Places, configured_metastore, environment
from dags_examples.demo.timeline_svg import draw
from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import HudiError
from spark_jobs.hive.client import ThriftMetastore

DAG_ID = "flights_demo"
_FOLDER = "demo-data"
_FOLDER_BESIDE_S3 = "demo-data-s3"
_LAKE = "s3://flights-demo"
TABLES = ("flights", "flights_mor")


class DemoError(Exception):
    """Why the demo can't run or did not succeed, in one line."""


class Stopped(Exception):
    """SIGINT or SIGTERM arrived."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None, clock: Clock = SYSTEM_CLOCK) -> int:
    parser = _Parser(prog="pyhudi-demo", description="Run the whole life of two tables of flights from Airflow.")
    parser.add_argument(
        "--directory",
        default=_FOLDER,
        help="folder for everything the demo writes (%(default)s); s3://BUCKET/FOLDER: tables and sources lie there, "
        f"on a server that the demo starts, and all else in {_FOLDER_BESIDE_S3}",
    )
    parser.add_argument(
        "--s3",
        action="store_true",
        help=f"tables and sources lie on such a server, below {_LAKE}; all else in DIRECTORY",
    )
    parser.add_argument(
        "--metastore-uris",
        help="a running Hive metastore, such as thrift://host:9083; without it, the Airflow connection "
        "metastore_default from the environment, else the demo starts one",
    )
    parser.add_argument(
        "--keep-metastore", action="store_true", help="leave the demo's own metastore running at the end"
    )
    parser.add_argument(
        "--every", type=_count, default=1, metavar="N", help="take every N-th flight alone (%(default)s: all)"
    )
    options = parser.parse_args(arguments)
    is_url = "://" in options.directory
    if is_url and not re.fullmatch(r"s3://[^/]+(/.*)?", options.directory):
        parser.error(f"--directory {options.directory} is neither a folder nor a URL of s3://")
    lake = options.directory.rstrip("/") if is_url else _LAKE if options.s3 else ""
    places = Places(
        directory=Path(_FOLDER_BESIDE_S3 if is_url else options.directory).expanduser().resolve(), lake=lake
    )
    again = f"pyhudi-demo {'--s3 ' if options.s3 else ''}--directory " + shlex.quote(
        lake if is_url else str(places.directory)
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with _only_run(places):
            try:
                with _store(places, clock) as variables:
                    own = _run(places, options.metastore_uris, options.every, variables, clock)
                if own and options.keep_metastore:
                    print(f"The metastore at {own} stays; its files are in {places.metastore}")
            finally:
                if not options.keep_metastore:
                    stop_metastore(places.metastore)
    except Stopped:
        print(f"\nStopped. What was done stays; to go on: {again}", file=sys.stderr)
        return 130
    except (DemoError, HudiError, OSError, ValueError) as error:
        print(f"pyhudi-demo: {error}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def _store(places: Places, clock: Clock) -> Iterator[Mapping[str, str]]:
    """The server that has the lake, as long as this lasts: the variables by which it is reached; none without one."""
    if not places.lake:
        yield {}
        return
    with ExitStack() as running:
        with _step("S3 server (moto)", clock):
            found = running.enter_context(s3_server(places.s3, _bucket(places), clock))
        yield found


def _bucket(places: Places) -> str:
    return urlsplit(places.lake).netloc


def _run(places: Places, metastore_uris: str | None, every: int, store: Mapping[str, str], clock: Clock) -> str | None:
    """Run the DAG and print the report; the return value is the URI of the demo's own metastore, if it started one.

    :param store: the variables by which the server of S3 is reached, if there is one.
    """
    began = clock.monotonic()
    _need_java()
    _need_same_tables(places, every)
    print(f"Flights demo in {places.directory}")
    uris = metastore_uris or os.environ.get(METASTORE_VARIABLE) or configured_metastore(os.environ)
    own = None
    if uris is None:
        with _step("Hive metastore", clock):
            own = uris = start_metastore(places.metastore, buckets=(_bucket(places),) if places.lake else ()).uri
    else:
        ThriftMetastore.connect(uris)  # better told now than after minutes of work
    # with a server of its own, what the user's environment has of AWS leads elsewhere
    inherited = {name: value for name, value in os.environ.items() if not (store and name.startswith("AWS_"))}
    variables = environment(places, uris, {**inherited, **store}, every=every)
    with _step("Airflow's database", clock):
        _make_airflow_database(places, variables)
    places.results.unlink(missing_ok=True)
    code, failed = _dag(places, variables, clock)
    if code != 0 or failed:
        log = places.logs / f"{DAG_ID}.log"
        where = f"task {', '.join(failed)} failed" if failed else f"airflow ended with {code}"
        raise DemoError(f"{where}; {_last_words(log)}see {log}, then run the demo again to go on")
    _tell(places, uris, own is not None, {name.lower(): value for name, value in store.items()})
    print(f"Done in {clock.monotonic() - began:.0f} s.")
    return own


def _dag(places: Places, variables: Mapping[str, str], clock: Clock) -> tuple[int, tuple[str, ...]]:
    """``airflow dags test``, followed task by task: its exit code and the tasks that failed."""
    dag_file = Path(__file__).resolve().parent.parent / f"{DAG_ID}.py"
    command = [sys.executable, "-m", "airflow", "dags", "test", DAG_ID, "--dagfile-path", str(dag_file)]
    print(f"The DAG {DAG_ID} ({dag_file}):")
    # The child stays in this process group, so that whoever kills the group leaves nothing behind.
    with open(places.logs / f"{DAG_ID}.log", "w", encoding="utf-8") as log:
        child = subprocess.Popen(
            command,
            env=dict(variables),
            cwd=places.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        assert child.stdout is not None
        try:
            failed = follow(child.stdout, log, sys.stdout, clock, state_in(places.airflow_database, DAG_ID))
            return child.wait(), failed
        except BaseException:
            end_tree(child, clock)
            raise


def _make_airflow_database(places: Places, variables: Mapping[str, str]) -> None:
    """Airflow's SQLite file, as the installed version has it.

    It is migrated aside and put in place whole, because a migration that was broken off can't be taken up.
    """
    database, note = places.airflow_database, places.airflow_home / "migrated-by"
    installed = version("apache-airflow")
    if database.exists() and note.exists() and note.read_text() == installed:
        return
    aside = database.with_name("airflow.db.new")
    for path in places.airflow_home.glob(f"{aside.name}*"):
        path.unlink()
    if database.exists():
        with closing(sqlite3.connect(database)) as old, closing(sqlite3.connect(aside)) as new:
            old.backup(new)
    _airflow(
        ["db", "migrate"],
        {**variables, "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{aside}"},
        places.logs / "airflow-db.log",
    )
    with closing(sqlite3.connect(aside)) as new:
        new.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # nothing may stay behind in a file beside it
    aside.replace(database)
    note.write_text(installed)


def _airflow(arguments: Sequence[str], variables: Mapping[str, str], log: Path) -> None:
    with open(log, "w", encoding="utf-8") as output:
        code = subprocess.run(
            [sys.executable, "-m", "airflow", *arguments],
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if code != 0:
        raise DemoError(f"airflow {' '.join(arguments)} ended with {code}; {_last_words(log)}see {log}")


def _tell(places: Places, metastore_uris: str, own: bool, options: Mapping[str, str]) -> None:
    """The table of what ran, the picture, and where everything is."""
    results = json.loads(places.results.read_text())
    verification = json.loads(places.verification.read_text())
    lanes = {name: read_bars(f"{places.tables}/{name}", options=options) for name in TABLES}
    places.picture.write_text(draw(lanes), encoding="utf-8")
    print("\nWhat ran:\n")
    print(report.table(results))
    print("\nSpark over the tables and DuckDB over the original data agree:")
    for table, rows in verification["answers_compared"].items():
        print(f"  {table}: {verification['questions']} questions, {rows} rows of answers")
    print("\nWhere it is:")
    for name in TABLES:
        print(f"  table      {places.tables}/{name}" + (" (gone with the server of S3)" if places.lake else ""))
    print(f"  timelines  {places.picture}")
    print(f"  logs       {places.logs}")
    print(f"  airflow    {places.airflow_database} (AIRFLOW_HOME={places.airflow_home})")
    print(f"  metastore  {metastore_uris}" + (f", its database in {places.metastore}" if own else ""))


@contextmanager
def _step(title: str, clock: Clock) -> Iterator[None]:
    began = clock.monotonic()
    print(f"{title:<26} ", end="", flush=True)
    try:
        yield
    except BaseException:
        print("failed", flush=True)
        raise
    print(f"{clock.monotonic() - began:6.1f} s  ready", flush=True)


@contextmanager
def _only_run(places: Places) -> Iterator[None]:
    """Make the folder, and refuse a second run in it at the same time."""
    tables = [] if places.lake else [Path(places.tables)]
    for folder in (places.directory, places.airflow_home, places.logs, *tables):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DemoError(f"can't make the folder {folder} ({error.strerror}): give another --directory") from None
    with open(places.directory / ".lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoError(
                f"{places.directory} is in use by another run: wait for it, or give another --directory"
            ) from None
        yield


def _need_same_tables(places: Places, every: int) -> None:
    before_there = places.every.exists()
    before = (places.every.read_text() if places.every.exists() else "") or str(every)
    if before != str(every):
        raise DemoError(f"{places.directory} has tables of --every {before}: give that, or another --directory")
    places.every.write_text(before)
    lake = places.lake_note.read_text() if places.lake_note.exists() else "" if before_there else places.lake
    if lake != places.lake:
        raise DemoError(f"{places.directory} has tables in {lake or 'it'}: give that, or another --directory")
    places.lake_note.write_text(lake)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 1 or more")
    return int(text)


def _need_java() -> None:
    home = os.environ.get("JAVA_HOME")
    where = f"below JAVA_HOME={home}" if home else "on PATH"
    todo = "install a Java 17 runtime (Debian, Ubuntu: openjdk-17-jre-headless)"
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    if java is None:
        raise DemoError(f"no java {where}: {todo}")
    told = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, check=False)
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", told.stderr)
    if version is None or int(version[1]) < 17:
        found = f"Java {version[1]}" if version else "no working Java"
        raise DemoError(f"{java} is {found}: {todo}")


def _last_words(log: Path) -> str:
    found = last_error(log)
    return f"{found}; " if found else ""


def _stop(number: int, frame: FrameType | None) -> None:
    for other in (signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.SIG_IGN)
    raise Stopped


if __name__ == "__main__":
    sys.exit(main())
