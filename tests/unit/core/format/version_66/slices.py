"""File slices by completion time: a log is of the newest slice that there was when its write was completed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from spark_jobs.core.format.file_groups import (
    BaseFile,
    GroupFiles,
    GroupKey,
    Groups,
    LogFile,
    RawBase,
    RawLog,
    SliceInstants,
)
from tests.unit.core.format.version_66.file_names import (
    BaseFileName66,
    LogFileName66,
    parse_base_file,
    parse_log_file,
)


def sort_into_groups(files: Iterable[tuple[str, Sequence[str], Sequence[int]]], instants: SliceInstants) -> Groups:
    found, logs = Groups(), dict[GroupKey, list[RawLog]]()
    for partition, names, sizes in files:
        for name, size in zip(names, sizes, strict=True):
            base, log = parse_base_file(name), parse_log_file(name)
            if base is not None:
                group = found.files.setdefault((partition, base.file_id), GroupFiles({}, {}))
                one = (base.write_token, base.extension, size)
                if group.bases.setdefault(base.instant, one) is not one:
                    found.rivals.setdefault(((partition, base.file_id), base.instant), []).append(one)
            elif log is not None and instants.is_reached(log.instant):
                completed = instants.completed_at(log.instant) or "~"
                logs.setdefault((partition, log.file_id), []).append(
                    (completed, log.version, log.instant, log.write_token, size)
                )
    for key, of_group in logs.items():
        group = found.files.setdefault(key, GroupFiles({}, {}))
        planned = instants.planned(key)
        slices = sorted({one for one in group.bases if instants.makes_slice(key, one)} | ({planned} - {None}))
        for one in sorted(of_group):
            before = bisect_left(slices, one[0])
            base_instant = slices[before - 1] if before else min(each[2] for each in of_group)
            group.logs.setdefault(base_instant, []).append(one)
    return found


def base_of(partition: str, file_id: str, instant: str, raw: RawBase) -> BaseFile:
    token, extension, size = raw
    return BaseFile(partition, BaseFileName66(file_id, token, instant, extension), size)


def logs_of(partition: str, file_id: str, base_instant: str, logs: Sequence[RawLog]) -> tuple[LogFile, ...]:
    return tuple(
        LogFile(partition, LogFileName66(file_id, instant, version, token), size)
        for _, version, instant, token, size in sorted(logs)
    )


def last_version(logs: Sequence[RawLog]) -> int:
    return max(one[1] for one in logs)
