"""Invariants 1 and 4 (``--deep``): what compaction and clustering read and wrote, as long as both are still there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import just_before
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.schema.meta_fields import FILE_NAME
from spark_jobs.core.timeline.commit_metadata import CommitMetadata, OperationType
from spark_jobs.core.timeline.plans.rewriting import slices_of_plan
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.file_system_view import FileSystemView, GroupKey
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error
from spark_jobs.services.validation.row_hash import Fingerprint, hash_rows
from spark_jobs.services.validation.scans import Scans

_TODO = "restore the table to before it, and run it again; with Hudi's own services report it to Hudi"


def check_rewrites(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """Rows of the touched file groups right before and right after each service, as queries at these moments see them.

    A service is passed over whose inputs were cleaned, and a clustering of which some output was: a savepoint may keep
    its inputs for longer. Rows are compared as multisets by their hashes, but for
    ``_hoodie_file_name``; nothing of them is kept.
    """
    done = [
        (instant, metadata)
        for instant, metadata in evidence.commits.items()
        if _action(instant, metadata) and metadata.touched_file_groups()
    ]
    with scans.progress.phase("rewrites", len(done)) as phase:
        for instant, metadata in done:
            if evidence.view is not None and _is_whole(evidence, instant, metadata):
                yield from _check(evidence, scans, instant, metadata)
            phase.advance()


def _action(instant: Instant, metadata: CommitMetadata) -> Action | None:
    """What was planned; None for a write. A log compaction is a delta commit, and calls itself a compaction."""
    if instant.action is Action.REPLACE_COMMIT:
        return instant.action if metadata.operation_type is OperationType.CLUSTER else None
    if metadata.compacted or metadata.operation_type in (OperationType.COMPACT, OperationType.LOG_COMPACT):
        return Action.LOG_COMPACTION if instant.action is Action.DELTA_COMMIT else Action.COMPACTION
    return None


def _is_whole(evidence: Evidence, instant: Instant, metadata: CommitMetadata) -> bool:
    """Whether all that the plan names is still on storage, and of a clustering all that it wrote; without its plan
    that is not known.
    """
    if instant.action is Action.REPLACE_COMMIT:
        written = written_paths(metadata.write_stats)
        if not all(path in evidence.on_storage for path in written):
            return False
    requested = Instant(instant.timestamp, _action(instant, metadata) or instant.action, State.REQUESTED)
    try:
        slices = slices_of_plan(evidence.timeline, requested, evidence.table.clock)
    except HudiError:
        return False
    return bool(slices) and all(path in evidence.on_storage for one in slices for path in one.paths)


def _check(evidence: Evidence, scans: Scans, instant: Instant, metadata: CommitMetadata) -> Iterator[Finding]:
    touched = metadata.touched_file_groups()
    before_time = just_before(instant.timestamp)
    if instant.action is Action.REPLACE_COMMIT:
        yield from _compare(evidence, scans, instant, before_time, [touched])
    else:
        yield from _compare(evidence, scans, instant, before_time, [frozenset({key}) for key in sorted(touched)])


def _compare(
    evidence: Evidence, scans: Scans, instant: Instant, before_time: str, several: Sequence[frozenset[GroupKey]]
) -> Iterator[Finding]:
    partitions = {partition for keys in several for partition, _ in keys}
    before, after = (evidence.view_at(time, partitions) for time in (before_time, instant.timestamp))
    if before is None or after is None:
        return
    # both moments are read with the columns of the later one
    scan = _RowsOf(tuple(evidence.reader(view, instant.timestamp) for view in (before, after)))
    pairs = [(_of_groups(before, keys), _of_groups(after, keys)) for keys in several]
    # without those whose own output was cleaned
    kept = [pair for pair in pairs if not pair[1] or any(_is_of(one, instant) for one in pair[1])]
    reads = [(moment, one) for pair in kept for moment, some in enumerate(pair) for one in some]
    found = scans.each(reads, scan, [one.size for _, one in reads], lambda steps: None)
    for pair in kept:
        path = pair[1][0].paths[0] if pair[1] else evidence.instant_path(instant)
        sums = [list(islice(found, len(some))) for some in pair]
        faults = [one for some in sums for one in some if isinstance(one, str)]
        if faults:
            if not evidence.lost_meanwhile([one for some in pair for one in some]):
                what = f"the rows before and after {instant} can't be read ({faults[0]})"
                yield error(1, path, what, "restore the files from a copy of the table")
            continue
        rows_before, rows_after = map(_together, sums)
        if rows_before != rows_after:
            counts = f"{rows_before.rows} rows went in and {rows_after.rows} came out"
            same = ", of which some differ" if rows_before.rows == rows_after.rows else ""
            yield error(4, path, f"{instant} did not keep the rows: {counts}{same}", _TODO)


def _of_groups(view: FileSystemView, keys: frozenset[GroupKey]) -> list[FileSlice]:
    return [one for one in view.latest_slices() if (one.partition, one.file_id) in keys]


def _is_of(one: FileSlice, instant: Instant) -> bool:
    return one.base_instant == instant.timestamp or bool(one.log_files)


def _together(found: Iterable[Fingerprint | str]) -> Fingerprint:
    return sum((one for one in found if isinstance(one, Fingerprint)), start=Fingerprint())


@dataclass(frozen=True, slots=True)
class _RowsOf:
    """A sign of the rows of a slice, by its reader of one of two moments; pickles."""

    readers: tuple[SliceReader, ...]

    def __call__(self, item: tuple[int, FileSlice]) -> Fingerprint | str:
        """Or why they can't be read."""
        reader = self.readers[item[0]]
        columns = [name for name in reader.schema.names if name != FILE_NAME]
        found = Fingerprint()
        try:
            for batch in reader.read(item[1], columns):
                found = found.with_rows(hash_rows(batch))
        except HudiError as failure:
            return failure.what
        return found
