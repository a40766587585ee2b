"""Partition values from times (Hudi: TimestampBasedAvroKeyGenerator, HoodieDateTimeParser)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys import keygen as keys
from spark_jobs.core.errors import BadRecordError, ConfigError
from spark_jobs.core.keygen.java_text import cut, whole_millis
from spark_jobs.core.keygen.joda_format import DateFormat
from spark_jobs.core.keygen.joda_parse import NO_OFFSET, DatePatterns
from spark_jobs.core.keygen.zones import UTC, Zone, local_zone, zone_of

Numbers = npt.NDArray[np.int64]


class TimestampType(StrEnum):
    UNIX_TIMESTAMP = "UNIX_TIMESTAMP"
    DATE_STRING = "DATE_STRING"
    MIXED = "MIXED"
    EPOCHMILLISECONDS = "EPOCHMILLISECONDS"
    SCALAR = "SCALAR"


_IN_MILLIS = {
    "SECONDS": 1000,
    "MINUTES": 60_000,
    "HOURS": 3_600_000,
    "DAYS": 86_400_000,
    "MILLISECONDS": 1,
}
_OF_MILLI = {"MICROSECONDS": 1000, "NANOSECONDS": 1_000_000}
_UNIT_OF = {
    TimestampType.UNIX_TIMESTAMP: "SECONDS",
    TimestampType.EPOCHMILLISECONDS: "MILLISECONDS",
}
_LONG = np.iinfo(np.int64)


@dataclass(frozen=True)
class TimestampRule:
    """How the values of one table's time columns become partition values; compiled once, pickles.

    ``unit`` is a Java TimeUnit, "" where values are text; zones are None where nobody chose one.
    """

    kind: TimestampType
    unit: str
    inputs: tuple[str, ...]
    output: str
    input_zone: Zone | None
    output_zone: Zone | None

    @staticmethod
    def of(properties: Mapping[str, str]) -> TimestampRule:
        """
        :raises ConfigError: a key is missing or invalid, or a pattern can't be translated.
        """
        parser = keys.PARSER_CLASS.of(properties)
        if parser != keys.PARSER_CLASS.default:
            raise ConfigError(
                f"{keys.PARSER_CLASS.name}={parser} is not supported",
                todo="leave it out: this release has Hudi's own parser alone",
                key=keys.PARSER_CLASS.name,
            )
        kind = keys.TIMESTAMP_TYPE.of(properties)
        if not kind:
            raise ConfigError(
                "a time-based key generator needs a timestamp type",
                todo=f"give {keys.TIMESTAMP_TYPE.name}, one of " + ", ".join(TimestampType),
                key=keys.TIMESTAMP_TYPE.name,
            )
        if kind not in list(TimestampType):
            raise ConfigError(
                f"{keys.TIMESTAMP_TYPE.name}={kind} is not valid",
                todo="give one of " + ", ".join(TimestampType),
                key=keys.TIMESTAMP_TYPE.name,
                value=kind,
            )
        output = keys.OUTPUT_FORMAT.of(properties)
        if not output:
            raise ConfigError(
                "a time-based key generator needs an output pattern",
                todo=f"give {keys.OUTPUT_FORMAT.name}, such as yyyy/MM/dd",
                key=keys.OUTPUT_FORMAT.name,
            )
        both = keys.ZONE.of(properties).strip()
        rule = TimestampRule(
            kind=TimestampType(kind),
            unit=_unit(TimestampType(kind), properties),
            inputs=_inputs(TimestampType(kind), properties),
            output=output,
            input_zone=_zone(both or keys.INPUT_ZONE.of(properties)),
            output_zone=_zone(both or keys.OUTPUT_ZONE.of(properties)),
        )
        rule._format, rule._patterns  # noqa: B018  (refuses what can't be translated now, not in a task)
        return rule

    def values(self, column: pa.Array, name: str) -> pa.Array:
        """Partition values, none of them null: a null in ``column`` counts as the first unit or millisecond of 1970.

        :param column: strings, numbers, dates or timestamps (which say themselves what they count).
        :param name: of the column, for messages.
        :raises BadRecordError: text that is no date of the input patterns, or a column of another type.
        """
        if column.null_count == len(column):
            return self._of_nothing(len(column), name)
        if pa.types.is_string(column.type):
            return self._of_text(column, name)
        if not column.null_count:
            return self._of_numbers(column, name)
        valid = self._of_numbers(column.drop_null(), name)
        both = pa.concat_arrays([valid, self._of_nothing(1, name)])
        present = np.asarray(pc.is_valid(column))
        index = np.where(present, np.cumsum(present) - 1, len(valid))
        return both.take(pa.array(index))

    @property
    def names_its_zones(self) -> bool:
        """Whether the zone of the machine has no part in the values."""
        return self.output_zone is not None and (bool(self.unit) or self.input_zone is not None)

    def of_instants(self, utc_millis: Numbers) -> pa.Array:
        """Partition values of instants."""
        offsets = (self.output_zone or local_zone()).offsets_at(utc_millis)
        return self._format.format(utc_millis + offsets, offsets)

    @cached_property
    def _format(self) -> DateFormat:
        return DateFormat.of(self.output, keys.OUTPUT_FORMAT.name)

    @cached_property
    def _patterns(self) -> DatePatterns:
        return DatePatterns.of(tuple(one.strip() for one in self.inputs), keys.INPUT_FORMATS.name)

    def _of_nothing(self, count: int, name: str) -> pa.Array:
        """``count`` times the value of null."""
        if self.unit:
            one = self.of_instants(self._in_millis(np.ones(1, np.int64)))
        else:
            one = self._of_text(pa.array([self._text_of_nothing()]), name)
        return one.take(pa.array(np.zeros(count, np.int64)))

    def _text_of_nothing(self) -> str:
        zone = self.input_zone or self.output_zone or UTC
        offsets = zone.offsets_at(np.ones(1, np.int64))
        first = DateFormat.of(self.inputs[0], keys.INPUT_FORMATS.name)
        return str(first.format(offsets + 1, offsets)[0].as_py())

    def _of_text(self, column: pa.Array, name: str) -> pa.Array:
        if self.unit:
            raise BadRecordError(
                f"column {name} is text, and {keys.TIMESTAMP_TYPE.name} is {self.kind}",
                todo=f"use {TimestampType.DATE_STRING} and give {keys.INPUT_FORMATS.name}",
                column=name,
            )
        filled = column.fill_null(self._text_of_nothing()) if column.null_count else column
        codes = filled.dictionary_encode()
        parsed = self._patterns.parse(codes.dictionary.cast(pa.string()), name)
        zone = self.input_zone or local_zone()
        named = parsed.offsets != NO_OFFSET
        if named.all():
            utc = parsed.local - parsed.offsets
        else:
            utc = np.where(named, parsed.local - parsed.offsets, zone.to_utc(parsed.local))
        if self.output_zone is not None:
            texts = self.of_instants(utc)
        else:
            offsets = zone.offsets_at(utc)
            if self.input_zone is None:
                offsets = np.where(named, parsed.offsets, offsets)
            texts = self._format.format(utc + offsets, offsets)
        return pa.DictionaryArray.from_arrays(codes.indices, texts).cast(pa.string())

    def _of_numbers(self, column: pa.Array, name: str) -> pa.Array:
        if pa.types.is_timestamp(column.type):
            return self.of_instants(whole_millis(column))
        numbers = _longs(column, name)
        if not self.unit:
            raise BadRecordError(
                f"column {name} is {column.type}, and {keys.TIMESTAMP_TYPE.name} is {self.kind}, which reads text",
                todo="use one of " + ", ".join(one for one in TimestampType if one not in ("DATE_STRING", "MIXED")),
                column=name,
            )
        return self.of_instants(self._in_millis(numbers))

    def _in_millis(self, numbers: Numbers) -> Numbers:
        """As TimeUnit.convert does it: cut towards zero, and the nearest long where the result is none."""
        if self.unit in _OF_MILLI:
            return cut(numbers, _OF_MILLI[self.unit])
        factor = _IN_MILLIS[self.unit]
        limit = _LONG.max // factor
        scaled = np.clip(numbers, -limit, limit) * factor
        return np.where(numbers > limit, _LONG.max, np.where(numbers < -limit, _LONG.min, scaled))


def _longs(column: pa.Array, name: str) -> Numbers:
    """The column, which has no nulls, as Java's longValue."""
    kind = column.type
    if pa.types.is_integer(kind):
        return np.asarray(column).astype(np.int64)
    if pa.types.is_date32(kind):
        return np.asarray(column.cast(pa.int32())).astype(np.int64)
    if pa.types.is_decimal(kind):
        whole = [int(value) for value in column.to_pylist()]
        outside = next((number for number in whole if not _LONG.min <= number <= _LONG.max), None)
        if outside is not None:
            raise BadRecordError(
                f"{outside} in column {name} is no time: it has more than 64 bits",
                todo="correct it in the source",
                column=name,
            )
        return np.array(whole, np.int64)
    if pa.types.is_floating(kind):
        values = np.nan_to_num(np.asarray(column).astype(np.float64), nan=0.0)
        inside = np.clip(np.trunc(values), -9.2e18, 9.2e18).astype(np.int64)
        return np.where(values >= 2.0**63, _LONG.max, np.where(values < -(2.0**63), _LONG.min, inside))
    raise BadRecordError(
        f"column {name} is {kind}, which is no time for a partition path",
        todo="use text, a number, a date or a timestamp",
        column=name,
    )


