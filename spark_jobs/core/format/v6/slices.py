"""File slices by the names of a listing: up to table version 6 a log has the instant of its slice in its name.

A listing may have hundreds of thousands of names: they are matched by thousands at once, and what is kept of each is a
small tuple, from which a file slice makes its values when somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from spark_jobs.core.format.file_groups import BaseFile, GroupFiles, Groups, LogFile, RawBase, RawLog, SliceInstants
from spark_jobs.core.format.v6.file_names import BaseFileName, LogFileName, parse_log_file_name

_NAMES_AT_ONCE = 2048
_new = tuple.__new__
"""Makes a named tuple without a detour by its arguments, half of the time for the hundred thousand of a large table."""
_BASES = re.compile(r"(?:([^_\n]+)_(\d+(?:-\d+-\d+)?)_(\d+)(\.\w+)|(.*))\n")
_LOGS = re.compile(r"(?:\.([^_\n]+)_([^_.\n]*)\.log\.(\d+)(?:_(\d+-\d+-\d+)(\.cdc)?)?|(.*))\n")
"""A line is a usual name, in its parts, or whatever else, as the last part: that is looked at by itself."""


def sort_into_groups(
    files: Iterable[tuple[str, Sequence[str], Sequence[int]]], instants: SliceInstants | None = None
) -> Groups:
    """The groups of (partition, file names, their bytes); names of no data file are passed over.

    A raw base file is (write token, extension, bytes), a raw log (version, write token or nothing, bytes).

    :param instants: not asked: names alone tell the slices.
    """
    found = Groups()
    of_partition: dict[str, dict[str, GroupFiles]] = {}
    for partition, names, sizes in files:
        groups = of_partition.setdefault(partition, {})
        logs: list[str] = []
        log_sizes: list[int] = []
        others: list[str] = []
        other_sizes: list[int] = []
        for name, size in zip(names, sizes, strict=True):
            if name[:1] == ".":
                logs.append(name)
                log_sizes.append(size)
            else:
                others.append(name)
                other_sizes.append(size)
        for name, size in _add_logs(partition, logs, log_sizes, groups, found):
            others.append(name)
            other_sizes.append(size)
        _add_bases(partition, others, other_sizes, groups, found)
    return found


def _add_logs(
    partition: str, names: Sequence[str], sizes: Sequence[int], groups: dict[str, GroupFiles], found: Groups
) -> list[tuple[str, int]]:
    """:returns: the names that are of no log file, and their bytes."""
    rest = []
    for (file_id, instant, version, token, cdc, other), size in zip(_matched(_LOGS, names), sizes, strict=True):
        if other:
            log = parse_log_file_name(other)
            if log is None:
                rest.append((other, size))
                continue
            file_id, instant, version, token = log.file_id, log.instant, str(log.version), log.write_token or ""
            cdc = "cdc" if log.is_cdc else ""
        elif not file_id:
            continue
        group = groups.get(file_id)
        if group is None:
            group = groups[file_id] = found.files[(partition, file_id)] = GroupFiles({}, {})
        if cdc:
            key = ((partition, file_id), instant)
            found.change_data[key] = max(int(version), found.change_data.get(key, 0))
            continue
        logs = group[1]
        if instant in logs:
            logs[instant].append((int(version), token, size))
        else:
            logs[instant] = [(int(version), token, size)]
    return rest


def _add_bases(
    partition: str, names: Sequence[str], sizes: Sequence[int], groups: dict[str, GroupFiles], found: Groups
) -> None:
    for (file_id, token, instant, extension, _), size in zip(_matched(_BASES, names), sizes, strict=True):
        if not file_id:
            continue
        group = groups.get(file_id)
        if group is None:
            group = groups[file_id] = found.files[(partition, file_id)] = GroupFiles({}, {})
        one = (token, extension, size)
        if group[0].setdefault(instant, one) is not one:
            found.rivals.setdefault(((partition, file_id), instant), []).append(one)


def base_of(partition: str, file_id: str, instant: str, raw: RawBase) -> BaseFile:
    """A base file of a group."""
    token, extension, size = raw
    return _new(BaseFile, (partition, _new(BaseFileName, (file_id, token, instant, extension)), size))


def logs_of(partition: str, file_id: str, base_instant: str, logs: Sequence[RawLog]) -> tuple[LogFile, ...]:
    """The logs of a slice, in their order."""
    return tuple(
        [
            _new(LogFile, (partition, _new(LogFileName, (file_id, base_instant, version, token or None, False)), size))
            for version, token, size in sorted(logs)
        ]
    )


def last_version(logs: Sequence[RawLog]) -> int:
    """The highest version of some logs."""
    return int(max(logs)[0])


def _matched(pattern: re.Pattern[str], names: Sequence[str]) -> Iterable[Any]:
    """The parts of each name, in tuples of texts."""
    if not names:
        return ()
    if len(names) > _NAMES_AT_ONCE:
        parts = (names[begin : begin + _NAMES_AT_ONCE] for begin in range(0, len(names), _NAMES_AT_ONCE))
        return chain.from_iterable(_matched(pattern, some) for some in parts)
    lines = "\n".join(names) + "\n"
    if lines.count("\n") > len(names):  # no data file has such a name
        nothing = ("",) * pattern.groups
        return [nothing if "\n" in name else pattern.findall(f"{name}\n")[0] for name in names]
    return pattern.findall(lines)
