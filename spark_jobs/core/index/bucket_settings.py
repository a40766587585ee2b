"""How a table is cut into buckets, from the ``hoodie.*`` values of a write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.core.config.keys import index as keys
from spark_jobs.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketSettings:
    """``fields`` of the record key choose among ``buckets`` of each partition."""

    buckets: int
    fields: tuple[str, ...]

    @staticmethod
    def of(properties: Mapping[str, str], record_key_fields: Sequence[str]) -> BucketSettings:
        """
        :raises ConfigError: a field that is not in the record key, or another engine than the simple one.
        """
        keys.BUCKET_ENGINE.of(properties)
        fields = keys.BUCKET_FIELDS.of(properties) or tuple(record_key_fields)
        others = [name for name in fields if name not in record_key_fields]
        if others:
            raise ConfigError(
                f"{keys.BUCKET_FIELDS.name} names {others[0]}, which is no record key field",
                todo="choose among " + ", ".join(record_key_fields),
                key=keys.BUCKET_FIELDS.name,
                value=others[0],
            )
        return BucketSettings(buckets=keys.BUCKETS.of(properties), fields=fields)
