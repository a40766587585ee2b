"""Health as a picture: one SVG document without scripts or outside references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from spark_jobs.services.health.advice import Advice
from spark_jobs.services.health.facts import Health, readable
from spark_jobs.services.health.text import class_names, lags

_WIDTH = 1120
_MARGIN, _GAP = 28, 28
_PANEL = (_WIDTH - 2 * _MARGIN - _GAP) // 2
_TOP = 166
_SIZES_HEIGHT = 250
_ROW = 26
_CHARACTER = 6.6
"""Pixels of a character at 12 points, on average."""
_INK, _PALE, _GRID = "#222222", "#666666", "#e4e4e4"
_BASE, _LOGS, _SMALL, _DUE, _FINE = "#2a6fbb", "#3aa6a0", "#e08a1e", "#c0392b", "#5d9c3f"


def draw(health: Health, advice: Sequence[Advice]) -> str:
    """Sizes, partitions, how far services are behind, and what would help."""
    partitions = list(_partitions(health, _MARGIN + _PANEL + _GAP, _TOP))
    behind_top = _TOP + _SIZES_HEIGHT + 40
    help_lines = list(_advice(advice, _MARGIN + _PANEL + _GAP, behind_top))
    behind = list(_behind(health, _MARGIN, behind_top))
    height = behind_top + 40 + max(len(lags(health)) * _ROW + 30, 18 * _lines_of(advice) + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{_INK}">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        *_head(health),
        *_sizes(health, _MARGIN, _TOP),
        *partitions,
        *behind,
        *help_lines,
    ]
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, text: str, **attributes: object) -> str:
    more = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items())
    return f'<text x="{x:.1f}" y="{y:.1f}"{more}>{escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, fill: str, title: str = "") -> str:
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2" fill="{fill}"'
    return f"{shape}><title>{escape(title)}</title></rect>" if title else f"{shape}/>"


def _head(health: Health) -> Iterator[str]:
    yield _text(_MARGIN, 38, health.table, font_size=20, font_weight="bold")
    kind = f"{health.table_type}, table version {health.version}, listed by its {health.listed_by}"
    yield _text(_MARGIN, 58, f"{health.base_path}: {kind}", fill=_PALE)
    cards = [
        (f"{health.base_files:,}", f"base files, {readable(health.base_bytes)}"),
        (f"{health.logs:,}", f"log files, {readable(health.log_bytes)}"),
        (f"{health.partitions:,}", f"partitions, {health.groups:,} file groups"),
        (f"{health.history_files:,}", f"older files, {readable(health.history_bytes)}"),
        (f"{len(health.pending):,}", f"pending, {sum(one.overdue for one in health.pending)} overdue"),
    ]
    step = (_WIDTH - 2 * _MARGIN) / len(cards)
    for place, (number, name) in enumerate(cards):
        x = _MARGIN + place * step
        yield _text(x, 100, number, font_size=24, font_weight="bold")
        yield _text(x, 118, name, fill=_PALE)
    yield f'<line x1="{_MARGIN}" y1="134" x2="{_WIDTH - _MARGIN}" y2="134" stroke="{_GRID}"/>'


def _sizes(health: Health, left: float, top: float) -> Iterator[str]:
    yield _text(left, top, "Base files by size", font_size=14, font_weight="bold")
    limit = health.limits.small_file
    yield _text(left, top + 17, f"orange: small, below {readable(limit)} (hoodie.parquet.small.file.limit)", fill=_PALE)
    most = max((one.files for one in health.sizes), default=0) or 1
    bottom, room = top + _SIZES_HEIGHT - 34, _SIZES_HEIGHT - 90
    step = _PANEL / len(health.sizes)
    yield f'<line x1="{left}" y1="{bottom}" x2="{left + _PANEL}" y2="{bottom}" stroke="#999999"/>'
    for place, (name, one) in enumerate(zip(class_names(health.sizes), health.sizes, strict=True)):
        x, high = left + place * step, max(room * one.files / most, 2.0 if one.files else 0.0)
        colour = _SMALL if one.below is not None and one.below <= limit else _BASE
        middle = x + step / 2
        if one.files:
            title = f"{name}: {one.files:,} files, {readable(one.bytes)}"
            yield _rect(x + 6, bottom - high, step - 12, high, colour, title)
            yield _text(middle, bottom - high - 6, f"{one.files:,}", text_anchor="middle")
        number, unit = _in_two(name)
        yield _text(middle, bottom + 16, number, text_anchor="middle", font_size=11, fill=_PALE)
        yield _text(middle, bottom + 30, unit, text_anchor="middle", font_size=11, fill=_PALE)


def _in_two(name: str) -> tuple[str, str]:
    """``1 MiB to 4 MiB`` as the two lines below a bar."""
    if " to " in name:
        low, high = name.split(" to ")
        return f"{low} to", high
    if name.startswith("below "):
        return "below", name.removeprefix("below ")
    return name.removesuffix(" or more"), "or more"


def _partitions(health: Health, left: float, top: float) -> Iterator[str]:
    yield _text(left, top, "Largest partitions", font_size=14, font_weight="bold")
    median = readable(health.median_partition_bytes)
    yield _text(left, top + 17, f"blue: base files, green: logs; the median has {median}", fill=_PALE)
    if not health.largest_partitions:
        yield _text(left, top + 46, "none", fill=_PALE)
        return
    most = health.largest_partitions[0].bytes or 1
    names, room = 150, _PANEL - 150 - 80
    for place, one in enumerate(health.largest_partitions[:8]):
        y = top + 32 + place * _ROW
        name = one.partition or "(no partition)"
        shown = name if len(name) <= 19 else f"…{name[-18:]}"
        yield _text(left + names - 8, y + 13, shown, text_anchor="end")
        base, logs = room * one.base_bytes / most, room * one.log_bytes / most
        title = f"{name}: {one.groups} file groups, {one.small} small base files"
        yield _rect(left + names, y, max(base, 1), 18, _BASE, title)
        if one.log_bytes:
            yield _rect(left + names + base, y, max(logs, 1), 18, _LOGS, f"{name}: {readable(one.log_bytes)} in logs")
        yield _text(left + names + base + logs + 8, y + 13, readable(one.bytes), fill=_PALE)


def _behind(health: Health, left: float, top: float) -> Iterator[str]:
    yield _text(left, top, "How far services are behind", font_size=14, font_weight="bold")
    yield _text(left, top + 17, "the line: when it is due", fill=_PALE)
    names, room = 170, _PANEL - 170 - 70
    due_at = left + names + room * 0.6
    rows = lags(health)
    for place, (name, value, due) in enumerate(rows):
        y = top + 32 + place * _ROW
        length = room * min(1.0, 0.6 * value / due if due else 1.0)
        yield _text(left + names - 8, y + 13, name, text_anchor="end")
        if value:
            yield _rect(left + names, y, max(length, 2), 18, _DUE if value >= due else _FINE, f"{value:,} of {due}")
        yield _text(left + _PANEL, y + 13, f"{value:,} of {due}", text_anchor="end", fill=_PALE)
    bottom = top + 32 + len(rows) * _ROW
    line = f'x1="{due_at:.1f}" y1="{top + 26}" x2="{due_at:.1f}" y2="{bottom}"'
    yield f'<line {line} stroke="{_INK}" stroke-dasharray="3 2"/>'


def _advice(advice: Sequence[Advice], left: float, top: float) -> Iterator[str]:
    yield _text(left, top, "What would help", font_size=14, font_weight="bold")
    y = top + 24
    if not advice:
        yield _text(left, y, "Nothing is due.", fill=_FINE)
    for one in advice:
        by = f"{one.job}, {one.operator}" if one.operator else one.job
        colour = _DUE if one.urgent else _SMALL
        yield f'<circle cx="{left + 5}" cy="{y - 4}" r="5" fill="{colour}"/>'
        yield _text(left + 18, y, f"{one.service}: {by}", font_weight="bold")
        y += 18
        for line in _wrapped(one.why):
            yield _text(left + 18, y, line, fill=_PALE)
            y += 18


def _lines_of(advice: Sequence[Advice]) -> int:
    return 1 + sum(1 + len(_wrapped(one.why)) for one in advice)


def _wrapped(text: str) -> list[str]:
    room = int((_PANEL - 18) / _CHARACTER)
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
