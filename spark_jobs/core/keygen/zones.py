"""Time zones by the names that Java gives them, applied to whole arrays of milliseconds.

Sources: java.util.TimeZone.getTimeZone, and DateTimeZone.forTimeZone of Joda-Time, which Hudi hands its result to.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError

Millis = npt.NDArray[np.int64]

_OFFSET = re.compile(r"GMT([+-])(?:(\d{1,2}):(\d\d)|(\d{1,4}))", re.ASCII)
_JAVA_SHORT = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "America/New_York",
    "HST": "Pacific/Honolulu",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "America/Denver",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
"""Names of three letters that no time zone database has, or has otherwise."""
_FAR = 253_402_300_799_999
"""The last millisecond of year 9999; zones have no rules of their own beyond it."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A fixed offset in milliseconds east of UTC, or with ``name`` the rules of the time zone database."""

    name: str
    offset: int = 0

    def offsets_at(self, utc: Millis) -> Millis:
        """Milliseconds east of UTC at each instant."""
        if not self.name:
            return np.full(len(utc), self.offset, np.int64)
        near = np.clip(utc, -_FAR, _FAR)
        local = pc.local_timestamp(pa.array(near).cast(pa.timestamp("ms", tz=self.name)))
        millis: Millis = np.asarray(local.cast(pa.int64()))
        return millis - near

    def to_utc(self, local: Millis) -> Millis:
        """The instants of local times; the earlier one where a clock was set back over it.

        :raises BadRecordError: a local time that a clock jumped over.
        """
        if not self.name:
            return local - self.offset
        near = np.clip(local, -_FAR, _FAR)
        try:
            utc = pc.assume_timezone(
                pa.array(near).cast(pa.timestamp("ms")), self.name, ambiguous="earliest", nonexistent="raise"
            )
        except pa.ArrowInvalid as error:
            raise BadRecordError(
                f"a time does not exist in zone {self.name} ({str(error).splitlines()[0]})",
                todo="correct it in the source",
                zone=self.name,
            ) from error
        millis: Millis = np.asarray(utc.cast(pa.int64()))
        return local + (millis - near)


UTC = Zone("")


def zone_of(text: str) -> Zone:
    """The zone of a Java name, such as ``GMT+8:00``, ``UTC`` or ``Asia/Shanghai``.

    As in Java an unknown name means GMT; :func:`is_zone` tells.
    """
    return _find(text.strip()) or UTC


def is_zone(text: str) -> bool:
    """Whether Java knows the name."""
    return _find(text.strip()) is not None


@cache
def local_zone() -> Zone:
    """The zone of this machine, as Java's default: ``TZ``, else the one that /etc/localtime links to, else UTC."""
    candidates = [os.environ.get("TZ", "").removeprefix(":")]
    target = str(Path("/etc/localtime").resolve())
    if "/zoneinfo/" in target:
        candidates.append(target.split("/zoneinfo/", 1)[1])
    return next((zone for one in candidates if one and (zone := _find(one)) is not None), UTC)


@cache
def _find(text: str) -> Zone | None:
    if text in ("GMT", "UTC", "UCT", "Z", "GMT0", "Etc/UTC", "Etc/GMT", "Zulu"):
        return UTC
    found = _OFFSET.fullmatch(text)
    if found is not None:
        return _fixed(found)
    name = _JAVA_SHORT.get(text, text)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None
    return Zone(name)


def _fixed(found: re.Match[str]) -> Zone | None:
    sign, hours, minutes, digits = found.groups()
    if digits is not None:
        hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    if int(hours) > 23 or int(minutes) > 59:
        return None
    millis = (int(hours) * 60 + int(minutes)) * 60_000
    return Zone("", -millis if sign == "-" else millis)
