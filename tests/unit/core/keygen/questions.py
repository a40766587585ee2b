"""What real Hudi's key generators are asked: rows of every type with odd values, and options of writes.

``tests/fixtures/make_key_generator_answers.py`` puts the questions to Hudi, and its answers are the expected values of
the tests.
"""

from __future__ import annotations

import math
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa

ZONE = "America/New_York"
"""Java's default zone while Hudi answers: one that is not UTC, and has clock changes."""


def _decimals(*texts: str) -> list[Decimal | None]:
    return [Decimal(text) if text else None for text in texts]


COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "id": (pa.string(), [f"k{number}" for number in range(8)]),
    "text": (
        pa.string(),
        ["abc", "", None, "a/b c:d=e%f#g'h\"i*j?k\\l{m}[n]^o", "ünï|çø 北京", "x,y:z", "__null__", "  "],
    ),
    "more": (pa.string(), ["v", "", None, None, "", "1:2,3", "__empty__", "."]),
    "flag": (pa.bool_(), [True, False, None, True, False, None, True, False]),
    "tiny": (pa.int8(), [0, -1, None, 127, -128, 5, 1, 2]),
    "small": (pa.int16(), [0, -1, None, 32767, -32768, 5, 1, 2]),
    "whole": (pa.int32(), [20000, 0, None, -1, 2147483647, -2147483648, 18262, 1]),
    "long": (pa.int64(), [0, -1, None, 2**63 - 1, -(2**63), 1578283932000, 253402300800000, 5]),
    "single": (pa.float32(), [0.0, -0.0, None, 1.5, 1e10, 0.001, 1.1e-4, 3.4028234663852886e38]),
    "double": (pa.float64(), [0.0, 1e7, None, 9999999.0, 2e-3, 0.1 + 0.2, 1.7976931348623157e308, 5e-324]),
    "odd": (pa.float64(), [math.nan, math.inf, None, -math.inf, -1e-4, 100.0, 1578283932.75, 123456789012345680.0]),
    "money": (
        pa.decimal128(20, 10),
        [
            Decimal(text) if text else None
            for text in ["0.0000001", "1.5", "", "", "0", "-12345.6789", "1578283932.9", "1e9"]
        ],
    ),
    "count": (
        pa.decimal128(10, 0),
        _decimals("0", "1", "", "-1", "9999999999", "100", "20000", "7"),
    ),
    "day": (
        pa.date32(),
        [
            date(2020, 1, 6),
            date(1970, 1, 1),
            None,
            date(1969, 12, 31),
            date(1700, 1, 1),
            date(9999, 12, 31),
            date(1900, 3, 1),
            date(2024, 2, 29),
        ],
    ),
    "at": (
        pa.timestamp("us", tz="UTC"),
        [1578283932123456, 0, None, -1, 1583650800000000, 1578283932100000, -2208000000000000, 253402300799999999],
    ),
    "inner": (
        pa.struct([("a", pa.string()), ("n", pa.int64())]),
        [
            {"a": "x", "n": 1},
            {"a": "", "n": 2},
            None,
            {"a": None, "n": None},
            *[{"a": f"{n}", "n": n} for n in range(4)],
        ],
    ),
    "millis": (
        pa.int64(),
        [1578283932000, 0, None, -1, 1578338000000, 253402300799999, -62135596800000, 1583651000000],
    ),
    "date_time": (
        pa.string(),
        [
            "2020-01-06 12:12:12",
            "2020-01-06 1:2:3",
            None,
            "2020-13-01 00:00:00",
            "2020-02-30 01:01:01",
            "",
            "2020-01-06 12:12:12 ",
            "20200-01-06 11:11:11",
        ],
    ),
    "iso": (
        pa.string(),
        [
            "2020-04-01T13:01:33.428Z",
            "2020-04-01T13:01:33-05:00",
            None,
            "2020-04-01T13:01:33+0530",
            "2020-04-01t13:01:33z",
            "2020-04-01T13:01:33.4Z",
            "2020-04-01T13:01:33",
            "2020-04-01T13:01:33.428+23:59:59",
        ],
    ),
    "mixed": (
        pa.string(),
        ["20200401", "2020-04-01T13:01:33Z", None, "2020041", "202004011", "2020-04-01", "00010101", "20200431"],
    ),
    "named": (
        pa.string(),
        [
            "06 Jan 2020 01:05 PM",
            "6 January 2020 12:00 am",
            None,
            "31 DEC 1999 11:59 pm",
            "1 may 2021 1:1 AM",
            "29 Feb 2019 01:00 AM",
            "1 mAy 2020 01:00 AM",
            "30 sept 2020 12:59 PM",
        ],
    ),
    "clock": (
        pa.string(),
        [
            "2020-03-08 02:30:00",
            "2020-11-01 01:30:00",
            None,
            "2020-03-08 03:00:00",
            "1880-01-01 00:00:00",
            "2020-07-01 24:00:00",
            "2020-07-01 00:60:00",
            "-0001-07-01 00:00:00",
        ],
    ),
    "year_day": (pa.string(), ["2020-366", "2019-366", None, "2020-1", "2020-000", "1-1", "+2020-060", "2020-0600"]),
    "short": (pa.string(), ["12:30", "1:5", None, "24:00", "12:3", "012:30", "23:59", ":"]),
    "month_day": (pa.string(), ["02-29", "2-9", None, "13-01", "12-31", "1231", "02-30", "00-01"]),
}

