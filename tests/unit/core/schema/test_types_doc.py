"""docs/types.md shows the types that the code has."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.avro import arrow_type_of, avro_schema_of
from spark_jobs.core.schema.kinds import KINDS, Kind

pytestmark = pytest.mark.unit

DOC = Path(__file__).resolve().parents[4] / "docs" / "types.md"


def row(kind: Kind) -> str:
    avro = f"{kind.avro}, {kind.logical}" if kind.logical else kind.avro
    cells = (avro, kind.accepted, str(kind.read_as), kind.spark, kind.hive, kind.hive_timestamp or kind.hive)
    return f"| {' | '.join(cells)} |"


def test_the_table_is_that_of_the_code() -> None:
    lines = DOC.read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| Avro | Arrow, written"))
    table = lines[start + 2 : start + 2 + len(KINDS)]
    assert table == [row(kind) for kind in KINDS]
    assert not lines[start + 2 + len(KINDS)].startswith("|")


@pytest.mark.parametrize(
    ("arrow", "stored"),
    [
        (pa.int8(), "int"),
        (pa.uint16(), "int"),
        (pa.uint32(), "long"),
        (pa.float16(), "float"),
        (pa.string_view(), "string"),
        (pa.dictionary(pa.int32(), pa.large_string()), "string"),
        (pa.binary(5), "bytes"),
        (pa.binary_view(), "bytes"),
        (pa.date64(), {"type": "int", "logicalType": "date"}),
        (pa.time32("s"), {"type": "int", "logicalType": "time-millis"}),
        (pa.time64("ns"), {"type": "long", "logicalType": "time-micros"}),
        (pa.timestamp("s", "Europe/Paris"), {"type": "long", "logicalType": "timestamp-millis"}),
        (pa.timestamp("ns", "UTC"), {"type": "long", "logicalType": "timestamp-micros"}),
        (pa.timestamp("ms"), {"type": "long", "logicalType": "local-timestamp-millis"}),
        (pa.large_list(pa.int64()), {"type": "array", "items": ["null", "long"]}),
        (pa.list_(pa.field("item", pa.int64(), nullable=False), 3), {"type": "array", "items": "long"}),
        (pa.map_(pa.large_string(), pa.bool_()), {"type": "map", "values": ["null", "boolean"]}),
    ],
)
def test_arrow_types_as_they_are_stored(arrow: pa.DataType, stored: object) -> None:
    (field,) = avro_schema_of(pa.schema([("c", arrow)]), "t")["fields"]
    assert field["type"] == ["null", stored]


@pytest.mark.parametrize(
    "arrow",
    [
        pa.uint64(),
        pa.null(),
        pa.duration("us"),
        pa.month_day_nano_interval(),
        pa.struct([]),
        pa.map_(pa.int32(), pa.int32()),
        pa.decimal256(50, 2),
        pa.list_(pa.uint64()),
    ],
)
def test_what_is_not_stored_is_refused_by_name(arrow: pa.DataType) -> None:
    with pytest.raises(ConfigError, match=r"the (column|map) 'column_x' has"):
        avro_schema_of(pa.schema([("column_x", arrow)]), "t")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.avro} {kind.logical}".strip())
def test_what_is_read_is_what_is_written_again(kind: Kind) -> None:
    assert kind.accepts(kind.read_as)
    assert arrow_type_of(kind.avro_type) == kind.read_as
