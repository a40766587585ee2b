"""All checks of a table in their order: what ``validate.py`` runs, and what tests ask after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.files.names import join
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.progress import Progress
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.file_checks import check_protected_files, check_written_files
from spark_jobs.services.validation.finding import Finding
from spark_jobs.services.validation.footer_checks import check_footers
from spark_jobs.services.validation.index_checks import check_indexes
from spark_jobs.services.validation.key_checks import check_keys
from spark_jobs.services.validation.leftovers import check_leftovers
from spark_jobs.services.validation.metadata_checks import check_metadata_table
from spark_jobs.services.validation.rewrite_checks import check_rewrites
from spark_jobs.services.validation.row_checks import check_rows
from spark_jobs.services.validation.timeline_checks import check_archive, check_deadlines, check_instants

OVERDUE_HOURS = 24
_LEFTOVERS = 7


def validate(
    table: HudiTable | str,
    deep: bool = False,
    *,
    overdue_hours: int = OVERDUE_HOURS,
    progress: Progress | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> list[Finding]:
    """What is wrong with a table, sorted by invariant and path; empty for a sound one. Nothing is changed.

    Writers may work meanwhile: what they do between two looks is no finding.

    :param table: an open table (looked at as it stands now), or its base path.
    :param deep: read rows, archived commit metadata and indexes too.
    :param overdue_hours: how long an instant without a heartbeat may be pending.
    :raises StorageError: no table there, or its properties are unreadable.
    """
    path, clock = (table, clock) if isinstance(table, str) else (table.base_path, table.clock)
    opened = HudiTable.open(path, clock, lists_storage=True)
    evidence = Evidence(opened, reads_archive=deep)
    progress = progress or Progress.silent("validate")
    found: list[Finding] = []
    for name, check in _checks(evidence, deep, overdue_hours, progress):
        with progress.phase(name):
            found += check()
    found += evidence.unreadable
    return sorted(set(_still_there(evidence, found)), key=lambda one: (one.invariant, one.path, one.what))


def _checks(
    evidence: Evidence, deep: bool, overdue_hours: int, progress: Progress
) -> Iterator[tuple[str, Callable[[], Iterable[Finding]]]]:
    yield "timeline", lambda: check_instants(evidence)
    yield "storage", lambda: [*check_written_files(evidence), *check_protected_files(evidence)]
    yield "leftovers", lambda: check_leftovers(evidence)
    yield "archive", lambda: check_archive(evidence)
    yield "deadlines", lambda: check_deadlines(evidence, overdue_hours)
    yield "metadata table", lambda: check_metadata_table(evidence)
    yield "files", lambda: check_footers(evidence, progress)
    if deep:
        yield "contents", lambda: check_rows(evidence, progress)
        yield "indexes", lambda: check_indexes(evidence, progress)
        yield "records", lambda: check_keys(evidence, progress)
        yield "rewrites", lambda: check_rewrites(evidence, progress)


def _still_there(evidence: Evidence, found: list[Finding]) -> Iterator[Finding]:
    """Without leftovers that somebody removed while this ran."""
    storage, base = evidence.table.storage, evidence.table.base_path
    for one in found:
        is_gone = one.invariant == _LEFTOVERS and storage.stat(join(base, one.path)) is None
        if not is_gone or one.what.startswith("it is missing"):
            yield one
