"""What Spark does not say of JSON: whether a text ends where the value ends that it read."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

_FLAT = r"^\s*\{[^{}]*\}\s*$"
"""An object that surely ends with its text: most are such, and need no second parser."""


def is_one_value(text: Column, options: Mapping[str, str]) -> Column:
    """Whether a text is one JSON value and nothing behind it, of which Spark would read the first and no more.

    The text is read as the head of an array whose last element no text can bring along.

    :param options: of Spark's ``from_json``.
    :returns: false for what is no JSON at all, null for null.
    """
    last = F.concat(F.lit("end of "), F.xxhash64(text).cast("string"))
    whole = F.concat(F.lit("["), text, F.lit('\n,"'), last, F.lit('"]'))
    parts = F.from_json(whole, "array<string>", {**options, "mode": "PERMISSIVE"})
    ends = (F.size(parts) == 2) & (F.try_element_at(parts, F.lit(2)) == last)
    return text.rlike(_FLAT) | F.coalesce(ends, F.lit(False))
