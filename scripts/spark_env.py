"""Make the environment of another Spark than that of ``constraints.txt``: PySpark 3.5, 4.0 or 4.1 in a venv, beside
what the jobs and their tests import. Airflow is not there.

It lives in ``.cache/spark-VERSION`` below the repository's root, or ``$PYHUDI_SPARK_ENVS/spark-VERSION``; running it
again is quick. Progress goes to stderr; the last line on stdout is a JSON object ``{"python": the interpreter}``.

    python scripts/spark_env.py 3.5
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import ROOT, SetupError, exclusive, print_made, run_logged

VARIABLE = "PYHUDI_SPARK_ENVS"
RELEASES = {"3.5": "3.5.9", "4.0": "4.0.5", "4.1": "4.1.4"}
PACKAGES = ("pandas", "pyarrow", "numpy", "fastavro", "isal", "obstore", "hdfs-native", "sqlglot", "psutil")
FOR_TESTS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
_OWN = re.compile(r"^(pyspark|pyspark-client|py4j|setuptools)==")
"""Pins that these environments have otherwise."""
_BUILD = "setuptools==80.9.0"
"""With which PySpark 3.5 builds: pip makes its wheel from the source archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEnvironment:
    """A whole path."""

    python: str


def directory(line: str) -> Path:
    """Where the environment of a line of Spark, such as 3.5, is or will be."""
    given = os.environ.get(VARIABLE)
    return (Path(given).expanduser().resolve() if given else ROOT / ".cache") / f"spark-{line}"


def prepare(line: str) -> SparkEnvironment:
    """The environment, made or finished where it is not whole.

    :raises SetupError: the line is none of those that are tried, or a package could not be had.
    """
    if line not in RELEASES:
        raise SetupError(f"no environment of Spark {line} is known: give one of {', '.join(RELEASES)}")
    target, pins = directory(line), _pins(line)
    wanted = hashlib.sha256(" ".join([pins, *PACKAGES, *FOR_TESTS]).encode()).hexdigest()
    environment = SparkEnvironment(python=str(target / "bin" / "python"))
    with exclusive(target):
        stamp, constraints = target / "pins", target / "constraints.txt"
        if stamp.is_file() and stamp.read_text() == wanted:
            return environment
        print(f"Spark {RELEASES[line]} (300 to 450 MB when it is not in pip's cache)", file=sys.stderr, flush=True)
        try:
            venv.create(target, with_pip=True, symlinks=True)
        except OSError as error:
            raise SetupError(f"no venv could be made in {target} ({error}): install Python's venv module") from error
        constraints.write_text(pins)
        pip = [environment.python, "-m", "pip", "install", "--disable-pip-version-check", "--constraint"]
        # the isolated build of PySpark does not see --constraint
        build = {"PIP_CONSTRAINT": str(constraints), "PIP_BUILD_CONSTRAINT": str(constraints)}
        run_logged([*pip, str(constraints), "setuptools", "pyspark", *PACKAGES, *FOR_TESTS], target / "pip.log", build)
        stamp.write_text(wanted)
    return environment


def _pins(line: str) -> str:
    """The constraints of all other tests, with another PySpark."""
    kept = [pin for pin in (ROOT / "constraints.txt").read_text().splitlines() if not _OWN.match(pin)]
    return "\n".join([*kept, _BUILD, f"pyspark=={RELEASES[line]}", ""])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} LINE, one of {', '.join(RELEASES)}")
    sys.exit(print_made(lambda: prepare(sys.argv[1]), directory(sys.argv[1]), VARIABLE))
