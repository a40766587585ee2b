"""What completed writes put into log files, and whether the files still hold it.

A write statistic says how far a log file reached when its write was done, and how much of that it wrote. The blocks
that a reader finds are compared with it: what a completed write wrote is there, whole and of its instant. All else in
the files is read as Hudi reads it: blocks of failed writes, commands, torn blocks that a later append wrote past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.order import latest

Pair = tuple[str, "SeenBlock"]


class LogExtent(NamedTuple):
    """The bytes from ``start`` to ``end`` (exclusive) of a log file that a completed write wrote.

    ``names`` has several file names where marker reconciliation copied the statistic of one file for others (same file
    id, counts and size): which of them the writer measured is not known, and one of them holds it. ``end`` is 0 where
    the writer did not say how long the file was, ``start`` is ``end`` where it did not say how much it wrote.
    """

    instant: str
    names: tuple[str, ...]
    start: int
    end: int

    def covers(self, name: str, block: SeenBlock) -> bool:
        """Whether a block of a file of that name lies in what the write put there."""
        if name not in self.names or (self.end and block.end > self.end):
            return False
        return block.start >= self.start if self.start < self.end else block.instant == self.instant


class LogExtents(NamedTuple):
    """What is known of the logs of one slice; not ``is_complete`` where a write may be missing that nobody can ask."""

    written: tuple[LogExtent, ...]
    is_complete: bool

    def newest(self, name: str) -> str:
        """The last write of a file; empty where none is known."""
        return latest(one.instant for one in self.written if name in one.names)

    def ends(self, name: str) -> frozenset[int]:
        """Where writes of a file were done: whatever stands behind, a block that ends there is whole."""
        return frozenset(one.end for one in self.written if name in one.names)

    def within(self, names: Iterable[str]) -> LogExtents:
        """Those of some files alone."""
        kept = frozenset(names)
        return LogExtents(tuple(one for one in self.written if not kept.isdisjoint(one.names)), self.is_complete)


class SeenBlock(NamedTuple):
    """A block as a reader met it; ``instant`` is None for a torn one whose head can't be read."""

    start: int
    end: int
    instant: str | None
    is_corrupt: bool
    is_command: bool


def check_extents(
    extents: LogExtents, sizes: Mapping[str, int], blocks: Iterable[Pair], counts: Callable[[str], bool], folder: str
) -> None:
    """Compare the blocks of a slice's log files with what completed writes say of them.

    :param sizes: bytes by the name of each file, which are in ``folder``.
    :param blocks: (name of the file, block), in file order.
    :param counts: whether the reader takes blocks of an instant.
    :raises CorruptTableError: bytes of a completed write are missing or damaged, or a file has blocks of a completed
        write that its statistics don't know.
    """
    prefix = f"{folder}/" if folder else ""
    found: dict[str, list[SeenBlock]] = {name: [] for name in sizes}
    for name, block in blocks:
        found[name].append(block)
    for extent in extents.written:
        faults = [_fault(extent, name, sizes.get(name), found.get(name, ())) for name in extent.names]
        if all(faults):
            raise damaged(prefix + extent.names[0], extent.instant, faults[0])
    writers: dict[str, set[str]] = {}
    for extent in extents.written:
        writers.setdefault(extent.instant, set()).update(extent.names)
    for name, several in found.items():
        of_file = [one for one in extents.written if name in one.names]
        for block in several:
            if not block.is_command and not any(one.covers(name, block) for one in of_file):
                is_known = extents.is_complete and bool(of_file)
                fault = _stray(name, block, writers, counts, is_known=is_known)
                if fault:
                    raise damaged(prefix + name, str(block.instant), fault)
                if block.is_corrupt and not extents.is_complete:
                    raise _torn(prefix + name, block)


def _fault(extent: LogExtent, name: str, size: int | None, blocks: Sequence[SeenBlock]) -> str:
    """What is wrong with a file that a write wrote; empty where nothing is."""
    wrote = f"instant {extent.instant} wrote"
    if size is None:
        return f"it is gone, and {wrote} it"
    if size < extent.end:
        return f"it has {size} bytes, and {wrote} it up to byte {extent.end}"
    inside = blocks
    if extent.end:
        inside = [one for one in blocks if one.start < extent.end and one.end > extent.start]
    torn = next((one for one in inside if one.is_corrupt), None)
    if torn is not None:
        return f"its block at byte {torn.start}, which {wrote}, is damaged"
    if extent.end == 0 or extent.end > extent.start:
        if not any(one.instant == extent.instant for one in inside):
            return f"it has no block of instant {extent.instant}, which wrote it"
        if extent.end and inside[-1].end != extent.end:
            return f"no block ends at byte {extent.end}, up to which {wrote} it"
    return ""


def _stray(
    name: str, block: SeenBlock, writers: Mapping[str, set[str]], counts: Callable[[str], bool], *, is_known: bool
) -> str:
    """What is wrong with a block, whole or torn, that no completed write tells of; empty where nothing is.

    Sound are blocks of instants that don't count, those of an attempt of a task whose write names the file of another
    attempt, and those in files that no write names, as the first log of a file group of Hudi's metadata table.
    """
    instant = block.instant
    if instant is None or not counts(instant):
        return ""
    if not (name in writers[instant] if instant in writers else is_known):
        return ""
    what = "part of a block" if block.is_corrupt else "a block"
    return f"it has {what} of instant {instant} at byte {block.start}, where that wrote nothing"


def _torn(name: str, block: SeenBlock) -> CorruptTableError:
    return CorruptTableError(
        f"log file {name} is damaged: its block at byte {block.start} is torn, and no write says how long it was",
        todo="restore it from a copy of the table; validate.py names all damaged files",
        file=name,
    )


def damaged(name: str, instant: str, fault: str, kind: str = "log file") -> CorruptTableError:
    """The error of a data file that is not as a completed write left it."""
    return CorruptTableError(
        f"{kind} {name} is damaged: {fault}",
        todo=f"restore it from a copy of the table, or go back to before {instant} (restore.py, or rollback.py where "
        "it is the newest write); validate.py names all damaged files",
        file=name,
        instant=instant,
    )
