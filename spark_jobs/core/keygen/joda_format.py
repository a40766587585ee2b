"""Instants to text by a Joda pattern, whole arrays at once (org.joda.time.format.DateTimeFormatter.print, English)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.keygen.joda_pattern import FORMATTED, Element, elements_of

Numbers = npt.NDArray[np.int64]

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
SHORT = 3
"""Letters of a short month or day; from four in the pattern on the name is written out."""
DAY = 86_400_000
_UNIT = {"m": 60_000, "s": 1000, "S": 1, **dict.fromkeys("HhKka", 3_600_000)}
"""Milliseconds of the finest thing that a letter shows; of those not named here a day."""


@dataclass(frozen=True)
class DateFormat:
    """A compiled output pattern.

    :raises ConfigError: at :meth:`of`, for a letter that can't be translated.
    """

    elements: tuple[Element, ...]

    @staticmethod
    def of(pattern: str, what: str) -> DateFormat:
        return DateFormat(elements_of(pattern, FORMATTED, what))

    @cached_property
    def unit(self) -> int:
        """Instants in one multiple of so many milliseconds have one text."""
        return min((_UNIT.get(one.letter, DAY) for one in self.elements), default=DAY)

    def format(self, local: Numbers, offsets: Numbers) -> pa.Array:
        """Text of each instant.

        :param local: milliseconds since 1970 by the local clock.
        :param offsets: milliseconds that the local clock is ahead of UTC.
        """
        if any(one.letter == "Z" for one in self.elements):
            return self._write(local, offsets)
        codes = pa.array(np.floor_divide(local, self.unit)).dictionary_encode()
        distinct = np.empty(len(codes.dictionary), np.int64)
        distinct[np.asarray(codes.indices)] = local  # one of each, whichever
        return pa.DictionaryArray.from_arrays(codes.indices, self._write(distinct, distinct)).cast(pa.string())

    def _write(self, local: Numbers, offsets: Numbers) -> pa.Array:
        clock = _Clock(local)
        parts = [_part(one, clock, offsets) for one in self.elements]
        if len(local) == 0 or not parts:
            return pa.array([""] * len(local), pa.string())
        whole = [part if isinstance(part, pa.Array) else pa.repeat(pa.scalar(part), len(local)) for part in parts]
        return pc.binary_join_element_wise(*whole, "")


class _Clock:
    """The fields of local times, each computed when it is asked for."""

    def __init__(self, local: Numbers) -> None:
        self.days: Numbers = np.floor_divide(local, DAY)
        self.millis: Numbers = local - self.days * DAY

    @cached_property
    def year(self) -> Numbers:
        return _year(self.days)

    @cached_property
    def month(self) -> Numbers:
        months: Numbers = _date(self.days).astype("M8[M]").astype(np.int64)
        return months - (self.year - 1970) * 12 + 1

    @property
    def day(self) -> Numbers:
        dates = _date(self.days)
        behind: Numbers = (dates - dates.astype("M8[M]").astype("M8[D]")).astype(np.int64)
        return behind + 1

    @property
    def day_of_year(self) -> Numbers:
        return _day_of_year(self.days)

    @property
    def weekday(self) -> Numbers:
        """1 is Monday."""
        return (self.days + 3) % 7 + 1

    @property
    def week_year(self) -> Numbers:
        return _year(self._thursday)

    @property
    def week(self) -> Numbers:
        before: Numbers = (_day_of_year(self._thursday) - 1) // 7
        return before + 1

    @property
    def year_of_era(self) -> Numbers:
        found: Numbers = np.where(self.year > 0, self.year, 1 - self.year)
        return found

    @property
    def hour(self) -> Numbers:
        return self.millis // 3_600_000

    @property
    def _thursday(self) -> Numbers:
        return self.days + 4 - self.weekday


_NUMBERS: dict[str, Callable[[_Clock], Numbers]] = {
    "C": lambda clock: clock.year_of_era // 100,
    "Y": lambda clock: clock.year_of_era,
    "x": lambda clock: clock.week_year,
    "y": lambda clock: clock.year,
    "w": lambda clock: clock.week,
    "e": lambda clock: clock.weekday,
    "D": lambda clock: clock.day_of_year,
    "M": lambda clock: clock.month,
    "d": lambda clock: clock.day,
    "K": lambda clock: clock.hour % 12,
    "h": lambda clock: (clock.hour + 11) % 12 + 1,
    "H": lambda clock: clock.hour,
    "k": lambda clock: (clock.hour + 23) % 24 + 1,
    "m": lambda clock: clock.millis // 60_000 % 60,
    "s": lambda clock: clock.millis // 1000 % 60,
}


def _part(element: Element, clock: _Clock, offsets: Numbers) -> pa.Array | str:
    letter, count = element.letter, element.count
    if not letter:
        return element.text
    if letter == "Z":
        return _offset(offsets, ":" if count == 2 else "")
    if letter == "G":
        return _choose(("BC", "AD"), (clock.year > 0).astype(np.int64))
    if letter == "a":
        return _choose(("AM", "PM"), clock.hour // 12)
    if letter == "E":
        return _choose(DAYS if count > SHORT else tuple(day[:SHORT] for day in DAYS), clock.weekday - 1)
    if letter == "M" and count >= SHORT:
        return _choose(MONTHS if count > SHORT else tuple(month[:SHORT] for month in MONTHS), clock.month - 1)
    if letter == "S":
        return _fraction(clock.millis % 1000, count)
    if letter in "xyY" and count == 2:
        year = clock.week_year if letter == "x" else clock.year
        return _padded(np.abs(year) % 100, 2)
    return _padded(_NUMBERS[letter](clock), count)


def _padded(numbers: Numbers, width: int) -> pa.Array:
    text = pc.utf8_lpad(pa.array(np.abs(numbers)).cast(pa.string()), width, "0")
    if (numbers >= 0).all():
        return text
    sign = pc.if_else(pa.array(numbers < 0), "-", "")
    return pc.binary_join_element_wise(sign, text, "")


def _fraction(millis: Numbers, count: int) -> pa.Array:
    text = pc.utf8_lpad(pa.array(millis).cast(pa.string()), 3, "0")
    return pc.utf8_slice_codeunits(text, 0, count) if count < 3 else pc.utf8_rpad(text, count, "0")


def _offset(offsets: Numbers, separator: str) -> pa.Array:
    minutes = np.abs(offsets) // 60_000
    sign = pc.if_else(pa.array(offsets < 0), "-", "+")
    hours, rest = _padded(minutes // 60, 2), _padded(minutes % 60, 2)
    return pc.binary_join_element_wise(sign, hours, separator, rest, "")


def _choose(names: tuple[str, ...], index: Numbers) -> pa.Array:
    return pa.array(names, pa.string()).take(pa.array(index))


def _date(days: Numbers) -> npt.NDArray[np.datetime64]:
    return days.astype("M8[D]")


def _year(days: Numbers) -> Numbers:
    years: Numbers = _date(days).astype("M8[Y]").astype(np.int64)
    return years + 1970


def _day_of_year(days: Numbers) -> Numbers:
    dates = _date(days)
    behind: Numbers = (dates - dates.astype("M8[Y]").astype("M8[D]")).astype(np.int64)
    return behind + 1
