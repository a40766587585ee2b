"""Make the folder from which ``python -m tests.fuzz`` imports atheris (Apache-2.0, by Google, for Linux), which is in
none of the environments, as nothing else needs it.

It is ``$PYHUDI_FUZZ_ENV`` (default ``.cache/fuzz`` below the repository's root); running it again is quick. Progress
goes to stderr; the last line on stdout is a JSON object ``{"path": what PYTHONPATH needs}``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import exclusive, folder_of, print_made, run_logged

VARIABLE = "PYHUDI_FUZZ_ENV"
PACKAGE = "atheris==3.0.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class FuzzEnvironment:
    path: str


def directory() -> Path:
    """The folder, there or not."""
    return folder_of(VARIABLE, "fuzz")


def prepare() -> FuzzEnvironment:
    """The folder, made or finished where it is not whole.

    :raises SetupError: the package could not be had.
    """
    target = directory()
    with exclusive(target):
        stamp = target / "pins"
        if not stamp.is_file() or stamp.read_text() != PACKAGE:
            pip = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--upgrade"]
            run_logged([*pip, "--no-deps", "--target", str(target / "site"), PACKAGE], target / "pip.log", {})
            stamp.write_text(PACKAGE)
    return FuzzEnvironment(path=str(target / "site"))


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
