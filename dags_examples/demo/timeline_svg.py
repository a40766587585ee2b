"""A picture of timelines as SVG: a lane per table, a bar per instant, and idle time between runs cut out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from itertools import chain

from dags_examples.demo.instants import ROLLED_BACK, Bar

COLOURS = {
    "commit": "#2a6fbb",
    "deltacommit": "#3aa6a0",
    "compaction": "#e08a1e",
    "replacecommit": "#7d4fb3",
    "clean": "#5d9c3f",
    "rollback": "#c0392b",
    ROLLED_BACK: "#c0392b",
}
_OTHER_COLOUR = "#777777"
_LEGEND = {
    "commit": "commit",
    "deltacommit": "deltacommit",
    "compaction": "compaction",
    "replacecommit": "replacecommit (clustering)",
    "clean": "clean",
    "rollback": "rollback",
    ROLLED_BACK: "✕ taken back by a rollback",
}

_WIDTH = 1280
_LEFT, _RIGHT = 130, 70
_TOP = 76
_LANE = 138
_BAR = 34
_CUT = 34
"""Pixels that stand for a cut piece of idle time."""
_IDLE = timedelta(seconds=45)
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400)


@dataclass(frozen=True, slots=True)
class _Axis:
    """Time to pixels: stretches of activity share one scale, cuts of fixed width lie between them."""

    stretches: tuple[tuple[datetime, datetime], ...]
    per_second: float

    @classmethod
    def over(cls, bars: Sequence[Bar]) -> _Axis:
        stretches: list[tuple[datetime, datetime]] = []
        pad = timedelta(seconds=1)
        for begin, end in sorted((bar.planned, bar.last_moment) for bar in bars):
            if stretches and begin - stretches[-1][1] <= _IDLE:
                stretches[-1] = (stretches[-1][0], max(stretches[-1][1], end + pad))
            else:
                stretches.append((begin - pad, end + pad))
        active = sum((end - begin).total_seconds() for begin, end in stretches)
        room = max(_WIDTH - _LEFT - _RIGHT - _CUT * (len(stretches) - 1), 200)
        return cls(tuple(stretches), room / active)

    def x(self, moment: datetime) -> float:
        position = float(_LEFT)
        for begin, end in self.stretches:
            if moment <= end:
                return position + max((moment - begin).total_seconds(), 0.0) * self.per_second
            position += (end - begin).total_seconds() * self.per_second + _CUT
        return position - _CUT

    @property
    def cuts(self) -> tuple[tuple[float, timedelta], ...]:
        """The middle of each cut in pixels, and how long the idle time is."""
        pairs = zip(self.stretches, self.stretches[1:], strict=False)
        return tuple((self.x(before[1]) + _CUT / 2, after[0] - before[1]) for before, after in pairs)

    @property
    def ticks(self) -> tuple[datetime, ...]:
        step = next((s for s in _STEPS if s * self.per_second >= 90), _STEPS[-1])
        found = []
        for begin, end in self.stretches:
            moment = begin.replace(hour=0, minute=0, second=0, microsecond=0)
            moment += timedelta(seconds=((begin - moment).total_seconds() // step + 1) * step)
            while moment < end:
                found.append(moment)
                moment += timedelta(seconds=step)
        return tuple(found)


def draw(lanes: Mapping[str, Sequence[Bar]]) -> str:
    """An SVG document with the tables of ``lanes`` from top to bottom; times are UTC.

    :raises ValueError: there is no instant to draw.
    """
    bars = list(chain.from_iterable(lanes.values()))
    if not bars:
        raise ValueError("no instant to draw: the tables have empty timelines")
    axis = _Axis.over(bars)
    bottom = _TOP + _LANE * len(lanes)
    height = bottom + 96
    first, last = min(bar.planned for bar in bars), max(bar.last_moment for bar in bars)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222">',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        '<text x="24" y="34" font-size="19" font-weight="bold">Timelines</text>',
        f'<text x="24" y="54" fill="#555">{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC; the pale part of '
        "a bar is the time between plan and start</text>",
    ]
    parts += _grid(axis, bottom)
    for row, (name, lane) in enumerate(lanes.items()):
        parts += _lane(axis, name, lane, _TOP + row * _LANE + _LANE - 40)
    parts += _legend(bars, bottom + 62)
    return "\n".join([*parts, "</svg>", ""])


def _grid(axis: _Axis, bottom: int) -> list[str]:
    parts = []
    for tick in axis.ticks:
        x = axis.x(tick)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555">{tick:%H:%M:%S}</text>')
    for x, idle in axis.cuts:
        parts.append(
            f'<rect x="{x - _CUT / 2 + 4:.1f}" y="{_TOP}" width="{_CUT - 8}" height="{bottom - _TOP}" fill="#f3f3f3"/>'
        )
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 34}" text-anchor="middle" fill="#888" font-size="11">'
            f"⋯ {_span(idle)} ⋯</text>"
        )
    return parts


def _lane(axis: _Axis, name: str, bars: Sequence[Bar], y: int) -> list[str]:
    parts = [
        f'<text x="24" y="{y + 5}" font-weight="bold" font-size="14">{escape(name)}</text>',
        f'<line x1="{_LEFT}" y1="{y}" x2="{_WIDTH - _RIGHT}" y2="{y}" stroke="#999"/>',
    ]
    where = {bar.instant: axis.x(bar.planned) for bar in bars}
    free = 0.0
    for bar in bars:
        x = axis.x(bar.planned)
        parts.append(f"<g><title>{escape(_tooltip(bar))}</title>")
        parts += _rolled_back(bar, x, where, y) if bar.rolled_back_by else _block(axis, bar, x, y)
        parts.append("</g>")
        # Labels lean to the right; one that would run into its neighbour moves along.
        label_x = max(x + 3, free)
        free = label_x + 15
        label_y = y - _BAR / 2 - 7
        parts.append(
            f'<text x="{label_x:.1f}" y="{label_y}" transform="rotate(-38 {label_x:.1f} {label_y})" '
            f'font-size="11" fill="{_colour(bar)}">{escape(bar.label)}</text>'
        )
    return parts


def _block(axis: _Axis, bar: Bar, x: float, y: int) -> list[str]:
    top, colour = y - _BAR / 2, _colour(bar)
    started = axis.x(bar.started or bar.finished or bar.planned)
    end = axis.x(bar.last_moment)
    parts = [
        f'<rect x="{x:.1f}" y="{top}" width="{max(started - x, 1):.1f}" height="{_BAR}" rx="2" fill="{colour}" '
        'fill-opacity="0.3"/>'
    ]
    if bar.finished is not None:
        parts.append(
            f'<rect x="{started:.1f}" y="{top}" width="{max(end - started, 3):.1f}" height="{_BAR}" rx="2" '
            f'fill="{colour}"/>'
        )
    else:
        parts.append(
            f'<rect x="{x:.1f}" y="{top}" width="{max(end - x, 4):.1f}" height="{_BAR}" rx="2" fill="none" '
            f'stroke="{colour}" stroke-dasharray="3 2"/>'
        )
    return parts


def _rolled_back(bar: Bar, x: float, where: Mapping[str, float], y: int) -> list[str]:
    """A cross where the instant began, and an arc to the rollback that took it back."""
    colour, to = _colour(bar), where.get(bar.rolled_back_by or "", x)
    low = y + _BAR / 2 + 3
    return [
        f'<path d="M{x - 5:.1f} {y - 5} l10 10 m0 -10 l-10 10" stroke="{colour}" stroke-width="2.5" fill="none"/>',
        f'<path d="M{x:.1f} {y + 8} Q{(x + to) / 2:.1f} {low + 26} {to + 2:.1f} {low}" stroke="{colour}" fill="none" '
        'stroke-dasharray="4 2"/>',
    ]


def _legend(bars: Sequence[Bar], y: int) -> list[str]:
    parts = []
    x = float(_LEFT)
    present = {bar.action for bar in bars}
    for action in [*(a for a in _LEGEND if a in present), *sorted(present - set(_LEGEND))]:
        label = _LEGEND.get(action, action)
        colour = COLOURS.get(action, _OTHER_COLOUR)
        if action == ROLLED_BACK:
            parts.append(f'<text x="{x:.0f}" y="{y + 11}" fill="{colour}">{escape(label)}</text>')
            x += len(label) * 6.4 + 30
            continue
        parts.append(f'<rect x="{x:.0f}" y="{y}" width="14" height="14" rx="2" fill="{colour}"/>')
        parts.append(f'<text x="{x + 20:.0f}" y="{y + 11}">{escape(label)}</text>')
        x += len(label) * 6.4 + 48
    if any(bar.finished is None and not bar.rolled_back_by for bar in bars):
        parts.append(
            f'<rect x="{x:.0f}" y="{y}" width="14" height="14" fill="none" stroke="#444" stroke-dasharray="3 2"/>'
            f'<text x="{x + 20:.0f}" y="{y + 11}">pending</text>'
        )
    return parts


def _colour(bar: Bar) -> str:
    return COLOURS.get(bar.action, _OTHER_COLOUR)


def _tooltip(bar: Bar) -> str:
    if bar.rolled_back_by:
        return f"{bar.instant}: rolled back by {bar.rolled_back_by}"
    took = f"{(bar.finished - bar.planned).total_seconds():.1f} s" if bar.finished else "pending"
    return f"{bar.instant} {bar.action} ({bar.label}): {took}"


def _span(idle: timedelta) -> str:
    seconds = int(idle.total_seconds())
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
