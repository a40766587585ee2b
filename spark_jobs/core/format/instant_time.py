"""The texts of instants' times: made of moments, and read back (Hudi: HoodieInstantTimeGenerator)."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import StrEnum

from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.format.order import EARLIEST, follows

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.(\d{3}))?)?")


class TimelineZone(StrEnum):
    """The time zone of the instants of a table."""

    LOCAL = "LOCAL"
    UTC = "UTC"


def format_instant(moment: datetime, zone: TimelineZone) -> str:
    """17 digits, ``yyyyMMddHHmmssSSS``, in the zone that the table keeps its timeline in."""
    return instant_text(moment if zone is TimelineZone.UTC else moment.astimezone())


def instant_text(wall_clock: datetime) -> str:
    """17 digits, ``yyyyMMddHHmmssSSS``, as the moment shows them."""
    return wall_clock.strftime("%Y%m%d%H%M%S") + f"{wall_clock.microsecond // 1000:03d}"


def just_before(timestamp: str) -> str:
    """The time of a query that sees what precedes an instant, and not the instant."""
    return str(int(timestamp) - 1).zfill(len(timestamp))


_BEGINNINGS = frozenset(f"{number:014d}" for number in range(3))


def parse_instant_time(timestamp: str) -> datetime:
    """The wall-clock moment in an instant, without a zone; 14 digits mean the last millisecond of their second. Those
    by which Hudi begins a table or a bootstrap are as early as can be (Hudi: NOT_PARSABLE_TIMESTAMPS).

    :raises CorruptTableError: the calendar has no such moment.
    """
    if timestamp in _BEGINNINGS:
        return datetime(1970, 1, 1)
    digits = timestamp[:17] if len(timestamp) >= 17 else timestamp[:14] + "999"
    try:
        return datetime.strptime(digits[:14], "%Y%m%d%H%M%S") + timedelta(milliseconds=int(digits[14:17]))
    except (ValueError, OverflowError) as error:
        raise CorruptTableError(
            f"the timeline has the instant {timestamp[:40]}, which is no moment of the calendar", instant=timestamp
        ) from error


def next_instant_time(moment: datetime, zone: TimelineZone, after: str) -> str:
    """An instant for ``moment`` that is strictly greater than ``after``, whatever the clocks say.

    :raises CorruptTableError: the calendar ends with ``after``.
    """
    candidate = format_instant(moment, zone)
    if follows(candidate, after):
        return candidate
    try:
        later = parse_instant_time(after) + timedelta(milliseconds=1)
    except OverflowError as error:
        raise CorruptTableError(f"the timeline has the instant {after[:40]}, which none can follow") from error
    return instant_text(later)


def _is_moment(text: str) -> bool:
    """Whether the calendar has it; 2026-13-45 has the form of a date alone."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def query_instant(text: str) -> str:
    """The instant that a user means: digits as they are, or Hudi's spellings ``yyyy-MM-dd`` (its first moment),
    ``yyyy-MM-dd HH:mm:ss`` (the end of that second) and ``yyyy-MM-dd HH:mm:ss.SSS``; ``earliest`` is before all.

    :raises ConfigError: any other text.
    """
    if not isinstance(text, str):
        raise ConfigError(f"{text!r} is no instant", todo="give a text: its digits, or yyyy-MM-dd HH:mm:ss")
    if text in ("", "earliest"):
        return EARLIEST
    if text.isdigit() and text.isascii():
        return text
    match = _DATE.fullmatch(text.strip())
    if match is None or not _is_moment(text.strip()):
        raise ConfigError(f"{text} is no instant", todo="give its digits, or yyyy-MM-dd HH:mm:ss")
    year, month, day, time, millis = match.groups()
    if time is None:
        return f"{year}{month}{day}000000000"
    return f"{year}{month}{day}{time.replace(':', '')}{millis or '999'}"
