"""Ways to harm a table on purpose, and how findings are looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.lake import Lake
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.run import validate
from tests.support.folder import Folder, Where, as_folder, lake_of


class HastyClock(SystemClock):
    """Sleeps at once: nobody is about to finish a file that was cut on purpose."""

    def sleep(self, seconds: float) -> None:
        pass


def hasty(base: Where) -> Lake:
    """Where a table lies, by such a clock."""
    return replace(lake_of(base), clock=HastyClock())


def findings(base: Where, *, deep: bool = False) -> list[tuple[int, str, str]]:
    """(invariant, severity, path) of each finding, sorted."""
    found = validate(str(base), deep, lake=hasty(base))
    return sorted({(one.invariant, one.severity.value, one.path) for one in found})


def the_finding(base: Where, invariant: int, *, deep: bool = False) -> Finding:
    """The one finding of an invariant."""
    (found,) = [one for one in validate(str(base), deep, lake=hasty(base)) if one.invariant == invariant]
    return found


def data_files(base: Where, suffix: str = ".parquet") -> list[str]:
    """Relative paths of the data files, by the instant in their names."""
    folder = as_folder(base)
    found = [
        str(one.relative_to(folder))
        for one in folder.walk()
        if suffix in one.name and "/.hoodie/" not in one.url and not one.name.endswith(".crc")
    ]
    return sorted(found, key=lambda path: (path.rsplit("/", 1)[-1].rsplit("_", 1)[-1], path))


def instant_file(base: Where, ending: str, number: int = -1) -> Folder:
    """A file of the timeline by its ending; the newest without a number."""
    return sorted(one for one in (as_folder(base) / ".hoodie").glob(f"*{ending}") if one.name[0].isdigit())[number]


def flip(path: Where, at: int) -> None:
    """Change one byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def make_old(path: Where, hours: float) -> None:
    file = as_folder(path)
    file.date(file.modified_ms - int(hours * 3_600_000))


def rewrite(
    path: Where,
    rows: Callable[[pa.Table], pa.Table] = lambda table: table,
    footer: Callable[[dict[bytes, bytes]], dict[bytes, bytes]] = lambda raw: raw,
) -> None:
    """Write a base file anew, with other rows or another footer."""
    file = pq.ParquetFile(pa.BufferReader(path.read_bytes()))
    raw = dict(file.metadata.metadata or {})
    table = file.read().replace_schema_metadata(None)
    changed = rows(table)
    content = pa.BufferOutputStream()
    with pq.ParquetWriter(content, changed.schema, store_schema=False) as writer:
        writer.write_table(changed)
        writer.add_key_value_metadata(footer(raw))
    path.write_bytes(content.getvalue().to_pybytes())


def with_value(column: str, row: int, value: object) -> Callable[[pa.Table], pa.Table]:
    """Rows with one value changed."""

    def change(table: pa.Table) -> pa.Table:
        values = table.column(column).to_pylist()
        values[row] = value
        place = table.schema.get_field_index(column)
        return table.set_column(place, table.schema.field(place), pa.array(values, table.schema.field(place).type))

    return change