def _unit(kind: TimestampType, properties: Mapping[str, str]) -> str:
    if kind is TimestampType.SCALAR:
        unit = keys.SCALAR_UNIT.of(properties).upper()
        if unit not in _IN_MILLIS and unit not in _OF_MILLI:
            raise ConfigError(
                f"{keys.SCALAR_UNIT.name}={unit} is not valid",
                todo="give one of " + ", ".join([*_IN_MILLIS, *_OF_MILLI]),
                key=keys.SCALAR_UNIT.name,
                value=unit,
            )
        return unit
    return _UNIT_OF.get(kind, "")


def _inputs(kind: TimestampType, properties: Mapping[str, str]) -> tuple[str, ...]:
    """The input patterns as the list has them, blanks and all; none where values are numbers."""
    if kind not in (TimestampType.DATE_STRING, TimestampType.MIXED):
        return ()
    listed = keys.INPUT_FORMATS.of(properties)
    if not listed.strip():
        raise ConfigError(
            f"{keys.TIMESTAMP_TYPE.name}={kind} needs input patterns",
            todo=f"give {keys.INPUT_FORMATS.name}, such as yyyy-MM-dd",
            key=keys.INPUT_FORMATS.name,
        )
    delimiter = keys.DELIMITER.of(properties).strip() or ","
    try:
        found = re.split(delimiter, listed)
    except re.error as error:
        raise ConfigError(
            f"{keys.DELIMITER.name}={delimiter} is no regular expression ({error})", key=keys.DELIMITER.name
        ) from error
    return tuple(one for one in found if one.strip())


def _zone(text: str) -> Zone | None:
    return zone_of(text) if text.strip() else None
