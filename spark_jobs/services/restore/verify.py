"""What a restore must not change: the files of the moment that it goes back to, and its rows."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant import Action
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import FILE_NAME
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.savepoint.job import savepoints_of
from spark_jobs.services.validation.row_hash import Fingerprint, hash_rows
from spark_jobs.services.validation.scans import Scans


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A table as of a commit: bytes by relative path of the files that its readers need, and a sign of its rows (None:
    not looked at).
    """

    sizes: dict[str, int]
    rows: Fingerprint | None


def moment_of(
    table: HudiTable, goal: str, deletable: frozenset[str], scans: Scans, *, phase: str, with_rows: bool
) -> Moment:
    """
    :param deletable: relative paths of files of later writes, which stand in slices of the moment too.
    :param scans: how rows are read.
    :param phase: what this is called, for those who wait for it.
    :raises CorruptTableError: a file of the savepoint of this moment is gone.
    """
    scan = table.scan(as_of=goal) if with_rows else None
    read = scan.slices() if scan is not None else []
    with scans.progress.phase(phase, len(read) if with_rows else None) as shown:
        slices = table.view(until=goal).latest_slices()
        sizes = {path: size for one in slices for path, size in one.sizes if path not in deletable}
        if any(one.timestamp == goal for one in table.timeline.completed(Action.SAVEPOINT)):
            _refuse_missing(table, goal)
        if scan is None:
            return Moment(sizes=sizes, rows=None)
        columns = tuple(name for name in scan.schema.names if name != FILE_NAME)
        look = _RowsOf(reader=scan.reader(), columns=columns)
        parts = scans.each(read, look, [one.size for one in read], shown.advance)
        return Moment(sizes=sizes, rows=sum(parts, start=Fingerprint()))


def bytes_to_read(table: HudiTable, goal: str, deletable: frozenset[str]) -> int:
    """Of all rows of a moment; ``deletable`` as above."""
    slices = table.scan(as_of=goal).slices()
    return sum(size for one in slices for path, size in one.sizes if path not in deletable)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowsOf:
    """A sign of the rows of a slice; pickles."""

    reader: SliceReader
    columns: tuple[str, ...]

    def __call__(self, one: FileSlice) -> Fingerprint:
        found = Fingerprint()
        for batch in self.reader.read(one, self.columns):
            found = found.with_rows(hash_rows(batch))
        return found


def _refuse_missing(table: HudiTable, goal: str) -> None:
    (savepoint,) = (one for one in savepoints_of(table) if one.instant == goal)
    for partition, names in savepoint.keeps.files.items():
        there = {status.name for status in table.storage.list(resolve(table.base_path, RelativePath(partition)))}
        missing = sorted(set(names) - there)
        if missing:
            raise CorruptTableError(
                f"savepoint {goal} names {join(partition, missing[0])}, which is gone ({len(missing)} such file(s) in "
                f"partition {partition!r})",
                todo="go back to another commit",
                instant=goal,
            )


def refuse_changed(before: Moment, after: Moment, goal: str) -> None:
    """
    :raises CorruptTableError: a file or a row of the moment is not what it was.
    """
    for path, size in before.sizes.items():
        if after.sizes.get(path) != size:
            raise CorruptTableError(
                f"after the restore to {goal}, {path} has {after.sizes.get(path, 'no')} bytes instead of {size}",
                todo="look who else writes to the table",
                path=path,
            )
    if before.rows != after.rows:
        raise CorruptTableError(
            f"after the restore to {goal} the table has other rows than it had as of {goal}: {after.rows} instead of "
            f"{before.rows}",
            todo="look who else writes to the table",
        )
