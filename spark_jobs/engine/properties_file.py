"""The file of ``--props`` where it lies on another storage than this machine's."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from spark_jobs.core.errors import HudiError
from spark_jobs.core.lake import Lake
from spark_jobs.options import JobOptions, OptionsError
from spark_jobs.options.properties import MOST_BYTES, parse_properties, read_properties, text_of

Options = TypeVar("Options", bound=JobOptions)
_LOCAL = "file:"


def is_elsewhere(location: str) -> bool:
    """Whether it is the URL of another storage."""
    return "://" in location and not location.startswith(_LOCAL)


def properties_in(lake: Lake, location: str) -> dict[str, str]:
    """The pairs of a file of properties, of this machine or of any storage of the lake.

    :raises OptionsError: the file can't be read, is too large, or a line of it is no pair.
    """
    return parse_properties(_text(lake, location), location) if is_elsewhere(location) else read_properties(location)


@contextmanager
def brought(options: Options, lake: Lake) -> Iterator[Options]:
    """The same options, whose file of properties lies on this machine: as long as this lasts a copy that this user
    alone can read, where it lies on another storage.

    :raises OptionsError: the file can't be read, is too large, or a line of it is no pair.
    """
    location = options.props
    if location is None or not is_elsewhere(location):
        yield options
        return
    text = _text(lake, location)
    parse_properties(text, location)  # whose error names the URL
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", prefix="pyhudi-", suffix=".properties") as copy:  # 0600
        copy.write(text)
        copy.flush()
        yield dataclasses.replace(options, props=copy.name)


def _text(lake: Lake, location: str) -> str:
    try:
        place = lake.place(location)
        data = place.storage.read(place.path, 0, MOST_BYTES + 1)
    except HudiError as error:
        raise OptionsError(f"--props {location} can't be read ({error.what}): give a readable file") from error
    return text_of(data, location)
