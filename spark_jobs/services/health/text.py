"""Health as plain text with bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spark_jobs.services.health.advice import Advice
from spark_jobs.services.health.facts import Health, SizeClass, readable

BLOCKS, ASCII = ("█", "·"), ("#", "-")
_BAR = 30
_LEAST_BAR = 10
_NAME = 26


def report(health: Health, advice: Sequence[Advice], width: int = 100, marks: tuple[str, str] = BLOCKS) -> str:
    """Lines of at most ``width`` characters where names allow; ``marks`` fill a bar and its rest."""
    bar = max(_LEAST_BAR, min(_BAR, width - 70))
    lines = [*_head(health), *_sizes(health, bar, marks), *_partitions(health, bar, marks), *_logs(health, bar, marks)]
    lines += [*_lags(health, bar, marks), *_pending(health), *_leftovers(health), *_advice(advice, width)]
    return "\n".join(lines) + "\n"


def _head(health: Health) -> Iterable[str]:
    yield f"{health.table}  {health.table_type}, version {health.version}, listed by its {health.listed_by}"
    yield f"  {health.base_path}"
    rows = f", {health.rows:,} rows in base files" if health.rows is not None else ""
    yield (
        f"  {health.partitions:,} partitions, {health.groups:,} file groups, {health.base_files:,} base files "
        f"({readable(health.base_bytes)}), {health.logs:,} logs ({readable(health.log_bytes)}){rows}"
    )
    yield f"  older versions: {health.history_files:,} files ({readable(health.history_bytes)})"


def _bar(value: float, most: float, width: int, marks: tuple[str, str]) -> str:
    filled = round(width * min(1.0, value / most)) if most > 0 else 0
    if value > 0:
        filled = max(1, filled)
    return marks[0] * filled + marks[1] * (width - filled)


def class_names(sizes: Sequence[SizeClass]) -> list[str]:
    """``below 1 MiB``, ``1 to 4 MiB`` and so on."""
    names, before = [], 0
    for one in sizes:
        if one.below is None:
            names.append(f"{_short(before)} or more")
        else:
            names.append(f"{_short(before)} to {_short(one.below)}" if before else f"below {_short(one.below)}")
            before = one.below
    return names


def _short(size: int) -> str:
    return readable(size).replace(".0 ", " ")


def _sizes(health: Health, bar: int, marks: tuple[str, str]) -> Iterable[str]:
    yield ""
    yield f"Base files by size ({health.small_files:,} small, below {_short(health.limits.small_file)})"
    most = max((one.files for one in health.sizes), default=0)
    last = max((place for place, one in enumerate(health.sizes) if one.files), default=-1)
    for name, one in list(zip(class_names(health.sizes), health.sizes, strict=True))[: last + 1]:
        yield f"  {name:<{_NAME}} {_bar(one.files, most, bar, marks)} {one.files:>7,}  {readable(one.bytes):>10}"
    if last < 0:
        yield "  none"


def _partitions(health: Health, bar: int, marks: tuple[str, str]) -> Iterable[str]:
    if health.partitions < 2:
        return
    yield ""
    yield f"Largest partitions (the median has {readable(health.median_partition_bytes)}, skew {health.skew:.1f})"
    most = health.largest_partitions[0].bytes
    for one in health.largest_partitions[:5]:
        name = _fitted(one.partition or "(no partition)")
        small = f", {one.small} small" if one.small else ""
        beside = f"{one.groups} group(s){small}"
        yield f"  {name:<{_NAME}} {_bar(one.bytes, most, bar, marks)} {readable(one.bytes):>10}  {beside}"


def _fitted(name: str) -> str:
    return name if len(name) <= _NAME else f"…{name[-_NAME + 1 :]}"


def _logs(health: Health, bar: int, marks: tuple[str, str]) -> Iterable[str]:
    if not health.largest_logs:
        return
    yield ""
    yield f"Logs are {health.log_share:.0%} of the base files' bytes; the file groups with the largest"
    most = health.largest_logs[0].log_bytes
    for one in health.largest_logs[:5]:
        name = _fitted(f"{one.partition}/{one.file_id}" if one.partition else one.file_id)
        beside = f"{one.logs} log(s) on {readable(one.base_bytes)}" if one.base_bytes else f"{one.logs} log(s), no base"
        yield f"  {name:<{_NAME}} {_bar(one.log_bytes, most, bar, marks)} {readable(one.log_bytes):>10}  {beside}"


def lags(health: Health) -> list[tuple[str, int, int]]:
    """What piles up until a service is due: name, how much, and when it is due."""
    limits = health.limits
    found = []
    if health.commits_since_compaction is not None:
        found.append(("commits since compaction", health.commits_since_compaction, limits.compact_after))
    found.append(("commits not yet cleaned", health.commits_kept, health.clean_due))
    found.append(("commits on the timeline", health.active_commits, limits.keep_commits))
    if health.metadata is not None:
        found.append(("metadata table's commits", health.metadata.commits, limits.metadata_compact_after))
    return found


def _lags(health: Health, bar: int, marks: tuple[str, str]) -> Iterable[str]:
    yield ""
    yield "How far services are behind (a full bar: due)"
    for name, value, due in lags(health):
        yield f"  {name:<{_NAME}} {_bar(value, due, bar, marks)} {value:>7,}  of {due}"


def _pending(health: Health) -> Iterable[str]:
    if not health.pending:
        return
    yield ""
    yield "Pending"
    for one in health.pending:
        state = "its writer is alive" if one.alive else "OVERDUE" if one.overdue else "no heartbeat"
        yield f"  {one.instant} {one.action} {one.state} for {one.hours:.1f} h, {state}"


def _leftovers(health: Health) -> Iterable[str]:
    left = health.leftovers
    yield ""
    if left.files is None:
        files = "data files not looked at (--list-storage does)"
    else:
        files = f"{left.files} data file(s) of no instant ({readable(left.bytes)})"
    yield f"Leftovers: {files}, {left.marker_folders} marker folder(s), {left.heartbeats} heartbeat(s)"


def _advice(advice: Sequence[Advice], width: int) -> Iterable[str]:
    yield ""
    if not advice:
        yield "Nothing is due."
        return
    yield "What would help"
    for one in advice:
        by = f"{one.job}, {one.operator}" if one.operator else one.job
        yield f"  {'!' if one.urgent else '-'} {one.service} ({by})"
        yield from _wrapped(one.why, width - 6)


def _wrapped(text: str, width: int) -> Iterable[str]:
    line = ""
    for word in text.split():
        if line and len(line) + 1 + len(word) > width:
            yield f"      {line}"
            line = word
        else:
            line = f"{line} {word}".strip()
    yield f"      {line}"
