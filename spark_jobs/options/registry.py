"""All jobs: each module of this package that declares one is found, so that a new one is listed nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules

from spark_jobs import options
from spark_jobs.options.job import Job


def _declared() -> Iterator[Job]:
    for found in iter_modules(options.__path__):
        if found.name != "registry":
            for value in vars(import_module(f"{options.__name__}.{found.name}")).values():
                if isinstance(value, Job):
                    yield value


JOBS: tuple[Job, ...] = tuple(sorted(_declared(), key=lambda one: one.name))
"""By their names."""
SENSED: Mapping[str, Job] = {one.sensor: one for one in JOBS if one.sensor}
"""By the word of the sensor."""
