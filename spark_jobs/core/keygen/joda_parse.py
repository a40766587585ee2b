"""Text to instants by Joda patterns, whole arrays at once (org.joda.time.format.DateTimeFormatter.parseDateTime).

Each number takes as many digits as its letter allows and gives none back; months and halves of days are English names;
literals match in any case. Of several patterns the first that takes the whole text counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.joda_format import DAY, MONTHS, SHORT
from spark_jobs.core.keygen.joda_pattern import PARSED, Element, elements_of

Numbers = npt.NDArray[np.int64]

NO_OFFSET = np.iinfo(np.int64).min
"""Where a text names no offset from UTC."""
_WIDTH = {"D": 3, **dict.fromkeys("MdKhHkms", 2)}
"""Most digits of a letter; of years nine, or where another number follows as many as there are letters."""
_RANGE = {
    **{"M": (1, 12), "d": (1, 31), "D": (1, 366), "K": (0, 11), "h": (1, 12), "H": (0, 23), "k": (1, 24)},
    **{"m": (0, 59), "s": (0, 59), "Y": (1, 292_278_993), "y": (-292_275_054, 292_278_993)},
}
_HOURS = "HhKk"
_OFFSET = r"(?P<Z>Z|z|[+-]\d\d(?::\d\d(?::\d\d(?:[.,]\d{1,3})?)?|(?:\d\d(?:\d\d(?:\d{1,3})?)?)?+))"
_MOST_SHOWN = 48
"""Characters of a text that a message quotes."""
_NO_YEAR = 2000
"""The year of a text that has a month or day and no year."""


@dataclass(frozen=True, slots=True)
class ParsedDates:
    """``local`` milliseconds since 1970 by the clock that the text is of; ``offsets`` of that clock, or
    :data:`NO_OFFSET`.
    """

    local: Numbers
    offsets: Numbers


@dataclass(frozen=True, slots=True)
class DatePatterns:
    """Compiled input patterns.

    :raises ConfigError: at :meth:`of`, for a pattern that can't be translated.
    """

    patterns: tuple[tuple[Element, ...], ...]
    shown: str

    @staticmethod
    def of(patterns: Sequence[str], what: str) -> DatePatterns:
        found = tuple(elements_of(pattern, PARSED, what) for pattern in patterns)
        for elements, pattern in zip(found, patterns, strict=True):
            _refuse_unclear(elements, pattern, what)
        return DatePatterns(found, ", ".join(patterns))

    def parse(self, texts: pa.Array, column: str) -> ParsedDates:
        """
        :param texts: strings without nulls; equal ones are best given once.
        :raises BadRecordError: a text that fits no pattern, or is no date.
        """
        count = len(texts)
        result = ParsedDates(np.zeros(count, np.int64), np.full(count, NO_OFFSET))
        left = np.arange(count)
        for elements in self.patterns:
            if not len(left):
                break
            fields, taken = _by_position(elements, texts.take(pa.array(left)))
            self._store(result, left[taken], fields, texts, column)
            left = left[~taken]
        if len(left):
            self._one_by_one(result, left, texts, column)
        return result

    def _one_by_one(self, result: ParsedDates, rows: Numbers, texts: pa.Array, column: str) -> None:
        """Texts whose fields are not of the pattern's own widths."""
        matchers = [re.compile(_regex(elements), re.ASCII) for elements in self.patterns]
        values = texts.take(pa.array(rows)).to_pylist()
        found: list[list[tuple[int, re.Match[str]]]] = [[] for _ in matchers]
        for row, text in zip(rows.tolist(), values, strict=True):
            for number, matcher in enumerate(matchers):
                match = matcher.fullmatch(text)
                if match is not None:
                    found[number].append((row, match))
                    break
            else:
                raise self._bad(text, column)
        for elements, matches in zip(self.patterns, found, strict=True):
            if matches:
                where = np.array([row for row, _ in matches], np.int64)
                columns = {
                    one.letter: np.array([_number(match[one.letter], one) for _, match in matches], np.int64)
                    for one in elements
                    if one.letter
                }
                self._store(result, where, columns, texts, column)

    def _store(
        self, result: ParsedDates, rows: Numbers, fields: Mapping[str, Numbers], texts: pa.Array, column: str
    ) -> None:
        if not len(rows):
            return
        local, good = _millis(fields)
        if not good.all():
            raise self._bad(texts[int(rows[np.argmin(good)])].as_py(), column)
        result.local[rows] = local
        if "Z" in fields:
            result.offsets[rows] = fields["Z"]

    def _bad(self, text: str, column: str) -> BadRecordError:
        shown = text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
        return BadRecordError(
            f"{shown!r} in column {column} is no date of the pattern {self.shown}",
            todo="correct it in the source, or name its pattern",
            column=column,
            value=text,
        )


