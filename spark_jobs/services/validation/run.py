"""All checks of a table in their order: what ``validate.py`` runs, and what tests ask after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spark_jobs.core.config.table_config import PROPERTIES
from spark_jobs.core.errors import CorruptTableError, HudiError, OutsideTableError, UnsupportedTableError
from spark_jobs.core.format.folders import META_FOLDER
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.lake import LAKE, Lake
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.refresh import with_refresh
from spark_jobs.options.choices import EngineKind
from spark_jobs.services.validation.ambiguous_keys import check_ambiguous_keys
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.file_checks import check_protected_files, check_written_files
from spark_jobs.services.validation.finding import Finding, error, warning
from spark_jobs.services.validation.footer_checks import check_footers
from spark_jobs.services.validation.hidden_slices import check_hidden_slices, check_lost_compactions
from spark_jobs.services.validation.index_checks import check_indexes
from spark_jobs.services.validation.key_checks import check_keys
from spark_jobs.services.validation.leftovers import check_leftovers
from spark_jobs.services.validation.log_checks import check_logs
from spark_jobs.services.validation.lost_completions import check_lost_completions
from spark_jobs.services.validation.metadata_checks import check_metadata_table
from spark_jobs.services.validation.overlap_checks import check_overlaps
from spark_jobs.services.validation.rewrite_checks import check_rewrites
from spark_jobs.services.validation.row_checks import check_rows
from spark_jobs.services.validation.scans import Scans
from spark_jobs.services.validation.source_checks import check_source_keys, check_sources
from spark_jobs.services.validation.stat_checks import check_stats
from spark_jobs.services.validation.timeline_checks import check_archive, check_deadlines, check_instants

OVERDUE_HOURS = 24
_LEFTOVERS = 7
ATTEMPTS = 4
"""Times that a table is loaded anew, where a file of its timeline goes while it is read."""
_OUTSIDE = 15
_ROWS = 1
_RESTORE = "restore the file from a copy of the table, and validate again"

_Check = Callable[[], Iterable[Finding]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What was found, sorted by invariant and path, how much was looked at (data files of all partitions), and by what
    engine.
    """

    findings: tuple[Finding, ...]
    files: int
    bytes: int
    engine: str


def validate(
    table: HudiTable | str,
    deep: bool = False,
    *,
    overdue_hours: int = OVERDUE_HOURS,
    progress: Progress | None = None,
    lake: Lake = LAKE,
) -> list[Finding]:
    """What is wrong with a table, sorted by invariant and path; empty for a sound one. Nothing is changed.

    Writers may work meanwhile: what they do between two looks is no finding.

    :param table: an open table (looked at as it stands now), or the URL of one in ``lake``.
    :param deep: read rows, archived commit metadata and indexes too.
    :param overdue_hours: how long an instant without a heartbeat may be pending.
    :raises StorageError: no table there, or its properties are unreadable.
    """
    if not isinstance(table, str):
        lake, table = table.lake, table.url
    opened = HudiTable.open(table, lake=lake, lists_storage=True)
    return list(inspect(opened, deep, overdue_hours, progress or Progress.silent("validate")).findings)


def inspect(
    table: HudiTable, deep: bool, overdue_hours: int, progress: Progress, engine: Engine | None = None
) -> Validation:
    """The same of a table that was opened just now, with its storage listed.

    :param engine: what looks into files; this process, where there is none.

    Where an archival or a rollback takes a file of the timeline away before it was read, all is read once more.
    """
    by = engine or LocalEngine(table.clock)
    return with_refresh(
        table, lambda table: examine(evidence_of(table, deep), deep, overdue_hours, progress, by), ATTEMPTS
    )


def evidence_of(table: HudiTable, deep: bool) -> Evidence:
    """What a validation looks at; nothing of it is read yet."""
    # without a metadata table nothing else tells of a lost file that an archived write made
    is_listed = table.config.lists(MetadataPartition.FILES)
    return Evidence(table, reads_archive=deep or not is_listed)


