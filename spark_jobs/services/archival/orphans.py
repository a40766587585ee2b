"""Files of rolled-back instants that an archival is about to pass: made by writers that outlived the rollback.

As soon as the timeline begins after such an instant, Hudi's own readers take it for an archived one, and the rows of
its files for the table's. So they go first, and an instant with files that can't go is not passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from spark_jobs.core.errors import CorruptTableError, InstantGoneError
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.format.file_names import LogFileName
from spark_jobs.core.format.instant import Action, Instant
from spark_jobs.core.format.order import earliest, is_between, is_from, latest, oldest_first, precedes
from spark_jobs.core.storage import FileStatus, join
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rollback import RequestedRollback
from spark_jobs.core.timeline.rolled_back import restored_times
from spark_jobs.core.transaction.late_files import cancelled_logs
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.services.archival.plan import Bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans:
    """``files`` are to be deleted, bytes by whole path; ``stuck`` has an instant with the relative path of a file that
    other instants need too; ``listed`` is the relative path of one that the metadata table lists ("" where it has
    none), gone from storage or not.
    """

    files: Mapping[str, int] = field(default_factory=dict)
    stuck: Mapping[str, str] = field(default_factory=dict)
    listed: str = ""

    def bounds(self, timeline: ActiveTimeline) -> tuple[Bound, ...]:
        """A write before each instant that may not be passed has to stay."""
        commits = [one.timestamp for one in timeline.completed_commits()]
        return tuple(
            Bound(
                before=latest((one for one in commits if precedes(one, instant)), instant),
                why=f"instant {instant}, which was rolled back and has blocks in {path} still: compact that file group",
            )
            for instant, path in ((time, self.stuck[time]) for time in oldest_first(self.stuck))
        )


def orphans_passed(table: HudiTable, going: Collection[Instant]) -> Orphans:
    """What lies on storage of the rolled-back instants behind which the timeline begins when these instants went. The
    partitions of each are listed once more; all, where its rollback names none, and where a restore is passed.
    """
    timeline = table.timeline
    left = replace(timeline, instants=timeline.filter(lambda one: one not in going), supposes_archive=True)
    begin, end = timeline.unbroken_from, left.unbroken_from
    gone = [(latest((goal, begin)), earliest((restore, end))) for goal, restore in restored_times(timeline)]
    passed = _Passed(
        rolled_back={
            time: named
            for time, named in _rolled_back(table, begin).items()
            if is_from(time, begin) and precedes(time, end)
        },
        between=tuple((first, last) for first, last in gone if precedes(first, last)),
        is_completed=cache(lambda time: bool(timeline.find(time)) or timeline.archive.has(time)),
    )
    if passed.is_empty:
        return Orphans()
    listing = StorageListing(table.storage, table.base_path)
    partitions = listing.partitions() if passed.partitions is None else passed.partitions
    kept = cancelled_logs(timeline, passed.rolled_back, table.clock)
    files: dict[str, int] = {}
    stuck: dict[str, str] = {}
    for partition in partitions:
        statuses = [status for _, status in listing.files([partition])]
        bases = (status for status in statuses if passed.has(_instant_of_base(table, status)))
        files.update({status.path: status.size for status in bases})
        for status, instants in _uncancelled(table, partition, statuses, passed.has).items():
            path = join(partition, status.name)
            if path in kept:
                continue
            if all(map(passed.has, instants)):
                files[status.path] = status.size
            else:
                stuck.update(dict.fromkeys(filter(passed.has, instants), path))
    return Orphans(files=files, stuck=stuck, listed=_listed(table, partitions, passed.has))


def _listed(table: HudiTable, partitions: Collection[str], is_target: Callable[[str], bool]) -> str:
    """A file of one of these instants that the metadata table lists (relative path; "" for none): it was made from a
    listing while the write was under way, and the rollback, by Hudi or an earlier release, could not take it out.
    """
    listing, format = table.metadata_listing, table.config.format
    listed = None if listing is None else listing.committed(partitions)
    for partition, names, _ in listed or ():
        for name in names:
            found = format.parse_base_file(name) or format.parse_log_file(name)
            if found is not None and is_target(found.instant):
                return join(partition, name)
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passed:
    """The instants of the past that left no write: those that were ``rolled_back``, with the partitions that each
    names, and whatever lies ``between`` the moment that a restore went back to and the restore (both exclusive).
    """

    rolled_back: Mapping[str, frozenset[str]]
    between: tuple[tuple[str, str], ...]
    is_completed: Callable[[str], bool]

    @property
    def is_empty(self) -> bool:
        return not self.between and all(map(self.is_completed, self.rolled_back))

    @property
    def partitions(self) -> list[str] | None:
        """None for all."""
        named = [some for time, some in self.rolled_back.items() if not self.is_completed(time)]
        return sorted(frozenset().union(*named)) if all(named) and not self.between else None

    def has(self, time: str | None) -> bool:
        if time is None:
            return False
        is_gone = time in self.rolled_back or any(is_between(time, *one) for one in self.between)
        return is_gone and not self.is_completed(time)


def _instant_of_base(table: HudiTable, status: FileStatus) -> str | None:
    name = table.config.format.parse_base_file(status.name)
    return None if name is None else name.instant


def _uncancelled(
    table: HudiTable, partition: str, statuses: Collection[FileStatus], is_target: Callable[[str], bool]
) -> dict[FileStatus, frozenset[str]]:
    """Log files that lie on a slice of one of these instants, or have blocks of one which no later log of the slice
    takes back, with all instants that count in them.
    """
    found: dict[tuple[str, str], list[tuple[LogFileName, FileStatus, frozenset[str], frozenset[str]]]] = {}
    for status in statuses:
        name = table.config.format.parse_log_file(status.name)
        if name is not None and not name.is_cdc:
            instants, rolled_back = _blocks(table, status)
            found.setdefault((name.file_id, name.instant), []).append((name, status, instants, rolled_back))
    holding: dict[FileStatus, frozenset[str]] = {}
    for (_, base_instant), logs in found.items():
        for name, status, instants, _ in logs:
            rolled_back = frozenset().union(*(one[3] for one in logs if one[0].version >= name.version))
            counting = instants - rolled_back
            if any(map(is_target, counting)) or (not instants and is_target(base_instant)):
                holding[status] = counting
    return holding


def _blocks(table: HudiTable, status: FileStatus) -> tuple[frozenset[str], frozenset[str]]:
    """Instants of the data and delete blocks of a log, and of those that its command blocks take back; nothing of one
    that can't be read, which validation names.
    """
    instants: set[str] = set()
    rolled_back: set[str] = set()
    if status.size:
        try:
            with table.storage.open_input(status.path) as file:
                for block in read_blocks(file):
                    if block.is_rollback:
                        rolled_back.add(block.target_instant or "")
                    elif block.instant and not block.is_corrupt:
                        instants.add(block.instant)
        except CorruptTableError:
            pass
    return frozenset(instants), frozenset(rolled_back)


def _rolled_back(table: HudiTable, begin: str) -> dict[str, frozenset[str]]:
    """Instants that completed rollbacks and restores undid, with the partitions that each of these names. Rollbacks are
    archived by a count of their own, which may be before the writes beside them.

    :param begin: of older ones nothing is asked.
    """
    timeline = table.timeline
    found: dict[str, frozenset[str]] = {}
    for result in timeline.archive.rollbacks_since(begin):
        for time in result.rolled_back:
            found[time] = found.get(time, frozenset()) | frozenset(result.partitions)
    for one in timeline.completed(Action.ROLLBACK):
        result = timeline.rollback_result(one, table.clock)
        partitions = {*result.partitions, *_planned_partitions(table, one)}
        for time in result.rolled_back:
            found[time] = found.get(time, frozenset()) | partitions
    for one in timeline.completed(Action.RESTORE):
        restored = timeline.restore_result(one, table.clock)
        for time in restored.rolled_back:
            partitions = {name for part in restored.rollbacks.get(time, ()) for name in part.partitions}
            found[time] = found.get(time, frozenset()) | partitions
    return found


def _planned_partitions(table: HudiTable, rollback: Instant) -> set[str]:
    try:
        plan = RequestedRollback.read(table.timeline, rollback, table.clock)
    except (CorruptTableError, InstantGoneError):
        return set()  # an old release left none, or died while it wrote it
    return {one.partition for one in plan.requests}
