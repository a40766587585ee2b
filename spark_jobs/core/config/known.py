"""Which ``hoodie.*`` keys are declared, and a word to the user who gave another."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from spark_jobs.core.config.key import Key
from spark_jobs.core.config.keys import (
    archive,
    bloom,
    bootstrap,
    bulkinsert,
    clean,
    clustering,
    compact,
    conflict,
    copyonwrite,
    datasource,
    errortable,
    hive_sync,
    index,
    keygen,
    lock,
    logfile,
    meta_sync,
    metadata,
    parquet,
    payload,
    schema,
    streamer,
    table,
    write,
)
from spark_jobs.core.config.later_versions import OF_LATER_VERSIONS
from spark_jobs.core.config.refused import REFUSED
from spark_jobs.core.config.without_effect import WITHOUT_EFFECT

KEY_MODULES = (
    table,
    archive,
    bloom,
    bootstrap,
    bulkinsert,
    clean,
    clustering,
    compact,
    conflict,
    copyonwrite,
    datasource,
    errortable,
    hive_sync,
    index,
    keygen,
    lock,
    logfile,
    meta_sync,
    metadata,
    parquet,
    payload,
    schema,
    streamer,
    write,
)
"""The modules that declare keys, those of the table first."""


def declared() -> tuple[Key[object], ...]:
    """All declared keys, those of the table first."""
    return tuple(value for module in KEY_MODULES for value in vars(module).values() if isinstance(value, Key))


def unknown_key_warnings(keys: Iterable[str]) -> list[str]:
    """One line for each key of Hudi's or of this project's that nothing reads: why, where it is one of Hudi's, or else
    the nearest one that something reads. Names of others (Kafka's, Spark's) are passed over.
    """
    known = {name for key in declared() for name in key.names} | {name for one in REFUSED for name in one.names}
    lines = []
    for name in sorted(keys):
        if name in known:
            continue
        because = why_without_effect(name)
        if because:
            lines.append(f"{name} has no effect: {because}")
            continue
        if not name.startswith(("hoodie.", "pyhudi.")):
            continue
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
        hint = f"; did you mean {nearest[0]}?" if nearest else ""
        lines.append(f"{name} is not known to this release and has no effect{hint}")
    return lines


def why_without_effect(key: str) -> str | None:
    """None for keys that are refused, that something reads, or that are not Hudi's."""
    return next((one.because for one in (*WITHOUT_EFFECT, *OF_LATER_VERSIONS) if one.covers(key)), None)
