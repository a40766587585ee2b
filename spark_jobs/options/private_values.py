"""Options that stand in no command line, where others can read them: in a private file, or the environment."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Mapping
from typing import Any

from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import flag

VARIABLE = "PYHUDI_OPTIONS"
OPTIONS_FILE = flag(
    "--options-file",
    help=f"File of mode 0600 with more options, as a JSON object of their names; so has the variable {VARIABLE}.",
)
DELIVERED = "pyhudi-options.json"
"""Name of a file that a cluster's manager copies to the folder of a driver, with a mode of its own choice."""
_MOST_BYTES = 1 << 20
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def write_options_file(path: str, values: Mapping[str, Any]) -> None:
    """Make a file for ``--options-file`` that its owner alone can read."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(values, file)


def read_private_values(file: str | None, known: Collection[str], job: str) -> dict[str, Any]:
    """The options of the environment, over them those of the file; by the names of the fields.

    :raises OptionsError: the file can't be read, or others can; it has no such object; a name is none of ``known``.
    """
    found: dict[str, Any] = {}
    if text := os.environ.get(VARIABLE):
        found = _parsed(text, VARIABLE, known, job)
    if file is not None:
        for name, value in _parsed(_read(file), f"--options-file {file}", known, job).items():
            both = isinstance(value, dict) and isinstance(found.get(name), dict)
            found[name] = {**found[name], **value} if both else value
    return found


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if path != DELIVERED and mode & _OTHERS:
                raise OptionsError(f"--options-file {path} can be read by others: chmod 600 it")
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise OptionsError(f"--options-file {path} can't be read ({error.strerror}): give a readable file") from None
    if len(data) > _MOST_BYTES:
        raise OptionsError(f"--options-file {path} has more than {_MOST_BYTES} bytes: give a file of options")
    return data.decode("utf-8", "replace")


def _parsed(text: str, place: str, known: Collection[str], job: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # whose message would show the text
        found = None
    if not isinstance(found, dict):
        raise OptionsError(f"{place} is no JSON object: give the names of options with their values")
    for name in found:
        if name not in known:
            raise OptionsError(f"{place}: {name!r} is no option of {job}: give the names of docs/jobs.md")
    return found