_SIMPLE = "org.apache.hudi.keygen.SimpleKeyGenerator"
_TIME = "org.apache.hudi.keygen.TimestampBasedKeyGenerator"
_CUSTOM = "org.apache.hudi.keygen.CustomKeyGenerator"
_GLOBAL = "org.apache.hudi.keygen.GlobalDeleteKeyGenerator"
_FLAT = "org.apache.hudi.keygen.NonpartitionedKeyGenerator"
_COMPLEX = "org.apache.hudi.keygen.ComplexKeyGenerator"
_HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
_ENCODE = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
_CONSISTENT = {"hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled": "true"}
KEY_FIELD = "hoodie.datasource.write.recordkey.field"
PARTITION_FIELD = "hoodie.datasource.write.partitionpath.field"
CLASS = "hoodie.datasource.write.keygenerator.class"
TYPE = "hoodie.datasource.write.keygenerator.type"
_NEW, _OLD = "hoodie.keygen.timebased.", "hoodie.deltastreamer.keygen.timebased."


def table() -> pa.Table:
    return pa.table({name: pa.array(values, kind) for name, (kind, values) in COLUMNS.items()})


def _case(key: str, partition: str, class_name: str = "", **more: str) -> dict[str, str]:
    return {KEY_FIELD: key, PARTITION_FIELD: partition, **({CLASS: class_name} if class_name else {}), **more}


def _time(column: str, kind: str, output: str, *, prefix: str = _NEW, **more: str) -> dict[str, str]:
    """A case of a time-based partition; ``more`` by the end of the key's name, with ``_`` for ``.``."""
    styles = {name: value for name, value in more.items() if name.startswith("hoodie")}
    settings = {name.replace("_", "."): value for name, value in more.items() if not name.startswith("hoodie")}
    settings = {"timestamp.type": kind, "output.dateformat": output, **settings}
    return {**_case("id", column, _TIME), **{prefix + name: value for name, value in settings.items()}, **styles}


_ISO = "yyyy-MM-dd'T'HH:mm:ssZ,yyyy-MM-dd'T'HH:mm:ss.SSSZ"
_CLOCK = "yyyy-MM-dd HH:mm:ss"
_ALL_LETTERS = "G C Y yy y x xx w e E EEEE D M MM MMM MMMM d a K h H k m s S SS SSSS Z ZZ '' 'quoted ''y'''"

PUBLISHED: dict[str, dict[str, str]] = {
    "published 1": _time("millis", "EPOCHMILLISECONDS", "yyyy-MM-dd hh", timezone="GMT+8:00"),
    "published 2": _time(
        "date_time", "DATE_STRING", "yyyy-MM-dd hh", timezone="GMT+8:00", input_dateformat="yyyy-MM-dd hh:mm:ss"
    ),
    "published 3": _time("whole", "SCALAR", "yyyy-MM-dd hh", timezone="GMT", timestamp_scalar_time_unit="days"),
    "published 4": _time(
        "iso", "DATE_STRING", "yyyyMMddHH", output_timezone="GMT", input_dateformat="yyyy-MM-dd'T'HH:mm:ss.SSSZ"
    ),
    "published 5 and 6": _time("iso", "DATE_STRING", "yyyyMMddHH", output_timezone="UTC", input_dateformat=_ISO),
    "published 7": _time(
        "mixed",
        "DATE_STRING",
        "MM/dd/yyyy",
        input_timezone="UTC",
        output_timezone="UTC",
        input_dateformat=_ISO + ",yyyyMMdd",
    ),
}

