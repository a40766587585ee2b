"""The forms of archives that this release knows, by the name that a table's format gives its own."""

from __future__ import annotations

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import Storage
from spark_jobs.core.timeline.archive.form import ArchiveForm, ArchivePlace
from spark_jobs.core.timeline.archive.v6.form import LogFileArchive

FORMS: dict[str, ArchiveForm] = {"log files": LogFileArchive()}


def archive_of(format: TableFormat, storage: Storage, folder: str) -> ArchivePlace:
    """The archive of a table of a format, in a folder."""
    return ArchivePlace(storage, folder, FORMS[format.archive_form])