def examine(evidence: Evidence, deep: bool, overdue_hours: int, progress: Progress, engine: Engine) -> Validation:
    """All checks."""
    table = evidence.table
    found: list[Finding] = []
    for name, checks in _quick(evidence, overdue_hours):
        with progress.phase(name):
            for check in checks:
                found += _outcome(check, table)
    worked = engine.settle(*to_read(evidence, deep))
    scans = Scans(engine=engine, progress=progress, on_spark=worked == EngineKind.SPARK.value)
    for check in _by_file(evidence, deep, scans):
        found += _outcome(check, table)
    found += evidence.unreadable
    kept = sorted(set(_still_there(evidence, found)), key=lambda one: (one.invariant, one.path, one.what))
    sizes = [status.size for status in evidence.on_storage.values()]
    return Validation(findings=tuple(kept), files=len(sizes), bytes=sum(sizes), engine=worked)


def _outcome(check: _Check, table: HudiTable) -> list[Finding]:
    """What a check finds. Where it breaks off at a file that contradicts the format, that is a finding too, so that
    the findings of all others are reported.
    """
    found: list[Finding] = []
    try:
        found.extend(check())
    except UnsupportedTableError as failure:
        what = f"its rows are not validated: {failure.what}"
        found.append(warning(_ROWS, f"{META_FOLDER}/{PROPERTIES}", what, failure.todo or "validate it with Hudi"))
    except CorruptTableError as failure:
        path, name = failure.details.get("path"), failure.details.get("name")
        if isinstance(path, str) and table.storage.stat(path) is None:
            raise  # it was taken away meanwhile: all is read once more
        found.append(_broken_off(table, name, failure, _ROWS))
    except OutsideTableError as failure:
        found.append(_broken_off(table, failure.details.get("where"), failure, _OUTSIDE))
    return found


def _broken_off(table: HudiTable, name: object, failure: HudiError, invariant: int) -> Finding:
    """:param name: that of the file which contradicts the format, where the error says it."""
    is_instant = isinstance(name, str) and table.config.format.parse_instant(name) is not None
    folder = table.config.format.timeline_folder(table.base_path).removeprefix(f"{table.base_path}/")
    at = f"{folder}/{name}" if is_instant else META_FOLDER
    what = f"a check broke off, and the rest of what it looks at is not validated: {failure.what}"
    return error(invariant, at, what, _RESTORE)


def to_read(evidence: Evidence, deep: bool) -> tuple[int, int]:
    """Bytes of rows, and files whose footers or first bytes are looked at."""
    groups = evidence.view.all_groups() if evidence.view is not None else ()
    sizes = [size for group in groups for one in group.slices for _, size in one.sizes]
    return sum(sizes) if deep else 0, len(sizes)


def _quick(evidence: Evidence, overdue_hours: int) -> Iterator[tuple[str, Sequence[_Check]]]:
    yield "timeline", [lambda: check_instants(evidence), lambda: check_archive(evidence)]
    yield (
        "storage",
        [
            lambda: check_written_files(evidence),
            lambda: check_stats(evidence),
            lambda: check_protected_files(evidence),
            lambda: check_overlaps(evidence),
            lambda: check_sources(evidence),
        ],
    )
    yield (
        "leftovers",
        [
            lambda: check_leftovers(evidence),
            lambda: check_hidden_slices(evidence),
            lambda: check_lost_compactions(evidence),
            lambda: check_lost_completions(evidence),
            lambda: check_deadlines(evidence, overdue_hours),
        ],
    )
    yield "metadata table", [lambda: check_metadata_table(evidence)]


def _by_file(evidence: Evidence, deep: bool, scans: Scans) -> Iterator[_Check]:
    """They report their phases themselves."""
    yield lambda: check_footers(evidence, scans)
    yield lambda: check_logs(evidence, scans)
    if deep:
        yield lambda: check_rows(evidence, scans)
        yield lambda: check_indexes(evidence, scans.progress)
        yield lambda: check_keys(evidence, scans)
        yield lambda: check_ambiguous_keys(evidence, scans)
        yield lambda: check_source_keys(evidence, scans)
        yield lambda: check_rewrites(evidence, scans)


def _still_there(evidence: Evidence, found: list[Finding]) -> Iterator[Finding]:
    """Without leftovers that somebody removed while this ran."""
    storage, base = evidence.table.storage, evidence.table.base_path
    for one in found:
        if one.invariant == _LEFTOVERS and not one.what.startswith("it is missing"):
            path = resolve(base, RelativePath(one.path))
            if storage.stat(path) is None and not storage.has_folder(path):
                continue
        yield one