CASES: dict[str, dict[str, str]] = {
    **{f"key {name}": _case(name, "id") for name in COLUMNS if name not in ("inner", "id")},
    **{f"partition {name}": _case("id", name, _SIMPLE) for name in COLUMNS if name not in ("inner", "id")},
    "key at, consistent": _case("at", "at", _SIMPLE, **_CONSISTENT),
    "key and partition in a struct": _case("inner.n", "inner.a", _SIMPLE, **_HIVE),
    "complex in a struct": _case("inner.a,inner.n", "inner.a,text", _COMPLEX, **_HIVE),
    "hive style": _case("id", "text", _SIMPLE, **_HIVE),
    "url-encoded": _case("id", "text", _SIMPLE, **_ENCODE),
    "hive style and url-encoded": _case("id", "text", _SIMPLE, **_HIVE, **_ENCODE),
    "complex": _case("text,more", "text,more", _COMPLEX),
    "complex, hive style and url-encoded": _case("text,more", "text,more,flag", _COMPLEX, **_HIVE, **_ENCODE),
    "complex, one key": _case("text", "text", _COMPLEX),
    "not partitioned": _case("text", "", _FLAT),
    "not partitioned, two keys": _case("text,more", "", _FLAT),
    "global delete": _case("text", "more", _GLOBAL),
    "global delete, two keys": _case("text,more", "more", _GLOBAL),
    "inferred, one and one": _case("id", "text"),
    "inferred, one and two": _case("id", "text,more"),
    "inferred, two and one": _case("id,text", "text"),
    "inferred, none": _case("id,text", ""),
    "inferred, types": _case("id", "text:SIMPLE,flag:SIMPLE"),
    **{
        f"type {kind}": _case("id", "text:SIMPLE" if kind == "CUSTOM" else "text", **{TYPE: kind})
        for kind in ("SIMPLE", "COMPLEX", "NON_PARTITION", "CUSTOM", "GLOBAL_DELETE", "simple", "WRONG")
    },
    "class before type": _case("id", "text", _SIMPLE, **{TYPE: "COMPLEX"}),
    "simple, two columns": _case("id", "text,more", _SIMPLE),
    "simple, two keys": _case("id,text", "text", _SIMPLE),
    "custom": {
        **_time("text:SIMPLE,millis:TIMESTAMP", "EPOCHMILLISECONDS", "yyyy/MM/dd", timezone="GMT+8:00", **_HIVE),
        CLASS: _CUSTOM,
    },
    "custom, lower case and url-encoded": {
        **_time("millis:timestamp,text:simple", "EPOCHMILLISECONDS", "yyyy/MM/dd", timezone="UTC", **_ENCODE),
        CLASS: _CUSTOM,
        KEY_FIELD: "text,more",
    },
    "custom, not partitioned": _case("text", "", _CUSTOM),
    "custom without types": _case("id", "text", _CUSTOM),
    "custom, unknown type": _case("id", "text:DATE", _CUSTOM),
    **PUBLISHED,
    "old names": _time(
        "date_time",
        "DATE_STRING",
        "yyyy-MM-dd HH",
        prefix=_OLD,
        input_dateformat="yyyy-MM-dd HH:mm:ss",
        input_timezone="GMT-3",
        output_timezone="GMT+5:30",
    ),
    "every letter": _time("millis", "EPOCHMILLISECONDS", _ALL_LETTERS, timezone="America/New_York"),
    "every letter, UTC": _time("millis", "EPOCHMILLISECONDS", _ALL_LETTERS, timezone="UTC"),
    "every letter of days": _time("day", "SCALAR", _ALL_LETTERS, timezone="UTC", timestamp_scalar_time_unit="DAYS"),
    "hive style and url-encoded time": _time(
        "millis", "EPOCHMILLISECONDS", "yyyy/MM/dd HH:mm", timezone="UTC", **_HIVE, **_ENCODE
    ),
    "no zone": _time("millis", "EPOCHMILLISECONDS", "yyyy-MM-dd HH"),
    "no zone, text": _time("clock", "DATE_STRING", "yyyy-MM-dd HH:mm:ss Z", input_dateformat=_CLOCK),
    "no zone, text with offset": _time("iso", "DATE_STRING", "yyyy-MM-dd HH:mm:ss Z", input_dateformat=_ISO),
    "output zone, text": _time(
        "clock", "DATE_STRING", "yyyy-MM-dd HH:mm:ss Z", input_dateformat=_CLOCK, output_timezone="UTC"
    ),
    "input zone, text": _time(
        "clock", "DATE_STRING", "yyyy-MM-dd HH:mm:ss Z", input_dateformat=_CLOCK, input_timezone="Europe/Berlin"
    ),
    "input zone, text with offset": _time(
        "iso", "DATE_STRING", "yyyy-MM-dd HH:mm:ss Z", input_dateformat=_ISO, input_timezone="Europe/Berlin"
    ),
    "legacy zone before both": _time(
        "millis", "EPOCHMILLISECONDS", "HH", timezone="GMT+1", input_timezone="GMT+2", output_timezone="GMT+3"
    ),
    **{
        f"zone {zone}": _time("millis", "EPOCHMILLISECONDS", "yyyy-MM-dd HH:mm Z", timezone=zone)
        for zone in ("GMT+8", "GMT-0330", "GMT+800", "EST", "PST", "IST", "UTC+8", "Nowhere/At_All", "Asia/Kathmandu")
    },
    "unix seconds": _time("long", "UNIX_TIMESTAMP", "yyyy-MM-dd HH:mm", timezone="UTC"),
    **{
        f"seconds in {name}": _time(name, "UNIX_TIMESTAMP", "yyyy-MM-dd HH:mm:ss", timezone="UTC")
        for name in ("whole", "odd", "single", "money", "count", "tiny", "flag", "text", "at", "day")
    },
    **{
        f"scalar {unit}": _time("whole", "SCALAR", "yyyy-MM-dd HH:mm:ss.SSS", timezone="UTC", **_unit)
        for unit in ("NANOSECONDS", "MICROSECONDS", "milliseconds", "SECONDS", "MINUTES", "HOURS", "FORTNIGHTS")
        for _unit in [{"timestamp_scalar_time_unit": unit}]
    },
    "scalar without unit": _time("whole", "SCALAR", "yyyy-MM-dd HH", timezone="UTC"),
    "scalar, far": _time("long", "SCALAR", "yyyy-MM-dd", timezone="UTC", timestamp_scalar_time_unit="NANOSECONDS"),
    "micros": _time("millis", "EPOCHMICROSECONDS", "yyyy-MM-dd HH:mm:ss.SSS", timezone="UTC"),
    "mixed of text": _time("date_time", "MIXED", "yyyy-MM-dd", timezone="UTC", input_dateformat="yyyy-MM-dd hh:mm:ss"),
    "mixed of numbers": _time("millis", "MIXED", "yyyy-MM-dd", timezone="UTC", input_dateformat="yyyy-MM-dd"),
    "unknown kind": _time("millis", "EPOCH", "yyyy-MM-dd", timezone="UTC"),
    "timestamps as millis": _time("at", "EPOCHMILLISECONDS", "yyyy-MM-dd HH", timezone="UTC"),
    "timestamps, consistent": _time(
        "at", "EPOCHMILLISECONDS", "yyyy-MM-dd HH:mm:ss.SSS", timezone="UTC", **_CONSISTENT
    ),
    "timestamps, consistent text": _time(
        "at", "DATE_STRING", "yyyy-MM-dd HH", timezone="UTC", input_dateformat="yyyy", **_CONSISTENT
    ),
    "names and halves of days": _time(
        "named", "DATE_STRING", "yyyy-MM-dd HH:mm", timezone="UTC", input_dateformat="d MMM yyyy h:m a"
    ),
    "days of the year": _time("year_day", "DATE_STRING", "yyyy-MM-dd", timezone="UTC", input_dateformat="yyyy-DDD"),
    "time alone": _time("short", "DATE_STRING", "yyyy-MM-dd HH:mm", timezone="UTC", input_dateformat="HH:mm"),
    "month and day": _time("month_day", "DATE_STRING", "yyyy-MM-dd", timezone="UTC", input_dateformat="MM-dd"),
    "month and day in one": _time("month_day", "DATE_STRING", "yyyy-MM-dd", timezone="UTC", input_dateformat="MMdd"),
    "other delimiter": _time(
        "mixed",
        "DATE_STRING",
        "yyyy-MM-dd",
        timezone="UTC",
        input_dateformat="yyyyMMdd | yyyy-MM-dd",
        input_dateformat_list_delimiter_regex="\\|",
    ),
    "seventh letter": _time("millis", "EPOCHMILLISECONDS", "yyyy-QQ", timezone="UTC"),
}
