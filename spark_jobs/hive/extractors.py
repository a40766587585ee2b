"""From a partition's path to the values of its partition keys (Hudi: PartitionValueExtractor)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from urllib.parse import unquote

from spark_jobs.core.errors import ConfigError

Extractor = Callable[[str], tuple[str, ...]]
"""A relative partition path in, the values out; raises ConfigError where the path does not fit."""


def multi_part(path: str) -> tuple[str, ...]:
    """One value for each directory; ``key=`` is dropped (MultiPartKeysValueExtractor)."""
    return tuple(part.split("=", 1)[1] if "=" in part else part for part in path.split("/")) if path else ()


def hive_style(path: str) -> tuple[str, ...]:
    """The value of the only ``key=value`` (HiveStylePartitionValueExtractor)."""
    key, equals, value = path.partition("=")
    if not equals or not key or "/" in path:
        raise _does_not_fit(path, "key=value")
    return (value,)


def single_part(path: str) -> tuple[str, ...]:
    """The whole path as one value, directories joined by ``-`` (SinglePartPartitionValueExtractor)."""
    return (path.replace("/", "-"),)


def slash_encoded_day(path: str) -> tuple[str, ...]:
    """``2024/01/31``, or the same with keys, as ``2024-01-31`` (SlashEncodedDayPartitionValueExtractor)."""
    parts = _numbers(path, 3, "yyyy/mm/dd")
    try:
        return (date(*parts).isoformat(),)
    except ValueError:
        raise _does_not_fit(path, "yyyy/mm/dd") from None


def slash_encoded_hour(path: str) -> tuple[str, ...]:
    """``2024/01/31/23``, or the same with keys, as ``2024-01-31-23`` (SlashEncodedHourPartitionValueExtractor)."""
    parts = _numbers(path, 4, "yyyy/mm/dd/hh")
    try:
        year, month, day, hour = parts
        return (f"{datetime(year, month, day, hour):%Y-%m-%d-%H}",)
    except ValueError:
        raise _does_not_fit(path, "yyyy/mm/dd/hh") from None


def non_partitioned(path: str) -> tuple[str, ...]:
    """No value at all (NonPartitionedExtractor)."""
    return ()


_BY_CLASS: dict[str, Extractor] = {
    "MultiPartKeysValueExtractor": multi_part,
    "HiveStylePartitionValueExtractor": hive_style,
    "SinglePartPartitionValueExtractor": single_part,
    "SlashEncodedDayPartitionValueExtractor": slash_encoded_day,
    "SlashEncodedHourPartitionValueExtractor": slash_encoded_hour,
    "NonPartitionedExtractor": non_partitioned,
}


def extractor_named(name: str) -> Extractor:
    """The extractor of a Hudi class, with or without its package.

    :raises ConfigError: there is none of that name.
    """
    try:
        return _BY_CLASS[name.rsplit(".", 1)[-1]]
    except KeyError:
        raise ConfigError(
            f"hoodie.datasource.hive_sync.partition_extractor_class={name} is not known",
            todo="give one of " + ", ".join(_BY_CLASS),
            name=name,
        ) from None


def infer_extractor(partition_fields: tuple[str, ...], is_hive_style: bool) -> Extractor:
    """What Hudi chooses where no class is given (HoodieSyncConfig.META_SYNC_PARTITION_EXTRACTOR_CLASS)."""
    if not partition_fields:
        return non_partitioned
    if len(partition_fields) > 1:
        return multi_part
    return hive_style if is_hive_style else single_part


def unescape(value: str) -> str:
    """A value as it was before the key generator escaped it for a path (PartitionPathEncodeUtils.unescapePathName)."""
    return unquote(value)


def _numbers(path: str, count: int, form: str) -> list[int]:
    parts = [part.split("=", 1)[-1] for part in path.split("/")]
    if len(parts) != count or not all(re.fullmatch(r"\d+", part, re.ASCII) for part in parts):
        raise _does_not_fit(path, form)
    return [int(part) for part in parts]


def _does_not_fit(path: str, form: str) -> ConfigError:
    return ConfigError(
        f"partition {path!r} is not of the form {form}",
        todo="set hoodie.datasource.hive_sync.partition_extractor_class",
        path=path,
    )
