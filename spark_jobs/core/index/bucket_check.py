"""Whether a table has the number of buckets that a write was given: only its file ids and keys show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from spark_jobs.core.config.keys import index as keys
from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids, bucket_of
from spark_jobs.core.index.stored_keys import slice_keys
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.view.file_slice import FileSlice

_LARGEST_LOGS = 16 << 20
"""Logs are read whole for a key; larger ones than that are not read for the sake of this."""
_ENOUGH_KEYS = 32
"""By half of the buckets or twice as many, every other key is in the same one."""


def refuse_other_buckets(reader: SliceReader, slices: Iterable[FileSlice], settings: BucketSettings) -> None:
    """Look at the first keys of one file group, or of some more where it has few: those of the largest base files come
    first, then those of the smallest logs of slices without one.

    A smaller number of buckets than that of the settings would not be noticed otherwise, and records be written a
    second time, to other groups.

    :raises ConfigError: a key is in another bucket by the settings.
    """
    seen = 0
    for one in _witnesses(slices):
        stored: pa.Array[Any] | None = next(slice_keys(reader, one), None)
        bucket = bucket_of(one.file_id)
        if stored is None or bucket is None:
            continue
        others = stored.filter(pa.array(bucket_ids(stored, settings.fields, settings.buckets) != bucket))
        if len(others):
            raise ConfigError(
                f"{keys.BUCKETS.name} is {settings.buckets}, by which key {others[0].as_py()!r} is not in bucket "
                f"{bucket}, where file group {one.file_id} in partition {one.partition!r} has it",
                todo=f"give the {keys.BUCKETS.name} and {keys.BUCKET_FIELDS.name} that the table was written with",
                key=keys.BUCKETS.name,
                value=settings.buckets,
            )
        seen += len(stored)
        if seen >= _ENOUGH_KEYS:
            return


def _witnesses(slices: Iterable[FileSlice]) -> list[FileSlice]:
    """The slices to look at, without their logs where their base files will do."""
    held = list(slices)
    bases = [replace(one, log_files=()) for one in held if one.base_file is not None]
    logs = [one for one in held if one.base_file is None and one.log_size <= _LARGEST_LOGS]
    return sorted(bases, key=lambda one: -one.size) + sorted(logs, key=lambda one: one.size)


def numbers_by_bucket(slices: Mapping[int, FileSlice], buckets: int) -> dict[tuple[str, int], int]:
    """(partition, bucket) -> the caller's number of its slice.

    :raises CorruptTableError: a group that can't be of one of so many buckets, or two of one bucket.
    """
    found: dict[tuple[str, int], int] = {}
    for number, one in slices.items():
        bucket = bucket_of(one.file_id)
        if bucket is None or bucket >= buckets:
            raise CorruptTableError(
                f"file group {one.file_id} in partition {one.partition!r} is of none of {buckets} buckets",
                todo=f"give the {keys.INDEX_TYPE.name} and {keys.BUCKETS.name} that the table was written with",
                file_id=one.file_id,
            )
        other = found.setdefault((one.partition, bucket), number)
        if other != number:
            raise CorruptTableError(
                f"file groups {slices[other].file_id} and {one.file_id} in partition {one.partition!r} "
                f"are both of bucket {bucket}",
                todo="a bulk_insert without the bucket index made one of them: write their rows to a new table",
                bucket=bucket,
            )
    return found