def _refuse_unclear(elements: tuple[Element, ...], pattern: str, what: str) -> None:
    letters = [one.letter for one in elements if one.letter]
    reasons = {
        "a year of two digits, whose century would depend on today": any(
            one.letter in "yY" and one.count == 2 for one in elements if one.letter
        ),
        "a letter twice": len(set(letters)) != len(letters),
        "two letters for the hour": sum(letter in _HOURS for letter in letters) > 1,
        "two letters for the year": {"y", "Y"} <= set(letters),
        "a day of the year beside month or day": "D" in letters and bool({"M", "d"} & set(letters)),
    }
    for reason, present in reasons.items():
        if present:
            raise ConfigError(f"{what}={pattern} has {reason}", todo="give another pattern", key=what)


def _digits(elements: tuple[Element, ...], index: int) -> int:
    """The most digits that a number takes."""
    one = elements[index]
    if one.letter == "S":
        return one.count
    if one.letter in "yY":
        followed = index + 1 < len(elements) and elements[index + 1].is_numeric
        return one.count if followed else max(9, one.count)
    return max(_WIDTH[one.letter], one.count)


def _regex(elements: tuple[Element, ...]) -> str:
    parts = []
    for index, one in enumerate(elements):
        if not one.letter:
            parts.append("".join(_any_case(char) for char in one.text))
        elif one.letter == "Z":
            parts.append(_OFFSET)
        elif one.letter == "a":
            parts.append("(?P<a>AM|PM|am|pm)")
        elif one.letter == "M" and one.count >= SHORT:
            names = [name for month in MONTHS for name in (month, month[:SHORT])]
            spelled = sorted({way(name) for name in names for way in (str, str.lower, str.upper)}, key=len)
            parts.append("(?P<M>" + "|".join(reversed(spelled)) + ")")
        else:
            digits = f"\\d{{1,{_digits(elements, index)}}}+"
            signed = f"(?:[+-]{digits}|{digits})" if one.letter == "y" else digits
            parts.append(f"(?P<{one.letter}>{signed})")
    return "".join(parts)


def _any_case(char: str) -> str:
    return f"(?i:{re.escape(char)})" if char.isalpha() else re.escape(char)


def _number(text: str, element: Element) -> int:
    """The number of a field that the regular expression took: of names their position, of offsets milliseconds."""
    if element.letter == "Z":
        return _offset_millis(text)
    if element.letter == "a":
        return int(text.lower() == "pm")
    if element.letter == "M" and element.count >= SHORT:
        return 1 + next(number for number, month in enumerate(MONTHS) if month.lower().startswith(text.lower()[:SHORT]))
    if element.letter == "S":
        return int(text[:3].ljust(3, "0"))
    return max(-(1 << 62), min(int(text), 1 << 62))


def _offset_millis(text: str) -> int:
    """Milliseconds of an offset; one beyond a day where its parts are out of range, which :func:`_millis` refuses."""
    if text in "Zz":
        return 0
    digits = re.sub(r"\D", "", text)
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4] or 0), int(digits[4:6] or 0)
    if hours > 23 or minutes > 59 or seconds > 59:
        return 2 * DAY
    millis = ((hours * 60 + minutes) * 60 + seconds) * 1000 + int(digits[6:].ljust(3, "0"))
    return -millis if text.startswith("-") else millis


