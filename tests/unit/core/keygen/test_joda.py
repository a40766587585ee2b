"""Joda's date patterns: what is written, what is read, what is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.joda_format import DateFormat
from spark_jobs.core.keygen.joda_parse import NO_OFFSET, DatePatterns
from spark_jobs.core.keygen.zones import Zone, is_zone, zone_of

pytestmark = pytest.mark.unit

HOUR = 3_600_000


def written(pattern: str, *moments: datetime, offset: int = 0) -> list[str]:
    local = np.array([millis(moment) for moment in moments], np.int64)
    found: list[str] = DateFormat.of(pattern, "k").format(local, np.full(len(local), offset)).to_pylist()
    return found


def read(text: str, *patterns: str) -> tuple[str, int | None]:
    """The local time and the offset of a text, the offset in hours."""
    parsed = DatePatterns.of(patterns, "k").parse(pa.array([text]), "c")
    moment = datetime(1970, 1, 1) + timedelta(milliseconds=int(parsed.local[0]))
    offset = int(parsed.offsets[0])
    return moment.isoformat(), None if offset == NO_OFFSET else offset // HOUR


def millis(moment: datetime) -> int:
    return (moment.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("yyyy/MM/dd", "2021/01/03"),
        ("yy-M-d", "21-1-3"),
        ("yyyyMMddHHmmssSSS", "20210103150405006"),
        ("h:m:s a", "3:4:5 PM"),
        ("hh KK kk", "03 03 15"),
        ("EEE EEEE e", "Sun Sunday 7"),
        ("MMM MMMM", "Jan January"),
        ("xxxx-'W'ww", "2020-W53"),
        ("DDD", "003"),
        ("G YYYY C", "AD 2021 20"),
        ("S SS SSSS", "0 00 0060"),
        ("Z ZZ", "-0330 -03:30"),
        ("'it''s' ''yyyy''", "it's '2021'"),
        ("yyyyy", "02021"),
        ("yyyy'", "2021"),
    ],
)
def test_what_is_written(pattern: str, expected: str) -> None:
    moment = datetime(2021, 1, 3, 15, 4, 5, 6000)
    assert written(pattern, moment, offset=-3 * HOUR - 30 * 60_000) == [expected]


def test_equal_times_have_equal_text() -> None:
    moments = [
        datetime(2021, 1, 3, 15, 4),
        datetime(2020, 2, 29),
        datetime(2021, 1, 3, 15, 59),
        datetime(1969, 12, 31, 23),
    ]
    assert written("yyyy-MM-dd HH", *moments) == ["2021-01-03 15", "2020-02-29 00", "2021-01-03 15", "1969-12-31 23"]
    assert written("yyyy") == []


def test_years_before_the_first() -> None:
    first = np.array([-62_167_219_200_000 - 1], np.int64)  # a millisecond before the year 0
    assert DateFormat.of("yyyy YYYY G", "k").format(first, first * 0).to_pylist() == ["-0001 0002 BC"]


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("2020-02-29", "yyyy-MM-dd", "2020-02-29T00:00:00"),
        ("2020-2-9", "yyyy-MM-dd", "2020-02-09T00:00:00"),
        ("20200229", "yyyyMMdd", "2020-02-29T00:00:00"),
        ("2020", "yyyy", "2020-01-01T00:00:00"),
        ("07:05", "HH:mm", "1970-01-01T07:05:00"),
        ("02-29", "MM-dd", "2000-02-29T00:00:00"),
        ("2021-060", "yyyy-DDD", "2021-03-01T00:00:00"),
        ("12 am", "hh a", "1970-01-01T00:00:00"),
        ("12 PM", "hh a", "1970-01-01T12:00:00"),
        ("0 PM", "KK a", "1970-01-01T12:00:00"),
        ("24", "kk", "1970-01-01T00:00:00"),
        ("3 MAR 2020", "d MMM yyyy", "2020-03-03T00:00:00"),
        ("3 december 2020", "d MMM yyyy", "2020-12-03T00:00:00"),
        ("10.5", "ss.SSS", "1970-01-01T00:00:10.500000"),
        ("10.123456", "ss.SSSSSS", "1970-01-01T00:00:10.123000"),
        ("x12", "'X'HH", "1970-01-01T12:00:00"),
    ],
)
def test_what_is_read(text: str, pattern: str, expected: str) -> None:
    assert read(text, pattern) == (expected, None)


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("12Z", 0),
        ("12z", 0),
        ("12+05", 5),
        ("12-0500", -5),
        ("12+05:00", 5),
        ("12-05:00:00", -5),
        ("12+23:00:00.000", 23),
    ],
)
def test_offsets(text: str, offset: int) -> None:
    assert read(text, "HHZ") == ("1970-01-01T12:00:00", offset)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("", "yyyy"),
        ("2020-13-01", "yyyy-MM-dd"),
        ("2019-02-29", "yyyy-MM-dd"),
        ("2020-02-30", "yyyy-MM-dd"),
        ("2019-366", "yyyy-DDD"),
        ("24", "HH"),
        ("00", "hh"),
        ("60", "mm"),
        ("12+24:00", "HHZ"),
        ("12+5", "HHZ"),
        ("2020-01-01 ", "yyyy-MM-dd"),
        ("202001", "yyyy-MM"),
        ("123", "HH:mm"),
        ("2020\u0661", "yyyyM"),
        ("999999999-01-01", "yyyy-MM-dd"),
    ],
)
def test_what_is_no_date(text: str, pattern: str) -> None:
    with pytest.raises(BadRecordError, match="in column c is no date of the pattern"):
        read(text, pattern)


def test_a_message_quotes_no_long_text() -> None:
    with pytest.raises(BadRecordError) as caught:
        read("x" * 1000, "yyyy")
    assert "'" + "x" * 48 + "...' in column c" in str(caught.value)


def test_the_first_pattern_that_takes_the_whole_text_counts() -> None:
    assert read("2020-01-02", "yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyy-dd-MM") == ("2020-01-02T00:00:00", None)
    assert read("01/02/2020", "MM/dd/yyyy", "dd/MM/yyyy") == ("2020-01-02T00:00:00", None)


@pytest.mark.parametrize("letter", ["z", "Q", "L", "W", "c", "b"])
def test_letters_that_can_not_be_translated_are_named(letter: str) -> None:
    with pytest.raises(ConfigError, match=f"has {letter * 2}, which can't be translated"):
        DateFormat.of(f"yyyy{letter * 2}", "hoodie.keygen.timebased.output.dateformat")


@pytest.mark.parametrize(
    "pattern", ["yy-MM", "EEE d", "yyyy ww", "yyyy-yyyy", "HH hh", "yyyy DDD dd", "", "ZZZ", "yyyy G"]
)
def test_patterns_that_are_only_written(pattern: str) -> None:
    with pytest.raises(ConfigError):
        DatePatterns.of([pattern], "k")


@given(st.lists(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))))
def test_what_is_written_is_read_back(moments: list[datetime]) -> None:
    for pattern in (
        "yyyy-MM-dd'T'HH:mm:ss.SSSZ",
        "yyyyMMddHHmmssSSS",
        "d MMMM yyyy h:mm:ss.SSS a",
        "DDD yyyy kk:m:s S",
    ):
        unit = 100 if pattern.endswith(" S") else 1
        local = np.array([millis(moment) // unit * unit for moment in moments], np.int64)
        texts = DateFormat.of(pattern, "k").format(local, np.zeros(len(local), np.int64))
        assert DatePatterns.of([pattern], "k").parse(texts, "c").local.tolist() == local.tolist()


@given(st.text(), st.sampled_from(["yyyy-MM-dd", "HHmm", "d MMM yyyy", "HHZ", "yyyyy", "ss.SSS"]))
def test_any_text_is_a_date_or_an_error(text: str, pattern: str) -> None:
    with suppress(BadRecordError):
        DatePatterns.of([pattern], "k").parse(pa.array([text]), "c")


@pytest.mark.parametrize(
    ("name", "hours"),
    [
        ("GMT", 0),
        ("UTC", 0),
        ("GMT+8", 8),
        ("GMT+08:00", 8),
        ("GMT-0800", -8),
        ("GMT+800", 8),
        ("Asia/Tokyo", 9),
        ("JST", 9),
    ],
)
def test_zones(name: str, hours: int) -> None:
    assert is_zone(name)
    assert zone_of(name).offsets_at(np.array([0], np.int64)).tolist() == [hours * HOUR]
    assert zone_of(name).to_utc(np.array([0], np.int64)).tolist() == [-hours * HOUR]


@pytest.mark.parametrize("name", ["UTC+8", "GMT+24", "GMT+1:60", "Nowhere/At_All", "", "../etc/passwd"])
def test_unknown_zones_are_gmt_as_in_java(name: str) -> None:
    assert not is_zone(name)
    assert zone_of(name) == Zone("")


def test_clock_changes() -> None:
    zone = zone_of("Europe/Berlin")
    twice = millis(datetime(2020, 10, 25, 2, 30))
    assert zone.to_utc(np.array([twice])).tolist() == [twice - 2 * HOUR]
    with pytest.raises(BadRecordError, match="does not exist in zone Europe/Berlin"):
        zone.to_utc(np.array([millis(datetime(2020, 3, 29, 2, 30))]))
    assert zone.offsets_at(np.array([np.iinfo(np.int64).max])).tolist() == [HOUR]
