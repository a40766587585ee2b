"""Carrying a clean out, so that a second run after a crash ends in the same state (Hudi: CleanActionExecutor).

A run whose budget is spent ends like one that crashed: the clean stays inflight with its whole plan, and whoever runs
it next, this project or Hudi, deletes what is still there and completes it with all that the plan lists.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from spark_jobs.core.errors import AlreadyExistsError
from spark_jobs.core.files.partition_metafile import METAFILES
from spark_jobs.core.format.instant import Instant, State
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.plans.cleaning import RequestedClean
from spark_jobs.core.timeline.steps import complete, transition
from spark_jobs.core.transaction.transaction import TransactionSettings
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.progress import Progress
from spark_jobs.engine.protocol import Engine
from spark_jobs.frame.budget import Budget, that_fit, waves
from spark_jobs.services.deletions import delete_by, in_pieces


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRun:
    """What one run did: the engine that deleted, and how many files of the plan were gone before it, went by it and are
    left; bytes of the latter two.
    """

    engine: str
    gone_before: int = 0
    deleted: int = 0
    deleted_bytes: int = 0
    left: int = 0
    left_bytes: int = 0


def withdraw_without_plan(table: HudiTable, clean: Instant) -> bool:
    """Take a clean off the timeline whose plan is empty: Hudi died while it wrote it, so nothing was deleted by it."""
    if table.timeline.read(clean.at(State.REQUESTED)):
        return False
    for state in (State.INFLIGHT, State.REQUESTED):
        table.storage.delete(table.timeline.path(clean.at(state)))
    return True


def carry_out_clean(
    settings: TransactionSettings,
    table: HudiTable,
    clean: Instant,
    progress: Progress,
    *,
    engine: Engine | None = None,
    budget: Budget | None = None,
    there: Mapping[str, int] | None = None,
    note: Mapping[str, str] = MappingProxyType({}),
) -> CleanRun:
    """Delete what the plan on the timeline lists, then publish; files that are gone already count as deleted.

    :param engine: this process, where there is none.
    :param budget: what this run may do; where files are left by it, nothing is published.
    :param there: bytes of the plan's files that are on storage, by relative path, where that is known.
    :param note: extra metadata of the completed clean, beside that of the plan.
    """
    engine = engine or LocalEngine(settings.clock)
    budget = budget or Budget.start(None, None, settings.clock)
    started = settings.clock.monotonic()
    data = table.timeline.read(clean.at(State.REQUESTED))
    requested = RequestedClean.read(table.timeline, clean, settings.clock)
    inflight = clean
    if clean.state is State.REQUESTED:
        inflight = transition(table.timeline, clean, State.INFLIGHT, data)
    deletable = list(requested.paths)
    planned = len(deletable)
    if there is not None:
        deletable = [path for path in deletable if path in there]
    with progress.phase("delete", len(deletable)) as phase:
        run = _delete(engine, table, deletable, budget, there or {}, phase.advance)
        run = replace(run, gone_before=planned - len(deletable))
        if run.left:
            return run
        emptied = [one for one in requested.deletions if one in requested.emptied and remove_partition(table, one)]
    result = replace(
        requested.result(),
        emptied=tuple(emptied),
        note={**requested.note, **note},
        files=planned,
        took_ms=math.ceil((settings.clock.monotonic() - started) * 1000),
    )
    completed = result.payload(clean.timestamp, requested.policy)
    settings.update_metadata_table(settings.load_timeline(), inflight, completed)
    complete(table.timeline, inflight, completed, table.clock)
    return run


def _delete(
    engine: Engine,
    table: HudiTable,
    deletable: Sequence[RelativePath],
    budget: Budget,
    sizes: Mapping[str, int],
    advance: Callable[[int], Any],
) -> CleanRun:
    """Delete files by their relative paths, as many as fit. Of bytes the sizes count; of seconds the pace so far, in
    files.
    """
    chosen = [deletable[at] for at in that_fit([sizes.get(path, 0) for path in deletable], budget.max_bytes)]
    name = engine.settle(0, len(chosen))
    pieces = in_pieces(chosen)
    done: list[str] = []
    lengths = {number: len(piece) for number, piece in enumerate(pieces)}
    for wave in waves(lengths, replace(budget, max_bytes=None), lambda: engine.slots):
        some = [pieces[number] for number in wave]
        delete_by(engine, table.storage, table.base_path, some, advance)
        done += [path for piece in some for path in piece]
    left = set(deletable).difference(done)
    return CleanRun(
        engine=name,
        deleted=len(done),
        deleted_bytes=sum(sizes.get(path, 0) for path in done),
        left=len(left),
        left_bytes=sum(sizes.get(path, 0) for path in left),
    )


def remove_partition(table: HudiTable, partition: str) -> bool:
    """Remove the directory of a partition that was emptied, unless a write since the plan put something there.

    One that puts its file there after the listing keeps its directory, and gets the metafiles back.

    :returns: whether it is gone, with the metafiles and with the checksums that Hadoop leaves beside them.
    """
    folder = resolve(table.base_path, RelativePath(partition))
    names = {status.name for status in table.storage.list(folder)}
    metafiles = names.intersection(METAFILES)
    checksums = names.intersection(f".{name}.crc" for name in metafiles)
    if names - metafiles - checksums:
        return False
    contents = {f"{folder}/{name}": table.storage.read(f"{folder}/{name}") for name in (*metafiles, *checksums)}
    for path in contents:
        table.storage.delete(path)
    if table.storage.remove_empty_directory(folder):
        return True
    for path, data in contents.items():
        with suppress(AlreadyExistsError):  # the writer made its own
            table.storage.create(path, data)
    return False
