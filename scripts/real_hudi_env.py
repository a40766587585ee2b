"""Make the environment in which real Hudi 0.15.0 runs: PySpark 3.5 in a venv, and Hudi's bundle from Maven Central.

It lives in ``$PYHUDI_HUDI_ENV`` (default ``.cache/hudi-3.5`` below the repository's root). Running it again is quick
when all is there, and finishes what an interrupted run left. Progress goes to stderr; the last line on stdout is a JSON
object ``{"python": the interpreter, "spark_home": ..., "jars": [Hudi's bundle and what it needs]}``.

Only the standard library is used, so that any Python from 3.11 on can start it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints-hudi.txt"
VARIABLE = "PYHUDI_HUDI_ENV"
BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12:0.15.0"
PACKAGES = ("setuptools", "pyspark", "pyarrow", "pandas")
JVM_OPTIONS = "-XX:+IgnoreUnrecognizedVMOptions -XX:UseAVX=2"


class SetupError(Exception):
    """What is missing or failed, in one line with what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HudiEnvironment:
    """Where real Hudi's parts are; all paths are whole."""

    python: str
    spark_home: str
    jars: tuple[str, ...]


def folder_of(variable: str, name: str) -> Path:
    """The folder that a variable of the environment names, else one of the repository's ``.cache``."""
    given = os.environ.get(variable)
    return Path(given).expanduser().resolve() if given else ROOT / ".cache" / name


def directory() -> Path:
    """The environment's directory, there or not."""
    return folder_of(VARIABLE, "hudi-3.5")


def prepare(target: Path) -> HudiEnvironment:
    """The environment in ``target``, made or finished where it is not whole.

    :raises SetupError: Java or a package could not be had.
    """
    found = _recorded(target)
    if found is not None:
        return found
    java()
    with exclusive(target):
        found = _recorded(target)
        if found is not None:
            return found
        python = _python(target)
        spark_home = _spark_home(target, python)
        environment = HudiEnvironment(python=str(python), spark_home=str(spark_home), jars=_jars(target, spark_home))
        _record_path(target).write_text(json.dumps({"pins": _pins(), **asdict(environment)}, indent=2) + "\n")
    return environment


def java() -> str:
    """The Java runtime that Spark will take.

    :raises SetupError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if found is None:
        where = f"below JAVA_HOME={home}" if home else "on PATH"
        raise SetupError(f"no java {where}: install a Java 17 runtime (Debian, Ubuntu: openjdk-17-jre-headless)")
    return found


def _record_path(target: Path) -> Path:
    return target / "environment.json"


def _pins() -> str:
    return hashlib.sha256(CONSTRAINTS.read_bytes() + BUNDLE.encode()).hexdigest()


def _recorded(target: Path) -> HudiEnvironment | None:
    """What an earlier run finished, unless the pins changed or something is gone since."""
    try:
        record = json.loads(_record_path(target).read_text())
        environment = HudiEnvironment(
            python=record["python"], spark_home=record["spark_home"], jars=tuple(record["jars"])
        )
    except (FileNotFoundError, ValueError, KeyError):
        return None
    parts = (environment.python, environment.spark_home, *environment.jars)
    return environment if record.get("pins") == _pins() and all(Path(part).exists() for part in parts) else None


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """One maker at a time; the others wait, then find it made."""
    target.mkdir(parents=True, exist_ok=True)
    with open(target / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _python(target: Path) -> Path:
    python = target / "bin" / "python"
    if not python.exists():
        _say(f"venv in {target}")
        try:
            venv.create(target, with_pip=True, symlinks=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SetupError(
                f"no venv could be made in {target} ({error}): "
                "install Python's venv module (Debian, Ubuntu: python3-venv)"
            ) from error
    return python


def _spark_home(target: Path, python: Path) -> Path:
    _say("PySpark 3.5 (318 MB when it is not in pip's cache)")
    # pip builds PySpark from its source archive, and the isolated build does not see --constraint
    pinned_build = {"PIP_CONSTRAINT": str(CONSTRAINTS), "PIP_BUILD_CONSTRAINT": str(CONSTRAINTS)}
    run_logged(
        [
            str(python),
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--constraint",
            str(CONSTRAINTS),
            *PACKAGES,
        ],
        target / "pip.log",
        pinned_build,
    )
    found = subprocess.run(
        [str(python), "-c", "import pyspark; print(pyspark.__path__[0])"], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        raise SetupError(f"PySpark in {target} can't be imported: delete that directory and run this again")
    return Path(found.stdout.strip())


def _jars(target: Path, spark_home: Path) -> tuple[str, ...]:
    """Hudi's bundle and its dependencies, resolved once by Spark itself."""
    _say(f"{BUNDLE} (105 MB)")
    ivy = target / "ivy"
    resolve([BUNDLE], ivy, target / "ivy.log", spark_home, str(target / "bin" / "python"))
    jars = tuple(sorted(str(jar) for jar in (ivy / "jars").glob("*.jar")))
    if not any("hudi-spark3.5-bundle" in jar for jar in jars):
        raise SetupError(f"Spark resolved {BUNDLE} to no jar: see {target / 'ivy.log'}")
    return jars


def resolve(
    packages: Sequence[str], target: Path, log: Path, spark_home: Path, python: str, excluded: Sequence[str] = ()
) -> None:
    """Let spark-submit fetch packages of Maven's, and what they need, into ``jars`` below a folder.

    :raises SetupError: it could not.
    """
    left_out = ["--exclude-packages", ",".join(excluded)] if excluded else []
    with tempfile.TemporaryDirectory() as scratch:
        nothing = Path(scratch) / "nothing.py"
        nothing.write_text("")
        run_logged(
            [
                str(spark_home / "bin" / "spark-submit"),
                *("--master", "local[1]", "--driver-java-options", JVM_OPTIONS),
                *("--conf", f"spark.jars.ivy={target}"),
                *("--packages", ",".join(packages), *left_out),
                str(nothing),
            ],
            log,
            {"SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": python},
        )


def run_logged(command: list[str], log: Path, variables: dict[str, str]) -> None:
    with open(log, "w") as output:
        code = subprocess.run(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **variables}, check=False
        ).returncode
    if code != 0:
        last = next((line for line in reversed(log.read_text(errors="replace").splitlines()) if line.strip()), "")
        raise SetupError(f"{Path(command[0]).name} failed with exit code {code} ({last.strip()[:200]}): see {log}")


def _say(what: str) -> None:
    print(f"real Hudi: {what}", file=sys.stderr, flush=True)


def print_made(make: Callable[[], Any], target: Path, variable: str) -> int:
    """Print what ``make`` returns, a dataclass, as JSON, or its error in one line; the exit code of the script.

    :param variable: the environment variable that says where ``target`` is.
    """
    try:
        print(json.dumps(asdict(make())))
    except SetupError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {target} can't be used ({error}): set {variable} to a writable directory", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(print_made(lambda: prepare(directory()), directory(), VARIABLE))
