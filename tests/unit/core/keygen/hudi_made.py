"""What Hudi wrote to the tables of ``tests/fixtures/keygen_tables``, and by which options of its key generators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_jobs.core.keygen.spec import PACKAGE, Generator

TABLES = Path(__file__).resolve().parents[3] / "fixtures" / "keygen_tables"
KEY, PATH = "hoodie.datasource.write.recordkey.field", "hoodie.datasource.write.partitionpath.field"
CLASS = "hoodie.datasource.write.keygenerator.class"
_TIME = "hoodie.keygen.timebased."
_HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
_ENCODE = {"hoodie.datasource.write.partitionpath.urlencode": "true"}
_COMPLEX = {KEY: "id,sub", PATH: "place,flag", CLASS: PACKAGE + Generator.COMPLEX, **_HIVE, **_ENCODE}

GENERATORS: dict[str, dict[str, str]] = {
    "complex_base": _COMPLEX,
    "complex_logs": _COMPLEX,
    "time_millis_logs": {
        KEY: "id",
        PATH: "millis",
        CLASS: PACKAGE + Generator.TIMESTAMP,
        _TIME + "timestamp.type": "EPOCHMILLISECONDS",
        _TIME + "output.dateformat": "yyyy/MM/dd",
        _TIME + "timezone": "GMT+8:00",
    },
    "time_unix_base": {
        KEY: "id",
        PATH: "seconds",
        CLASS: PACKAGE + Generator.TIMESTAMP,
        _TIME + "timestamp.type": "UNIX_TIMESTAMP",
        _TIME + "output.dateformat": "yyyy/MM/dd/HH",
        _TIME + "timezone": "America/New_York",
        **_HIVE,
    },
    "time_text_base": {
        KEY: "id",
        PATH: "day",
        CLASS: PACKAGE + Generator.TIMESTAMP,
        _TIME + "timestamp.type": "DATE_STRING",
        _TIME + "input.dateformat": "yyyy-MM-dd HH:mm:ss,yyyy-MM-dd'T'HH:mm:ssZ",
        _TIME + "input.timezone": "America/New_York",
        _TIME + "output.dateformat": "yyyyMMddHH",
        _TIME + "output.timezone": "UTC",
    },
    "custom_logs": {
        KEY: "id",
        PATH: "sub:SIMPLE,millis:TIMESTAMP",
        CLASS: PACKAGE + Generator.CUSTOM,
        _TIME + "timestamp.type": "EPOCHMILLISECONDS",
        _TIME + "output.dateformat": "yyyyMM",
        _TIME + "timezone": "UTC",
        **_HIVE,
        **_ENCODE,
    },
    "flat_base": {KEY: "id,sub", PATH: "", CLASS: PACKAGE + Generator.NON_PARTITIONED},
    "global_logs": {KEY: "id", PATH: "", CLASS: PACKAGE + Generator.GLOBAL_DELETE},
}
"""By the table's name, which ends in ``logs`` where it is MERGE_ON_READ."""

INSERTED, UPDATED, DELETED = range(14), range(0, 14, 6), range(4, 6)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("sub", pa.string()),
        ("place", pa.string()),
        ("flag", pa.bool_()),
        ("millis", pa.int64()),
        ("seconds", pa.int64()),
        ("day", pa.string()),
        ("text", pa.string()),
        ("ts", pa.int64()),
    ]
)
PLACES = ["a b", "50%", "x=y", "北京 ünï", "p/q:r", None, ""]


def rows(numbers: range, ts: int = 0) -> pa.Table:
    """Rows whose every partition value is the same at each ``ts``."""
    return pa.Table.from_pylist([_row(number, ts) for number in numbers], SCHEMA)


def _row(number: int, ts: int) -> dict[str, Any]:
    millis = [1_578_283_932_123, 1_583_650_800_000, -1, None][number % 4]
    return {
        "id": f"k{number:02d},x:y" if number % 5 == 4 else f"k{number:02d}",
        "sub": ["one", None, "", "a:b,c"][number % 4],
        "place": PLACES[number % len(PLACES)],
        "flag": number % len(PLACES) < 4,
        "millis": millis,
        "seconds": None if millis is None else millis // 1000,
        "day": ["2020-03-08 03:59:59", "2020-03-09T01:00:00Z", None][number % 3],
        "text": f"t{number} at {ts}",
        "ts": ts,
    }
