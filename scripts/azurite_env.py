"""Make the environment in which the tests' server of Azure's blobs runs: Azurite (MIT), by npm, in a folder of its own.

It lives in ``$PYHUDI_AZURITE_ENV`` (default ``.cache/azurite`` below the repository's root); running it again is quick.
Progress goes to stderr; the last line on stdout is a JSON object ``{"node": the program that runs it, "server": its
script}``.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_hudi_env import SetupError, exclusive, folder_of, print_made, run_logged

VARIABLE = "PYHUDI_AZURITE_ENV"
PACKAGE = "azurite@3.35.0"
BEFORE = "2026-11-20"
"""What it depends on is that of this day."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AzuriteEnvironment:
    node: str
    server: str


def directory() -> Path:
    """The environment's directory, there or not."""
    return folder_of(VARIABLE, "azurite")


def prepare() -> AzuriteEnvironment:
    """The environment, made or finished where it is not whole.

    :raises SetupError: Node.js or a package could not be had.
    """
    target, pins = directory(), f"{PACKAGE} {BEFORE}"
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise SetupError("no node and npm on PATH: install Node.js (Debian, Ubuntu: nodejs npm)")
    server = target / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    environment = AzuriteEnvironment(node=node, server=str(server))
    with exclusive(target):
        stamp = target / "pins"
        if stamp.is_file() and stamp.read_text() == pins and server.is_file():
            return environment
        print("server of Azure's blobs: Azurite (190 MB)", file=sys.stderr, flush=True)
        install = [npm, "install", "--no-save", "--omit=optional", "--ignore-scripts", f"--before={BEFORE}"]
        run_logged([*install, "--prefix", str(target), PACKAGE], target / "npm.log", {})
        stamp.write_text(pins)
    return environment


if __name__ == "__main__":
    sys.exit(print_made(prepare, directory(), VARIABLE))
