"""Texts that a job's options give, or name the file of."""

from __future__ import annotations

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.lake import Lake


def statement_of(ddl: str | None, ddl_file: str | None, lake: Lake) -> str | None:
    """The statement of ``--ddl`` or ``--ddl-file``; None where neither is given.

    :raises ConfigError: both are, or the file can't be read.
    """
    if ddl is not None and ddl_file is not None:
        raise ConfigError("--ddl and --ddl-file are both given", todo="give one of them")
    return ddl if ddl_file is None else read_text(ddl_file, "--ddl-file", lake)


def read_text(path: str, option: str, lake: Lake) -> str:
    """What stands in a file.

    :param option: that named it, for errors.
    :raises ConfigError: it is missing, or no UTF-8 text.
    """
    place = lake.place(path)
    if place.storage.stat(place.path) is None:
        raise ConfigError(f"{option} {path} is missing", todo="give a file that can be read")
    try:
        return place.storage.read(place.path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{option} {path} is no UTF-8 text ({error})", todo="save it as UTF-8") from error
