"""Carrying a rollback out, so that a second run after a crash ends in the same state.

Hudi:  BaseRollbackActionExecutor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType

from spark_jobs.core.errors import RESTORE_FILE, AlreadyExistsError, CorruptTableError
from spark_jobs.core.files.log_writer import command_block
from spark_jobs.core.files.markers import (
    NEVER_COMPLETED,
    create_marker,
    delete_markers,
    has_markers,
    read_markers,
)
from spark_jobs.core.files.names import MarkerType
from spark_jobs.core.format.file_names import UNKNOWN_WRITE_TOKEN
from spark_jobs.core.format.folders import MARKER_FOLDER, SOURCE_FOLDER
from spark_jobs.core.format.instant import COMMITS, Action, Instant, State
from spark_jobs.core.storage import RelativePath, join, resolve
from spark_jobs.core.storage.many import find_files
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.plans.rewriting import slices_of_plan
from spark_jobs.core.timeline.plans.rollback import RequestedRollback, RollbackRequest
from spark_jobs.core.timeline.results import NamedInstant, PartitionOutcome, RollbackRecord
from spark_jobs.core.timeline.steps import begin_at_once, complete, transition
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.core.transaction.heartbeat import heartbeat_path
from spark_jobs.core.transaction.late_files import is_own
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT
from spark_jobs.core.view.bootstrap_writer import drop_bootstrap_index
from spark_jobs.core.view.listing import StorageListing
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.protocol import Engine
from spark_jobs.services.deletions import delete_by, in_pieces
from spark_jobs.services.rollback.plan import plan_by_listing, plan_by_markers
from spark_jobs.services.rollback.stray_logs import block_instants, stray_logs


def roll_back(
    settings: TransactionSettings,
    timeline: ActiveTimeline,
    target: Instant,
    *,
    keep_plan: bool = False,
    requests: tuple[RollbackRequest, ...] | None = None,
    engine: Engine | None = None,
    note: Mapping[str, str] = MappingProxyType({}),
) -> Instant:
    """Undo an instant; the caller holds the table lock and saw no live heartbeat of it. A completed one becomes pending
    again before anything of it is deleted, and vanishes whole.

    :param keep_plan: a compaction or clustering that is pending goes back to requested instead of vanishing.
    :param requests: what it takes, where the caller planned it; of a completed instant always.
    :param engine: what deletes; this process, where there is none.
    :param note: goes into the headers of its files.
    :returns: the completed rollback instant.
    """
    requests = requests_for_pending(settings, target) if requests is None else requests
    plan = RequestedRollback(target=NamedInstant.naming(target), requests=requests)
    time = settings.next_instant(timeline)
    inflight = begin_at_once(timeline, time, Action.ROLLBACK, plan=plan.payload(settings.base_path, note))
    keep_plan = keep_plan and not target.is_completed
    target = reopen(timeline, target) if target.is_completed else target
    return _execute(settings, timeline, inflight, target, requests, keep_plan=keep_plan, engine=engine, note=note)


def reopen(timeline: ActiveTimeline, completed: Instant) -> Instant:
    """Take the completed file of a write away, so that no reader sees its rows any more; the pending instant it is now.

    The plan of a clustering is emptied before: whoever ends this after a crash must not take the instant for one that
    is yet to be executed. That the file is gone is forced to the disk: after a loss of power it may not be there again
    without its data files.
    """
    pending = pending_form(timeline, completed)
    for state in (State.REQUESTED, State.INFLIGHT):
        if timeline.storage.stat(timeline.path(pending.at(state))) is None:
            timeline.storage.create(timeline.path(pending.at(state)), b"")
    if pending.action is Action.REPLACE_COMMIT:
        timeline.storage.replace(timeline.path(pending.at(State.REQUESTED)), b"")
    timeline.storage.delete(timeline.path(completed))
    timeline.storage.sync((), [timeline.path(completed)])
    return pending


def pending_form(timeline: ActiveTimeline, completed: Instant) -> Instant:
    """The instant that a completed one was while it was inflight: a compaction becomes a commit by its completion."""
    for action in (Action.COMPACTION, Action.LOG_COMPACTION):
        planned = Instant(completed.timestamp, action, State.REQUESTED)
        is_its_form = planned.comparable_action is completed.action
        if is_its_form and timeline.storage.stat(timeline.path(planned)) is not None:
            return planned.at(State.INFLIGHT)
    return completed.at(State.INFLIGHT)


def resume_rollback(
    settings: TransactionSettings,
    timeline: ActiveTimeline,
    pending: Instant,
    is_plan: Callable[[Instant], bool],
    engine: Engine | None = None,
    note: Mapping[str, str] = MappingProxyType({}),
) -> Instant:
    """Finish a rollback that a crash left pending; the caller holds the table lock and asked
    :func:`withdraw_from_completed`.

    :param is_plan: whether the instant that is undone goes back to requested instead of vanishing.
    """
    plan = RequestedRollback.read(timeline, pending, settings.clock)
    named = _target_of(timeline, pending, plan)
    found = [one for one in timeline.find(named.time) if not one.is_completed]
    target = found[0] if found else named.at(State.INFLIGHT)
    if pending.state is State.REQUESTED:
        pending = transition(timeline, pending, State.INFLIGHT)
    was_pending = target.action.value == named.action  # a completed compaction is named as the commit that it was
    keep_plan = was_pending and is_plan(target)
    return _execute(settings, timeline, pending, target, plan.requests, keep_plan=keep_plan, engine=engine, note=note)


def withdraw_from_completed(settings: TransactionSettings, timeline: ActiveTimeline, pending: Instant) -> bool:
    """Take a pending rollback off the timeline whose target is a completed write: its writer was only thought dead. The
    caller holds the table lock.

    Hudi makes a completed instant pending again before it deletes its files, so a rollback by it that broke off earlier
    has deleted none, and may be asked for again.

    :returns: False where the target is not completed.
    :raises CorruptTableError: files of the completed write are gone.
    """
    plan = RequestedRollback.read(timeline, pending, settings.clock)
    time = _target_of(timeline, pending, plan).time
    targets = [one for one in timeline.find(time) if one.is_completed and one.action in COMMITS]
    if not targets:
        return False
    written = written_paths(timeline.commit_metadata(targets[0], settings.clock).write_stats)
    for path in sorted(plan.deletions & written):
        if settings.storage.stat(resolve(settings.base_path, path)) is None:
            raise CorruptTableError(
                f"rollback {pending.timestamp} deleted {path} of {targets[0]}, which was completed meanwhile",
                todo=f"finish it with Hudi (`hudi-cli commit rollback --commit {time}`), then write its rows again",
                instant=time,
                path=path,
            )
    for state in (State.INFLIGHT, State.REQUESTED):
        settings.storage.delete(timeline.path(pending.at(state)))
    delete_markers(settings.storage, settings.base_path, pending.timestamp)
    return True


def has_plan(settings: TransactionSettings, timeline: ActiveTimeline, pending: Instant) -> bool:
    """Whether the plan of a pending rollback is readable; Hudi does not write it in one step on a local disk."""
    try:
        return RequestedRollback.read(timeline, pending, settings.clock).target is not None
    except CorruptTableError:
        return False


def _target_of(timeline: ActiveTimeline, pending: Instant, plan: RequestedRollback) -> NamedInstant:
    """
    :raises CorruptTableError: the plan does not say what it takes back.
    """
    if plan.target is None:
        name = timeline.name_of(pending.at(State.REQUESTED))
        raise CorruptTableError(f"{name} does not say what it takes back", todo=RESTORE_FILE, name=name)
    return plan.target


def requests_for_pending(
    settings: TransactionSettings, target: Instant, *, by_markers: bool = True
) -> tuple[RollbackRequest, ...]:
    """What undoing a pending instant takes.

    :param by_markers: ``hoodie.rollback.using.markers``; without them, or where there are none, the table is listed.
    :raises CorruptTableError: it has files and no folder of markers, which is made before the first file and goes after
        the completed file came: that was lost, and live file slices may need the files. Not of a plan that can be
        carried out again.
    """
    if target.state is State.REQUESTED:
        return ()
    is_stray = stray_logs(settings, target)
    markers = read_markers(settings.storage, settings.base_path, target.timestamp) if by_markers else None
    if markers:
        return plan_by_markers(settings.config.format, markers, is_stray)
    listing = StorageListing(settings.storage, settings.base_path)  # the metadata table does not know pending files
    files = list(listing.files(listing.partitions()))
    found = plan_by_listing(
        settings.config.format,
        target,
        files,
        lambda partition, status: block_instants(settings, status),
        is_stray,
    )
    is_marked = has_markers(settings.storage, settings.base_path, target.timestamp)
    if found and not is_marked and not _can_be_carried_out_again(settings, target):
        name = (*found[0].delete, *found[0].cancel)[0]
        raise CorruptTableError(
            f"instant {target.timestamp} looks pending, has files ({join(found[0].partition, name)}) and no markers: "
            "its completed file was lost",
            todo=f"restore that from a copy of the table; or, where it was never completed, make an empty file "
            f"{MARKER_FOLDER}/{target.timestamp}/{NEVER_COMPLETED}",
            instant=target.timestamp,
        )
    return found


def _can_be_carried_out_again(settings: TransactionSettings, target: Instant) -> bool:
    """Whether it is a plan whose files are all there: what was made of them can be made again."""
    if target.action not in (Action.COMPACTION, Action.LOG_COMPACTION, Action.REPLACE_COMMIT):
        return False
    slices = slices_of_plan(settings.load_timeline(), target, settings.clock)
    paths = [resolve(settings.base_path, path) for one in slices for path in one.paths]
    return bool(paths) and all(settings.storage.stat(path) is not None for path in paths)


def _execute(
    settings: TransactionSettings,
    timeline: ActiveTimeline,
    rollback: Instant,
    target: Instant,
    requests: tuple[RollbackRequest, ...],
    *,
    keep_plan: bool,
    engine: Engine | None,
    note: Mapping[str, str],
) -> Instant:
    started = settings.clock.monotonic()
    outcomes = carry_out(settings, rollback, target, requests, engine)
    if target.timestamp == BOOTSTRAP_INSTANT:
        drop_bootstrap_index(settings.storage, settings.base_path)
    _add_earlier_commands(settings, rollback, outcomes)
    took = int((settings.clock.monotonic() - started) * 1000)
    payload = RollbackRecord(by=rollback.timestamp, target=target, outcomes=outcomes, took_ms=took).payload(note)
    settings.update_metadata_table(settings.load_timeline(), rollback, payload)
    remove_pending_files(timeline, target, keep_plan=keep_plan)
    _delete_late(settings, target, requests, outcomes)
    done = complete(timeline, rollback, payload, settings.clock)
    for instant in (target.timestamp, rollback.timestamp):
        delete_markers(settings.storage, settings.base_path, instant)
    settings.storage.delete_tree(f"{settings.base_path}/{SOURCE_FOLDER}/{target.timestamp}")
    settings.storage.delete(heartbeat_path(settings.base_path, target.timestamp))
    return done


def carry_out(
    settings: TransactionSettings,
    by: Instant,
    target: Instant,
    requests: Sequence[RollbackRequest],
    engine: Engine | None = None,
) -> dict[str, PartitionOutcome]:
    """Delete and cancel what the requests list; what is gone already is passed over.

    :param by: the rollback or restore, which the command blocks name.
    :param engine: what deletes; this process, where there is none.
    :returns: what was done, by partition.
    """
    engine = engine or LocalEngine(settings.clock)
    outcomes = {one.partition: PartitionOutcome() for one in requests}
    deletable = [(outcomes[one.partition], join(one.partition, name)) for one in requests for name in one.delete]
    engine.settle(0, len(deletable))
    there = delete_by(engine, settings.storage, settings.base_path, in_pieces([path for _, path in deletable]))
    for (outcome, path), was_there in zip(deletable, there, strict=True):
        if was_there:
            outcome.deleted.append(resolve(settings.base_path, path))
    for one in requests:
        _cancel(settings, by, target, one, outcomes[one.partition])
    return outcomes


def _delete_late(
    settings: TransactionSettings,
    target: Instant,
    requests: Sequence[RollbackRequest],
    outcomes: Mapping[str, PartitionOutcome],
) -> None:
    """Delete what a writer that was only thought dead made since: from here on it is refused, and what it makes still
    it deletes itself.
    """
    storage, base_path, time = settings.storage, settings.base_path, target.timestamp
    stays = {path for one in outcomes.values() for path in (*one.cancelled_logs, *one.command_logs)}
    planned = [join(one.partition, name) for one in requests for name in (*one.delete, *one.cancel)]
    marked = [marker.data_path for marker in read_markers(storage, base_path, time) or ()]
    wanted = dict.fromkeys(resolve(base_path, path) for path in (*planned, *marked))
    for whole, status in find_files(storage, [path for path in wanted if path not in stays]).items():
        if is_own(storage, settings.config.format, status, time):
            storage.delete(whole)


def _cancel(
    settings: TransactionSettings, by: Instant, target: Instant, one: RollbackRequest, outcome: PartitionOutcome
) -> None:
    """Take back the blocks of the target in the logs of a request."""
    is_cancelled = False
    for name in one.cancel:
        path = resolve(settings.base_path, join(one.partition, name))
        status = settings.storage.stat(path)
        if status is not None:
            outcome.cancelled_logs[path] = status.size
            is_cancelled = True
    if is_cancelled:
        command, size = _write_command_block(settings, by, target, one)
        outcome.command_logs[command] = size


def _add_earlier_commands(
    settings: TransactionSettings, rollback: Instant, outcomes: dict[str, PartitionOutcome]
) -> None:
    """Command blocks of an earlier run of this rollback, by its markers: the metadata table has to know them too."""
    for marker in read_markers(settings.storage, settings.base_path, rollback.timestamp) or ():
        path = resolve(settings.base_path, marker.data_path)
        status = settings.storage.stat(path)
        if marker.kind is MarkerType.APPEND and status is not None:
            outcomes.setdefault(marker.partition, PartitionOutcome()).command_logs.setdefault(path, status.size)


def _write_command_block(
    settings: TransactionSettings, rollback: Instant, target: Instant, one: RollbackRequest
) -> tuple[str, int]:
    """Add a log file to the slice whose only block takes the target's blocks back; its path and length."""
    folder = resolve(settings.base_path, RelativePath(one.partition))
    logs = [settings.config.format.parse_log_file(status.name) for status in settings.storage.list(folder)]
    versions = [log.version for log in logs if log and (log.file_id, log.instant) == (one.file_id, one.base_instant)]
    name = settings.config.format.log_file(
        one.file_id,
        base_instant=one.base_instant,
        instant=rollback.timestamp,
        version=max(versions, default=0) + 1,
        write_token=UNKNOWN_WRITE_TOKEN,
    )
    # a marker of an earlier run of this rollback, which came no further, serves this one too
    with suppress(AlreadyExistsError):
        create_marker(
            settings.storage, settings.base_path, rollback.timestamp, one.partition, str(name), MarkerType.APPEND
        )
    data = command_block(rollback.timestamp, target.timestamp)
    path = resolve(settings.base_path, join(one.partition, str(name)))
    settings.storage.create(path, data)
    return path, len(data)


def remove_pending_files(timeline: ActiveTimeline, target: Instant, *, keep_plan: bool) -> None:
    """Inflight before requested: a crash in between leaves an instant that is rolled back again."""
    timeline.storage.delete(timeline.path(target.at(State.INFLIGHT)))
    if not keep_plan:
        timeline.storage.delete(timeline.path(target.at(State.REQUESTED)))
    for status in timeline.storage.list(timeline.folder):
        is_its = timeline.format.is_of(status.name, target.timestamp)
        if is_its and timeline.storage.is_unpublished(status.name):
            timeline.storage.delete(status.path)
