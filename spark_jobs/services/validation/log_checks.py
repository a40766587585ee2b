"""Invariant 5 of logs: what completed writes put into them is there, and nothing that a reader would take for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.log_reader import survey_log_files
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.core.view.written_files import CommittedFiles, Parts, with_extents
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error
from spark_jobs.services.validation.scans import Scans

_AT_ONCE, _TOGETHER = 16, 64
_RESTORE = "restore it from a copy of the table, or roll back the write that made it"


def check_logs(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """The heads of all blocks in the logs that a snapshot query reads. Lost and short files are reported by what names
    them.
    """
    if evidence.view is None:
        return
    table = evidence.table
    files = CommittedFiles(evidence.timeline, table.clock)
    slices = [
        one
        for one in with_extents(
            [one for one in evidence.view.latest_slices() if one.log_files],
            files,
            sizes_known=False,
            reads_archive=evidence.reads_archive,
            parts=Parts.PLANNED,
        )
        if not _is_short(one)
    ]
    scan = _LogLook(table.storage, table.base_path, evidence.view.visibility)
    with scans.progress.phase("logs", len(slices)) as phase:
        for found in scans.each(slices, scan, [1] * len(slices), phase.advance, at_once=_AT_ONCE, together=_TOGETHER):
            yield from found


def _is_short(one: FileSlice) -> bool:
    sizes = {str(log.name): log.size for log in one.log_files}
    written = one.extents.written if one.extents else ()
    return any(all(sizes.get(name, 0) < extent.end for name in extent.names) for extent in written)


@dataclass(frozen=True, slots=True)
class _LogLook:
    """The check of one slice; pickles."""

    storage: Storage
    base_path: str
    visibility: Visibility

    def __call__(self, one: FileSlice) -> Sequence[Finding]:
        paths = [log.relative_path for log in one.log_files]
        files = [(path, partial(self.storage.open_input, resolve(self.base_path, path))) for path in paths]
        try:
            survey_log_files(files, self.visibility.is_completed, None, extents=one.extents)
        except HudiError as failure:
            if any(self.storage.stat(resolve(self.base_path, path)) is None for path in paths):
                return []  # cleaned meanwhile, or missing, which what names it reports
            path = failure.details.get("file")
            return [error(5, path if isinstance(path, str) else paths[0], failure.what, _RESTORE, Repair.LOGS)]
        return []
