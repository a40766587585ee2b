"""More rows than a worker may hold: sorted runs in temporary files, merged a piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from spark_jobs.core.storage.failure import one_line

RUN_BYTES = 92 * 1024 * 1024
"""Arrow bytes that are held and sorted at a time (``benchmarks/scale.py`` has the memory of a worker)."""
PIECES_PER_RUN = 64
"""At least: a merge holds one or two pieces of every run."""
BATCHES_PER_RUN = 256
"""Of its file, which is read by them: of up to a quarter as many runs, a merge holds half of one at most."""


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """``count`` rows that ``tables`` gives once, in their order."""

    count: int
    tables: Iterator[pa.Table]


@contextmanager
def ordered_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, columns: Sequence[str], run_bytes: int = RUN_BYTES
) -> Iterator[OrderedRows]:
    """All rows sorted by columns, ascending, nulls last; as they come without columns.

    Rows of more than ``run_bytes`` (in Arrow's memory) go through files in the system's temporary folder, which are
    gone after the block.

    :raises StorageError: the temporary folder is full.
    """
    with ExitStack() as stack:
        runs: list[_Run] = []
        count = 0
        folder: Path | None = None
        for rows, is_last in _runs(batches, schema, columns, run_bytes):
            if is_last and not runs:
                yield OrderedRows(rows.num_rows, iter([rows]))
                return
            folder = folder or Path(stack.enter_context(TemporaryDirectory(prefix="pyhudi-clustering-")))
            runs.append(_Run(rows, folder / str(len(runs))))
            stack.callback(runs[-1].close)
            count += rows.num_rows
            del rows
        yield OrderedRows(count, _merge(runs, columns) if columns else _one_after_another(runs))


def _runs(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, columns: Sequence[str], run_bytes: int
) -> Iterator[tuple[pa.Table, bool]]:
    """Sorted tables of about ``run_bytes``; only the last, which may be empty, is smaller."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= run_bytes:
            size = 0
            yield _sorted_run(held, schema, columns), False
    yield _sorted_run(held, schema, columns), True


def _sorted_run(held: list[pa.RecordBatch], schema: pa.Schema, columns: Sequence[str]) -> pa.Table:
    """Empties ``held``, and takes the rows a column at a time: no second copy of all is held."""
    rows = pa.Table.from_batches(held, schema=schema)
    held.clear()
    if not columns:
        return rows
    pa.default_memory_pool().release_unused()  # what the reading left to the allocator, some 30 MiB, is needed now
    order, left = _order(rows, columns), rows.columns
    del rows
    return pa.Table.from_arrays([left.pop(0).take(order) for _ in schema], schema=schema)


def _order(rows: pa.Table, columns: Sequence[str]) -> pa.Array:
    return pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in columns])


class _Run:
    """A sorted table in a file, read from its start; ``buffer`` is what was read and not yet given away."""

    def __init__(self, rows: pa.Table, path: Path) -> None:
        self._rows = rows.num_rows
        self._path = str(path)
        with (
            one_line(self._path, "written"),
            pa.OSFile(self._path, "wb") as sink,
            ipc.new_stream(sink, rows.schema) as writer,  # lz4 of so small batches took a third of a clustering
        ):
            writer.write_table(rows, max_chunksize=max(1, self._rows // BATCHES_PER_RUN))
        self._file = pa.OSFile(self._path, "rb")
        self._reader = ipc.open_stream(self._file)
        self.buffer = rows.schema.empty_table()
        self.at_end = False

    def fill(self, pieces_per_run: int) -> None:
        """Read until a piece is buffered, or all that is left."""
        pieces, piece = [self.buffer], max(1, self._rows // pieces_per_run)
        count = self.buffer.num_rows
        while count < piece and not self.at_end:
            try:
                with one_line(self._path, "read"):
                    batch = self._reader.read_next_batch()
            except StopIteration:
                self.at_end = True
                break
            pieces.append(pa.Table.from_batches([batch]))
            count += batch.num_rows
        if len(pieces) > 1:
            self.buffer = pa.concat_tables(pieces)

    def close(self) -> None:
        self._file.close()


def _one_after_another(runs: Sequence[_Run]) -> Iterator[pa.Table]:
    for run in runs:
        while not run.at_end:
            run.fill(PIECES_PER_RUN)
            rows, run.buffer = run.buffer, run.buffer.slice(run.buffer.num_rows)
            if rows.num_rows:
                yield rows


def _merge(runs: Sequence[_Run], columns: Sequence[str]) -> Iterator[pa.Table]:
    """Sort what is buffered of all runs; up to the first row that is the last one buffered of an unfinished run,
    nothing unread can come before.
    """
    pieces_per_run = max(PIECES_PER_RUN, 4 * len(runs))  # of however many runs a quarter of one is buffered, or a half
    while True:
        for run in runs:
            run.fill(pieces_per_run)
        lengths = np.array([run.buffer.num_rows for run in runs])
        if not lengths.sum():
            return
        rows = pa.concat_tables([run.buffer for run in runs])
        order = _order(rows.select(list(dict.fromkeys(columns))), columns).to_numpy()
        ends = np.cumsum(lengths)
        lasts = [int(end) - 1 for run, end in zip(runs, ends, strict=True) if not run.at_end]
        if lasts:
            order = order[: int(np.flatnonzero(np.isin(order, lasts))[0]) + 1]
        yield rows.take(pa.array(order))
        taken = np.bincount(np.searchsorted(ends, order, side="right"), minlength=len(runs))
        for run, count in zip(runs, taken.tolist(), strict=True):
            run.buffer = run.buffer.slice(count)
