"""Ways to harm a table on purpose, and how findings are looked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.lake import Lake
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import validate


class HastyClock(SystemClock):
    """Sleeps at once: nobody is about to finish a file that was cut on purpose."""

    def sleep(self, seconds: float) -> None:
        pass


HASTY = Lake(clock=HastyClock())


def findings(base: Path, *, deep: bool = False) -> list[tuple[int, str, str]]:
    """(invariant, severity, path) of each finding, sorted."""
    found = validate(str(base), deep, lake=HASTY)
    return sorted({(one.invariant, one.severity.value, one.path) for one in found})


def the_finding(base: Path, invariant: int, *, deep: bool = False) -> Finding:
    """The one finding of an invariant."""
    (found,) = [one for one in validate(str(base), deep, lake=HASTY) if one.invariant == invariant]
    return found


def data_files(base: Path, suffix: str = ".parquet") -> list[str]:
    """Relative paths of the data files, by the instant in their names."""
    found = [
        one.relative_to(base).as_posix()
        for one in base.rglob(f"*{suffix}*")
        if ".hoodie" not in one.parts and not one.name.endswith(".crc")
    ]
    return sorted(found, key=lambda path: (path.rsplit("/", 1)[-1].rsplit("_", 1)[-1], path))


def instant_file(base: Path, ending: str, number: int = -1) -> Path:
    """A file of the timeline by its ending; the newest without a number."""
    return sorted(one for one in (base / ".hoodie").glob(f"*{ending}") if one.name[0].isdigit())[number]


def flip(path: Path, at: int) -> None:
    """Change one byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def make_old(path: Path, hours: float) -> None:
    moved = path.stat().st_mtime - hours * 3600
    os.utime(path, (moved, moved))


def rewrite(
    path: Path,
    rows: Callable[[pa.Table], pa.Table] = lambda table: table,
    footer: Callable[[dict[bytes, bytes]], dict[bytes, bytes]] = lambda raw: raw,
) -> None:
    """Write a base file anew, with other rows or another footer."""
    file = pq.ParquetFile(path)
    raw = dict(file.metadata.metadata or {})
    table = file.read().replace_schema_metadata(None)
    changed = rows(table)
    with pq.ParquetWriter(path, changed.schema, store_schema=False) as writer:
        writer.write_table(changed)
        writer.add_key_value_metadata(footer(raw))


def with_value(column: str, row: int, value: object) -> Callable[[pa.Table], pa.Table]:
    """Rows with one value changed."""

    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        values[row] = value
        place = table.schema.get_field_index(column)
        return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))

    return change
