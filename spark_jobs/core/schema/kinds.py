"""The types of columns, each with its name in Avro, Arrow, Spark and Hive: the one place that maps them.

Everything that has no parameters stands in :data:`KINDS`; decimals, fixed bytes, enums, lists, maps and structs are put
together by :mod:`spark_jobs.core.schema.avro` and by sync. ``docs/types.md`` shows the same table, and a test compares
them. Sources: ``org.apache.spark.sql.avro.SchemaConverters`` (Spark), ``HiveSchemaUtil`` (Hive).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One type without parameters.

    ``avro`` is Avro's primitive and ``logical`` its logical type (empty: none). ``read_as`` is the Arrow type that
    readers give; ``accepts`` tells which Arrow types a writer stores so, ``accepted`` names them for people. ``hive``
    is the type without, ``hive_timestamp`` with ``hoodie.datasource.hive_sync.support_timestamp``.
    """

    avro: str
    logical: str
    read_as: pa.DataType
    accepts: Callable[[pa.DataType], bool]
    accepted: str
    spark: str
    hive: str
    hive_timestamp: str = ""

    @property
    def avro_type(self) -> str | dict[str, str]:
        return {"type": self.avro, "logicalType": self.logical} if self.logical else self.avro


def _timestamp(units: tuple[str, ...], *, zone: bool) -> Callable[[pa.DataType], bool]:
    return lambda kind: isinstance(kind, pa.TimestampType) and kind.unit in units and (kind.tz is not None) == zone


def _named(*names: str) -> Callable[[pa.DataType], bool]:
    return lambda kind: str(kind) in names


KINDS: tuple[Kind, ...] = (
    Kind(
        avro="boolean",
        logical="",
        read_as=pa.bool_(),
        accepts=pa.types.is_boolean,
        accepted="bool",
        spark="boolean",
        hive="boolean",
    ),
    Kind(
        avro="int",
        logical="",
        read_as=pa.int32(),
        accepts=_named("int8", "uint8", "int16", "uint16", "int32"),
        accepted="int8, uint8, int16, uint16, int32",
        spark="integer",
        hive="int",
    ),
    Kind(
        avro="long",
        logical="",
        read_as=pa.int64(),
        accepts=_named("int64", "uint32"),
        accepted="int64, uint32",
        spark="long",
        hive="bigint",
    ),
    Kind(
        avro="float",
        logical="",
        read_as=pa.float32(),
        accepts=_named("float", "halffloat"),
        accepted="float32, float16",
        spark="float",
        hive="float",
    ),
    Kind(
        avro="double",
        logical="",
        read_as=pa.float64(),
        accepts=pa.types.is_float64,
        accepted="float64",
        spark="double",
        hive="double",
    ),
    Kind(
        avro="string",
        logical="",
        read_as=pa.string(),
        accepts=_named("string", "large_string", "string_view"),
        accepted="string, large_string, string_view",
        spark="string",
        hive="string",
    ),
    Kind(
        avro="bytes",
        logical="",
        read_as=pa.binary(),
        accepts=lambda kind: (
            _named("binary", "large_binary", "binary_view")(kind) or pa.types.is_fixed_size_binary(kind)
        ),
        accepted="binary, large_binary, binary_view, fixed_size_binary",
        spark="binary",
        hive="binary",
    ),
    Kind(
        avro="int",
        logical="date",
        read_as=pa.date32(),
        accepts=pa.types.is_date,
        accepted="date32, date64",
        spark="date",
        hive="date",
    ),
    Kind(
        avro="int",
        logical="time-millis",
        read_as=pa.time32("ms"),
        accepts=pa.types.is_time32,
        accepted="time32",
        spark="integer",
        hive="int",
    ),
    Kind(
        avro="long",
        logical="time-micros",
        read_as=pa.time64("us"),
        accepts=pa.types.is_time64,
        accepted="time64",
        spark="long",
        hive="bigint",
    ),
    Kind(
        avro="long",
        logical="timestamp-millis",
        read_as=pa.timestamp("ms", tz="UTC"),
        accepts=_timestamp(("s", "ms"), zone=True),
        accepted="timestamp[s or ms] with a zone",
        spark="timestamp",
        hive="bigint",
        hive_timestamp="timestamp",
    ),
    Kind(
        avro="long",
        logical="timestamp-micros",
        read_as=pa.timestamp("us", tz="UTC"),
        accepts=_timestamp(("us", "ns"), zone=True),
        accepted="timestamp[us or ns] with a zone",
        spark="timestamp",
        hive="bigint",
        hive_timestamp="timestamp",
    ),
    Kind(
        avro="long",
        logical="local-timestamp-millis",
        read_as=pa.timestamp("ms"),
        accepts=_timestamp(("s", "ms"), zone=False),
        accepted="timestamp[s or ms] without a zone",
        spark="timestamp",
        hive="bigint",
        hive_timestamp="timestamp",
    ),
    Kind(
        avro="long",
        logical="local-timestamp-micros",
        read_as=pa.timestamp("us"),
        accepts=_timestamp(("us", "ns"), zone=False),
        accepted="timestamp[us or ns] without a zone",
        spark="timestamp",
        hive="bigint",
        hive_timestamp="timestamp",
    ),
)

_BY_AVRO: Mapping[tuple[str, str], Kind] = {(kind.avro, kind.logical): kind for kind in KINDS}

PRIMITIVES = frozenset({"null", *(kind.avro for kind in KINDS)})
"""Avro's types without a definition of their own."""


def kind_of_avro(avro: str, logical: str | None) -> Kind | None:
    """The kind of a primitive; a logical type that is not known counts as none (Avro specification)."""
    return _BY_AVRO.get((avro, logical or "")) or _BY_AVRO.get((avro, ""))


def kind_of_arrow(arrow: pa.DataType) -> Kind | None:
    """The kind that a writer stores an Arrow type as; None where it has parameters, or is not stored at all."""
    return next((kind for kind in KINDS if kind.accepts(arrow)), None)
