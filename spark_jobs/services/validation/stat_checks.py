"""Invariant 5 by the write stats alone: what each says of its file fits the file's own path and itself."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from spark_jobs.core.timeline.write_stat import WriteStat
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning
from spark_jobs.services.validation.log_counts import check_parts

_RESTORE = "restore the timeline file from a copy of the table"


def check_stats(evidence: Evidence) -> Iterator[Finding]:
    """Of completed writes on the active timeline."""
    for instant, metadata in evidence.commits.items():
        where, seen = evidence.instant_path(instant), set[str]()
        for stat in metadata.write_stats:
            path = (stat.path or "").lstrip("/")
            if not path:
                continue
            if path in evidence.on_storage:  # cleaned files need no place, and some old writers gave whole paths
                yield from _place(evidence, where, stat, path)
            if evidence.format.parse_log_file(stat.file_name) is not None and evidence.format.writable:
                yield from check_parts(where, stat, path)
            base = evidence.format.parse_base_file(stat.file_name)
            if base is None:
                continue  # Hudi may name a log once for each time it appended to it
            if path in seen:
                yield warning(5, where, f"its write stats name {path} twice: its rows are counted twice", _RESTORE)
            seen.add(path)
            yield from _counts(where, stat, path)


def _place(evidence: Evidence, where: str, stat: WriteStat, path: str) -> Iterator[Finding]:
    """Conflicts, plans and rollbacks go by the file id and partition of a stat, readers by the path."""
    name = evidence.format.parse_base_file(stat.file_name) or evidence.format.parse_log_file(stat.file_name)
    if name is None:
        return
    if stat.file_id != name.file_id:
        yield error(5, where, f"the write stat of {path} has the file id {stat.file_id!r}", _RESTORE)
    folder = path.rpartition("/")[0]
    if _plain(stat.partition_path) != _plain(folder):
        yield error(5, where, f"the write stat of {path} has the partition {stat.partition_path!r}", _RESTORE)


def _plain(folder: str) -> str:
    """Without what a file system's path leaves out."""
    return posixpath.normpath(f"/{folder.strip('/')}")


def _counts(where: str, stat: WriteStat, path: str) -> Iterator[Finding]:
    """A handle counts each row that came as an insert or update, and then as written, deleted or refused (Hudi:
    HoodieMergeHandle, HoodieCreateHandle). Rows that it copied are written alone.
    """
    came = stat.num_inserts + stat.num_update_writes
    went = stat.num_writes + stat.num_deletes + stat.total_write_errors
    if came > went:
        what = f"the write stat of {path} counts {came} inserts and updates, and only {went} rows written or deleted"
        yield warning(5, where, what, _RESTORE)
