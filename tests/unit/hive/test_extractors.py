"""Partition values by literal tables."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import ConfigError
from spark_jobs.hive import extractors

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "path", "values"),
    [
        ("MultiPartKeysValueExtractor", "a/b=c/d", ("a", "c", "d")),
        ("MultiPartKeysValueExtractor", "k=x=y", ("x=y",)),
        ("MultiPartKeysValueExtractor", "", ()),
        ("org.apache.hudi.hive.HiveStylePartitionValueExtractor", "month=1", ("1",)),
        ("HiveStylePartitionValueExtractor", "day=a%2Fb", ("a%2Fb",)),
        ("SinglePartPartitionValueExtractor", "2024/01/02", ("2024-01-02",)),
        ("SlashEncodedDayPartitionValueExtractor", "2024/1/02", ("2024-01-02",)),
        ("SlashEncodedDayPartitionValueExtractor", "year=2024/month=01/day=02", ("2024-01-02",)),
        ("SlashEncodedHourPartitionValueExtractor", "2024/01/02/7", ("2024-01-02-07",)),
        ("NonPartitionedExtractor", "", ()),
    ],
)
def test_values(name: str, path: str, values: tuple[str, ...]) -> None:
    assert extractors.extractor_named(name)(path) == values


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("HiveStylePartitionValueExtractor", "1"),
        ("HiveStylePartitionValueExtractor", "a=1/b=2"),
        ("SlashEncodedDayPartitionValueExtractor", "2024/13/01"),
        ("SlashEncodedDayPartitionValueExtractor", "2024/01"),
        ("SlashEncodedDayPartitionValueExtractor", "a/b/c"),
        ("SlashEncodedHourPartitionValueExtractor", "2024/01/01/24"),
    ],
)
def test_paths_that_do_not_fit_are_named(name: str, path: str) -> None:
    with pytest.raises(ConfigError, match=f"partition '{path}' is not of the form .*partition_extractor_class"):
        extractors.extractor_named(name)(path)


def test_unknown_extractor_is_named() -> None:
    with pytest.raises(ConfigError, match=r"com\.acme\.Mine is not known: give one of Multi"):
        extractors.extractor_named("com.acme.Mine")


def test_inference() -> None:
    assert extractors.infer_extractor((), False) is extractors.non_partitioned
    assert extractors.infer_extractor(("a",), True) is extractors.hive_style
    assert extractors.infer_extractor(("a",), False) is extractors.single_part
    assert extractors.infer_extractor(("a", "b"), True) is extractors.multi_part


def test_unescape() -> None:
    assert extractors.unescape("a%2Fb %25") == "a/b %"
