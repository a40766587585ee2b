"""The table of what ran, from the results that the tasks handed on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_HEADINGS = ("task", "state", "instant", "files in", "out", "bytes in", "out", "records", "seconds by phase")
_LEFT_ALIGNED = {0, 1, 2, 8}


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Lines of text, a row per task in the order given; a result is a job's JSON object."""
    rows = [_HEADINGS, *(_row(task, result) for task, result in results.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    rule = tuple("-" * max(min(width, 40), len(name)) for width, name in zip(widths, _HEADINGS, strict=True))
    return "\n".join(_line(row, widths) for row in (rows[0], rule, *rows[1:]))


def _row(task: str, result: Mapping[str, Any]) -> tuple[str, ...]:
    state = str(result.get("state", ""))
    if state == "NOTHING_TO_DO":
        return (task, state, result.get("instant") or "", *[""] * 5, str(result.get("reason") or ""))
    phases = result.get("seconds_by_phase") or {}
    return (
        task,
        state,
        str(result.get("instant") or ""),
        f"{result.get('files_in', 0):,}",
        f"{result.get('files_out', 0):,}",
        size(result.get("bytes_in", 0)),
        size(result.get("bytes_out", 0)),
        f"{result.get('records_out') or result.get('records_in') or 0:,}",
        " ".join(f"{name} {seconds:.1f}" for name, seconds in phases.items() if round(seconds, 1) > 0)
        or _earlier(result),
    )


def _earlier(result: Mapping[str, Any]) -> str:
    return "by an earlier run" if result.get("repeated") else ""


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [
        cell.ljust(width) if column in _LEFT_ALIGNED else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return "  ".join(cells).rstrip()


def size(count: float) -> str:
    """Bytes for people: ``12.3 MB`` (powers of 1000)."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
