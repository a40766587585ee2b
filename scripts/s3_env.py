"""Make the environment in which the tests' S3 server runs: moto (Apache-2.0) in a venv of its own, as it needs other
versions of packages than Airflow does.

It lives in ``$PYHUDI_S3_ENV`` (default ``.cache/s3`` below the repository's root); running it again is quick. Progress
goes to stderr; the last line on stdout is a JSON object ``{"server": the program that serves}``.
"""

from __future__ import annotations

import hashlib
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import ROOT, SetupError, exclusive, folder_of, print_made, run_logged

CONSTRAINTS = ROOT / "constraints-s3.txt"
VARIABLE = "PYHUDI_S3_ENV"
PACKAGE = "moto[s3,server]"


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Environment:
    server: str


def directory() -> Path:
    """The environment's directory, there or not."""
    return folder_of(VARIABLE, "s3")


def prepare() -> S3Environment:
    """The environment, made or finished where it is not whole.

    :raises SetupError: a package could not be had.
    """
    target, pins = directory(), hashlib.sha256(CONSTRAINTS.read_bytes()).hexdigest()
    environment = S3Environment(server=str(target / "bin" / "moto_server"))
    with exclusive(target):
        stamp = target / "pins"
        if stamp.is_file() and stamp.read_text() == pins and Path(environment.server).exists():
            return environment
        print("S3 server: moto (40 MB)", file=sys.stderr, flush=True)
        try:
            venv.create(target, with_pip=True, symlinks=True)
        except OSError as error:
            raise SetupError(f"no venv could be made in {target} ({error}): install Python's venv module") from error
        pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check"]
        run_logged([*pip, "--constraint", str(CONSTRAINTS), PACKAGE], target / "pip.log", {})
        stamp.write_text(pins)
    return environment


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
