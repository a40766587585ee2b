"""Invariant 7: files of no instant, markers, heartbeats and temporary files that no writer removes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from spark_jobs.core.config.table_config import BACKUP
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.markers import has_markers
from spark_jobs.core.files.partition_metafile import METAFILES
from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.folders import HEARTBEAT_FOLDER, MARKER_FOLDER, METADATA_FOLDER, SOURCE_FOLDER
from spark_jobs.core.format.order import earliest, follows, is_between, oldest_first
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.timeline.rolled_back import restored_times
from spark_jobs.core.transaction.heartbeat import read_pulse
from spark_jobs.core.view.visibility import Visibility
from spark_jobs.services.rollback.failed_writes import instant_of_debris
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error, warning
from spark_jobs.services.validation.footer_checks import FILES_AT_ONCE

_CHECKSUM_SUFFIX = ".crc"
_DELETE = "delete it"
_STRAY = "delete it if it is a copy; if the write made it, restore its timeline file from a copy of the table"
_NEXT_WRITE = "the next write or clean.py removes it"


def check_leftovers(evidence: Evidence) -> Iterator[Finding]:
    yield from _outside_partitions(evidence)
    yield from orphan_files(evidence)
    yield from _strangers(evidence)
    yield from _debris(evidence)
    yield from _temporary(evidence)


def orphan_files(evidence: Evidence) -> Iterator[Finding]:
    """Base and log files in partitions that belong to no completed or pending instant."""
    yield from _base_files(evidence)
    yield from _log_files(evidence)


def _outside_partitions(evidence: Evidence) -> Iterator[Finding]:
    """Data files in folders that no reader lists."""
    for folder in evidence.folders:
        names = [one.name for one in folder.files if _is_data(evidence, one.name)]
        if not names or folder in evidence.partitions:
            continue
        if folder.inside is not None:
            what = (
                f"it has {len(names)} data file(s) and lies inside partition {folder.inside!r}, where no reader looks"
            )
            yield error(7, folder.path, what, "move its rows to a partition that is not nested")
        else:
            yield error(
                7,
                join(folder.path, METAFILES[0]),
                f"it is missing beside {len(names)} data file(s), which no reader that lists the storage finds",
                "write it (Hudi's `hudi-cli repair addpartitionmeta`), or delete the files if no commit names them",
            )


def _is_data(evidence: Evidence, name: str) -> bool:
    return evidence.format.parse_base_file(name) is not None or evidence.format.parse_log_file(name) is not None


def _base_files(evidence: Evidence) -> Iterator[Finding]:
    slices = {(one.partition, one.file_id, one.instant) for one in evidence.written.values()}
    for path, status in evidence.on_storage.items():
        name = evidence.format.parse_base_file(status.name)
        if name is None or name.instant in evidence.pending:
            continue
        if name.instant in evidence.operations:
            if path in evidence.written or name.instant in evidence.silent:
                continue
            what = f"instant {name.instant} is completed and does not name it"
            if (path.rpartition("/")[0], name.file_id, name.instant) in slices:
                yield warning(7, path, f"{what}, but another file of the same slice", _DELETE, Repair.LEFTOVERS)
            else:
                yield error(7, path, f"{what}: readers take its rows for the table's", _DELETE, Repair.LEFTOVERS)
        elif name.instant not in evidence.done:
            yield _orphaned(evidence, path, name.instant)
    yield from _beside_archived(evidence)


def _beside_archived(evidence: Evidence) -> Iterator[Finding]:
    """Of several base files of one slice, whose write was archived, those that it does not name."""
    slices: dict[tuple[str, str, str], list[str]] = {}
    for path, status in evidence.on_storage.items():
        name = evidence.format.parse_base_file(status.name)
        if name is not None and name.instant not in evidence.operations and name.instant in evidence.archived_done:
            slices.setdefault((path.rpartition("/")[0], name.file_id, name.instant), []).append(path)
    for (_, _, instant), paths in slices.items():
        written = evidence.written_by(instant) if len(paths) > 1 else None
        for path in paths:
            if written is not None and path not in written:
                what = f"instant {instant}, which is archived, does not name it, but another file of the same slice"
                yield warning(7, path, what, _DELETE, Repair.LEFTOVERS)


def _orphaned(evidence: Evidence, path: str, instant: str) -> Finding:
    if not Visibility.of(evidence.timeline).is_old(instant):
        what = f"instant {instant} is on neither timeline: no reader sees the file"
        return warning(7, path, what, _DELETE, Repair.LEFTOVERS)
    if instant in evidence.rolled_back or any(is_between(instant, *gone) for gone in restored_times(evidence.later)):
        what = f"instant {instant} was rolled back, and is older than the timeline"
        return error(7, path, f"{what}: Hudi's readers take the file's rows for the table's", _DELETE, Repair.LEFTOVERS)
    what = f"instant {instant} is on neither timeline, and older than the active one"
    partition, _, name = path.rpartition("/")
    if evidence.table.proves_committed(partition, name, instant):
        what = f"{what}; the file counts, since a later commit or the metadata table has it"
        return warning(7, path, what, "restore the archive from a copy of the table")
    return error(
        7,
        path,
        f"{what}: nothing says that its write was completed, and no reader takes the file's rows for the table's but "
        "Hudi's own",
        "delete it, unless the archive lost the instant: then restore the archive from a copy of the table",
    )


@dataclass(frozen=True, slots=True)
class _NamedLogs:
    """What completed writes on the active timeline name: (version, instant) by partition, file id and base instant.

    ``instants`` are those that tell what they wrote: not those whose file is empty.
    """

    slices: Mapping[tuple[str, str, str], list[tuple[int, str]]]
    instants: frozenset[str]

    @staticmethod
    def of(evidence: Evidence) -> _NamedLogs:
        slices: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
        for path, one in evidence.written.items():
            folder, _, last = path.rpartition("/")
            name = evidence.format.parse_log_file(last)
            if name is not None:
                key = (folder, name.file_id, name.instant)
                slices.setdefault(key, []).append((name.version, one.instant))
        if evidence.table.base_path.endswith(f"/{METADATA_FOLDER}"):
            return _NamedLogs(slices, frozenset())  # Hudi begins its file groups with logs that no commit names
        reported = (one.timestamp for one, metadata in evidence.commits.items() if not metadata.is_empty)
        return _NamedLogs(slices, frozenset(reported))

    def left_out(self, path: str, partition: str, name: LogFileName, instants: AbstractSet[str]) -> Iterator[Finding]:
        """A log with blocks of writes that do not name it. A task of Hudi that was tried twice leaves such a log beside
        the good one, with the same rows; any other brings rows that are not the table's, or not up to date.
        """
        for instant in oldest_first(instants & self.instants):
            what = f"it has blocks of instant {instant}, which is completed and does not name it"
            others = self.slices.get((partition, name.file_id, name.instant), [])
            is_twin = any(other == instant for _, other in others)
            if is_twin and not any(follows(other, instant) and version < name.version for version, other in others):
                yield warning(7, path, f"{what}, but another log of the same slice", _DELETE, Repair.LEFTOVERS)
            else:
                yield error(7, path, f"{what}: readers that list the storage take its rows for the table's", _STRAY)
            return


def _log_files(evidence: Evidence) -> Iterator[Finding]:
    """Logs that no write on the active timeline names, by the instants of their blocks."""
    named = _NamedLogs.of(evidence)
    unexplained: dict[tuple[str, LogFileName], str] = {}
    for path, status in evidence.on_storage.items():
        name = evidence.format.parse_log_file(status.name)
        if name is not None and not name.is_cdc and path not in evidence.written:
            unexplained[(path.rpartition("/")[0], name)] = path
    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        found = pool.map(lambda path: block_instants(evidence, path), unexplained.values())
        blocks = dict(zip(unexplained, found, strict=True))
    rolled_back: dict[tuple[str, str], dict[str, int]] = {}  # instant -> version of the last log that undoes its blocks
    for (partition, name), (_, targets) in blocks.items():
        versions = rolled_back.setdefault((partition, name.file_id), {})
        versions.update({target: max(name.version, versions.get(target, 0)) for target in targets})
    known = evidence.done | evidence.pending | evidence.rolled_back
    visibility = Visibility.of(evidence.timeline)
    for (partition, name), (instants, _) in blocks.items():
        path = unexplained[(partition, name)]
        versions = rolled_back[(partition, name.file_id)]
        # a log compaction that is carried out again after a rollback has the instant of what was undone
        holding = {instant for instant in instants if versions.get(instant, 0) < name.version}
        yield from named.left_out(path, partition, name, holding)
        unseen = holding & (evidence.rolled_back - evidence.done - evidence.pending)
        old = any(map(visibility.is_old, unseen))
        of = f"its blocks are of instant {earliest(unseen)}"
        what = f"{of}, which was rolled back, and nothing takes them back here"
        if old:
            what = f"{what}; it is older than the timeline"
            todo = _DELETE if unseen == instants else "compact its file group by compact.py"
            repair = Repair.LEFTOVERS if unseen == instants else None
            yield error(7, path, f"{what}: Hudi's readers take them for the table's", todo, repair)
        elif unseen and unseen == instants:
            yield warning(7, path, f"{what}: no reader sees them", _DELETE, Repair.LEFTOVERS)
        if not instants and not versions and name.instant not in known - evidence.rolled_back:
            yield _orphaned(evidence, path, name.instant)
        strange = instants - known - versions.keys()
        if strange and strange == instants:
            what = (
                f"its blocks are of instant {earliest(strange)}, which is on neither timeline and was not rolled back"
            )
            if visibility.is_old(earliest(strange)):
                yield error(7, path, f"{what}: Hudi's readers take them for the table's", _DELETE, Repair.LEFTOVERS)
            else:
                yield warning(7, path, what, _DELETE, Repair.LEFTOVERS)


def block_instants(evidence: Evidence, path: str) -> tuple[frozenset[str], frozenset[str]]:
    """Instants of the data and delete blocks of a log, and what its rollback blocks take back."""
    instants: set[str] = set()
    targets: set[str] = set()
    whole = resolve(evidence.table.base_path, RelativePath(path))
    # one that can't be read is reported by the check of its first bytes, or of all of it
    with suppress(HudiError), evidence.table.storage.open_input(whole) as file:
        for block in read_blocks(file):
            if block.is_rollback:
                targets.add(block.target_instant or "")
            elif block.type is not BlockType.CORRUPT_BLOCK and block.instant:
                instants.add(block.instant)
    return frozenset(instants), frozenset(targets)


def _strangers(evidence: Evidence) -> Iterator[Finding]:
    """Files in partitions that are none of a table's."""
    for path, status in evidence.on_storage.items():
        name = status.name
        if _is_data(evidence, name) or name in METAFILES or name.endswith(_CHECKSUM_SUFFIX):
            continue
        if evidence.table.storage.is_unpublished(name):
            continue
        yield warning(7, path, "it is no file of a table by its name, and no reader sees it", "move or delete it")


