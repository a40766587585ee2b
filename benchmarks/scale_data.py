"""Lineitem of any scale, made by parts: never more than one of its files is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.lineitem_data import SEED, UPDATED, generated, marked, prepared

ROWS_PER_FILE: Final = 1_000_000
_ROW_GROUPS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleData:
    """Folders of Parquet files: all rows, and a tenth of them changed, in random order within a file."""

    base: Path
    changes: Path
    rows: int
    changed: int


def scale_data(scale: float, cache: Path) -> ScaleData:
    """The data at a scale factor, made once and kept in ``cache``.

    :raises RuntimeError: tpchgen-cli is missing or failed.
    """
    folder = cache / f"scale-{scale:g}"
    base, changes, done = folder / "base", folder / "changes", folder / "done"
    if not done.exists():
        for one in (base, changes):
            one.mkdir(parents=True, exist_ok=True)
        raw = generated(scale, folder)
        random = np.random.default_rng(SEED)
        for number, rows in enumerate(_files(raw)):
            _write(rows, base / f"part-{number:05d}.parquet")
            chosen = random.permutation(rows.num_rows)[: round(rows.num_rows * UPDATED)]
            _write(marked(rows.take(pa.array(chosen))), changes / f"part-{number:05d}.parquet")
        raw.unlink()
        done.touch()
    return ScaleData(base=base, changes=changes, rows=_rows(base), changed=_rows(changes))


def _files(raw: Path) -> Iterator[pa.Table]:
    """Tables of :data:`ROWS_PER_FILE` rows, but for the last."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in pq.ParquetFile(raw).iter_batches():
        held.append(batch)
        count += batch.num_rows
        while count >= ROWS_PER_FILE:
            table = pa.Table.from_batches(held)
            yield prepared(table.slice(0, ROWS_PER_FILE))
            held = table.slice(ROWS_PER_FILE).to_batches()
            count -= ROWS_PER_FILE
    if count:
        yield prepared(pa.Table.from_batches(held))


def _write(rows: pa.Table, path: Path) -> None:
    pq.write_table(rows, path, row_group_size=rows.num_rows // _ROW_GROUPS + 1, compression="zstd")


def _rows(folder: Path) -> int:
    return sum(pq.read_metadata(path).num_rows for path in folder.iterdir())
