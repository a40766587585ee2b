"""The rows of the lineitem benchmark: TPC-H's lineitem by tpchgen-cli, and a batch of changes to it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEY: Final = "l_key"
PARTITION: Final = "l_shipyear"
PRECOMBINE: Final = "l_version"
SHIP_YEARS: Final = 7
UPDATED: Final = 0.10
INSERTED: Final = 0.02
SEED: Final = 19920101
_NEW_LINES: Final = 100
"""Line numbers of inserted rows begin here; TPC-H's own end at 7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineitemData:
    """Parquet files of the base rows, of the changes, and of changes to one small partition, with their numbers of
    rows.
    """

    base: Path
    changes: Path
    one_partition: Path
    base_rows: int
    change_rows: int
    inserted_rows: int
    one_partition_rows: int


def lineitem_data(scale: float, cache: Path) -> LineitemData:
    """The data at a scale factor, made once and kept in ``cache``.

    :raises RuntimeError: tpchgen-cli is missing or failed.
    """
    directory = cache / f"lineitem-{scale:g}"
    base, changes, one = (directory / f"{name}.parquet" for name in ("base", "changes", "one_partition"))
    if not one.exists():
        directory.mkdir(parents=True, exist_ok=True)
        rows = prepared(pq.read_table(generated(scale, directory)))
        for path, table in ((base, rows), (changes, _changes(rows)), (one, _one_partition(rows))):
            unfinished = path.with_suffix(".tmp")
            pq.write_table(table, unfinished, row_group_size=table.num_rows // 8 + 1, compression="zstd")
            unfinished.rename(path)
    total, changed_rows = pq.read_metadata(base).num_rows, pq.read_metadata(changes).num_rows
    return LineitemData(
        base=base,
        changes=changes,
        one_partition=one,
        base_rows=total,
        change_rows=changed_rows,
        inserted_rows=changed_rows - round(total * UPDATED),
        one_partition_rows=pq.read_metadata(one).num_rows,
    )


def generated(scale: float, directory: Path) -> Path:
    """A Parquet file of TPC-H's lineitem, made anew.

    :raises RuntimeError: tpchgen-cli is missing or failed.
    """
    beside = Path(sys.executable).with_name("tpchgen-cli")
    command = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if command is None:
        raise RuntimeError("tpchgen-cli is not installed: pip install tpchgen-cli")
    arguments = [
        "parquet",
        "--scale-factor",
        f"{scale:g}",
        "--tables=lineitem",
        "--output-dir",
        str(directory),
        "--overwrite",
    ]
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"tpchgen-cli failed with exit code {done.returncode}: {done.stderr.strip()[:300]}")
    return directory / "lineitem.parquet"


def prepared(rows: pa.Table) -> pa.Table:
    """Lineitem with a key of text, the ship year, and version 0."""
    rows = rows.replace_schema_metadata(None)
    plain = [
        pa.field(field.name, pa.string() if pa.types.is_string_view(field.type) else field.type)
        for field in rows.schema
    ]
    rows = rows.cast(pa.schema(plain))
    return (
        rows.append_column(KEY, _keys(rows["l_orderkey"], rows["l_linenumber"]))
        .append_column(PARTITION, pc.cast(pc.year(rows["l_shipdate"]), pa.int32()))
        .append_column(PRECOMBINE, pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows))
    )


def _changes(rows: pa.Table) -> pa.Table:
    """10% of the rows with a new price and comment, and 2% new keys, spread over all partitions, in random order."""
    random = np.random.default_rng(SEED)
    chosen: Any = random.permutation(rows.num_rows)
    updates = round(rows.num_rows * UPDATED)
    inserts = round(rows.num_rows * INSERTED)
    updated = rows.take(np.sort(chosen[:updates]))
    copied = rows.take(np.sort(chosen[updates : updates + inserts]))
    lines = pc.add(copied["l_linenumber"], pa.scalar(_NEW_LINES, copied.schema.field("l_linenumber").type))
    copied = _with(_with(copied, "l_linenumber", lines), KEY, _keys(copied["l_orderkey"], lines))
    changed = marked(pa.concat_tables([updated, copied]))
    return changed.take(random.permutation(changed.num_rows))


def _one_partition(rows: pa.Table) -> pa.Table:
    """A tenth of the rows of the smallest partition, changed."""
    counts = pc.value_counts(rows[PARTITION])
    smallest = counts.field("values")[int(np.argmin(np.asarray(counts.field("counts"))))]
    inside = rows.filter(pc.equal(rows[PARTITION], smallest))
    return marked(inside.take(pa.array(np.arange(0, inside.num_rows, 10))))


def marked(rows: pa.Table) -> pa.Table:
    """Rows with another comment, and version 1."""
    changed = _with(rows, "l_comment", _joined(pa.scalar("changed"), rows["l_comment"], " "))
    return _with(changed, PRECOMBINE, pa.repeat(pa.scalar(1, pa.int64()), changed.num_rows))


def _keys(orders: Any, lines: Any) -> Any:
    return _joined(pc.cast(orders, pa.string()), pc.cast(lines, pa.string()), "-")


def _joined(*parts: Any) -> Any:
    """Texts joined row by row; the last part stands between the others."""
    return pc.binary_join_element_wise(*parts)


def _with(table: pa.Table, name: str, column: pa.ChunkedArray[Any] | pa.Array[Any]) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)