def _by_position(elements: tuple[Element, ...], texts: pa.Array) -> tuple[dict[str, Numbers], npt.NDArray[np.bool_]]:
    """Fields of the texts that have every number in its pattern's width, and which these are."""
    none = np.zeros(len(texts), bool)
    layout = _layout(elements)
    if layout is None:
        return {}, none
    width = sum(length for _, length in layout)
    fits = np.asarray(pc.equal(pc.binary_length(texts), width), bool)
    if not fits.any():
        return {}, none
    chosen = texts if fits.all() else texts.filter(pa.array(fits))
    _, offsets, data = chosen.buffers()
    start = int(np.frombuffer(offsets, np.int32)[chosen.offset])
    chars = np.frombuffer(data or b"", np.uint8)[start : start + len(chosen) * width].reshape(len(chosen), width)
    good = np.ones(len(chosen), bool)
    fields: dict[str, Numbers] = {}
    at = 0
    for one, length in layout:
        part = chars[:, at : at + length]
        at += length
        if not one.letter or one.letter == "Z":
            wanted = np.frombuffer((one.text or "Z").encode(), np.uint8)
            good &= (part == wanted).all(axis=1)
            if one.letter:
                fields["Z"] = np.zeros(len(chosen), np.int64)
            continue
        digits = part.astype(np.int64) - ord("0")
        good &= ((digits >= 0) & (digits <= 9)).all(axis=1)
        used = digits[:, :3] if one.letter == "S" else digits
        number = used @ (10 ** np.arange(used.shape[1] - 1, -1, -1))
        fields[one.letter] = number * 10 ** max(0, 3 - length) if one.letter == "S" else number
    taken = fits.copy()
    taken[fits] = good
    return {letter: values[good] for letter, values in fields.items()}, taken


def _layout(elements: tuple[Element, ...]) -> list[tuple[Element, int]] | None:
    """Bytes of each element of a text in full widths; None where numbers of other widths or names may come.

    A year is taken at four digits where no digit can follow it.
    """
    found = []
    for index, one in enumerate(elements):
        if not one.letter:
            if one.text[0].isdigit():
                return None
            found.append((one, len(one.text.encode())))
        elif one.letter == "Z":
            found.append((one, 1))
        elif one.is_numeric and (one.letter in "yY" or one.count == _digits(elements, index)):
            found.append((one, one.count))
        else:
            return None
    return found


def _millis(fields: Mapping[str, Numbers]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Local milliseconds since 1970, and which of them are dates."""
    count = len(next(iter(fields.values()))) if fields else 0
    good = np.ones(count, bool)
    for letter, (low, high) in _RANGE.items():
        if letter in fields:
            good &= (fields[letter] >= low) & (fields[letter] <= high)
    dated = bool({"M", "d", "D"} & set(fields))
    year = fields.get("y", fields.get("Y", np.full(count, _NO_YEAR if dated else 1970)))
    first = ((year - 1970) * 12 + fields.get("M", np.ones(count, np.int64)) - 1).astype("M8[M]")
    start = first.astype("M8[D]").astype(np.int64)
    if "D" in fields:
        length = (first + 12).astype("M8[D]").astype(np.int64) - start
        day = fields["D"]
    else:
        length = (first + 1).astype("M8[D]").astype(np.int64) - start
        day = fields.get("d", np.ones(count, np.int64))
    good &= day <= length
    millis = (start + day - 1) * DAY + _hours(fields, count) * 3_600_000
    for letter, unit in (("m", 60_000), ("s", 1000), ("S", 1)):
        if letter in fields:
            millis = millis + fields[letter] * unit
    if "Z" in fields:
        good &= np.abs(fields["Z"]) < DAY
    return millis, good


def _hours(fields: Mapping[str, Numbers], count: int) -> Numbers:
    if "H" in fields:
        return fields["H"]  # the hour of the day says all, whatever half of the day stands beside it
    if "k" in fields:
        return fields["k"] % 24
    within = fields["h"] % 12 if "h" in fields else fields.get("K", np.zeros(count, np.int64))
    return within + 12 * fields.get("a", np.zeros(count, np.int64))