def _debris(evidence: Evidence) -> Iterator[Finding]:
    """Markers, heartbeats and rows of sources of instants that are over."""
    table = evidence.table
    settings = table.heartbeats
    folders = (
        (RelativePath(MARKER_FOLDER), "markers"),
        (RelativePath(HEARTBEAT_FOLDER), "a heartbeat"),
        (RelativePath(SOURCE_FOLDER), "rows of the source"),
    )
    listed = [(folder, what, table.storage.list(resolve(table.base_path, folder))) for folder, what in folders]
    now = evidence.timeline.reload()  # after them: an instant is on the timeline before it leaves anything
    begun = evidence.pending | {one.timestamp for one in now.instants if not one.is_completed}
    for folder, what, found in listed:
        for status in found:
            time = instant_of_debris(status.name, table.storage)
            if not time or time in begun:
                continue
            if read_pulse(table.storage, table.base_path, time, settings, table.clock).alive:
                continue
            if what == "markers" and not has_markers(table.storage, table.base_path, time):
                continue  # what a connector of Hadoop's left for a folder
            yield warning(
                7,
                f"{folder}/{status.name}",
                f"it has {what} of instant {time}, which is not pending",
                _NEXT_WRITE,
                Repair.LEFTOVERS,
            )


def _temporary(evidence: Evidence) -> Iterator[Finding]:
    table = evidence.table
    for status in table.storage.list(evidence.timeline.folder):
        if status.name == BACKUP:
            yield warning(
                7,
                evidence.relative(status.path),
                "an update of hoodie.properties did not end",
                "any update ends it; until then readers take whichever copy is good",
            )
        elif table.storage.is_unpublished(status.name):
            yield warning(7, evidence.relative(status.path), "it was never published", _DELETE, Repair.LEFTOVERS)
    for path in evidence.on_storage:
        if table.storage.is_unpublished(path):
            yield warning(7, path, "it was never published", _DELETE, Repair.LEFTOVERS)
