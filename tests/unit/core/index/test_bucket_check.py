"""Which file group is of which bucket."""

from __future__ import annotations

import pytest

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.index.bucket_check import numbers_by_bucket
from tests.unit.core.support import file_slice

pytestmark = pytest.mark.unit

OF_BUCKET = "0000000{}-4610-8bcd-f1b2-416c0178aaaa-0"


def test_the_groups_of_buckets() -> None:
    slices = {7: file_slice(OF_BUCKET.format(3), "1", 5), 9: file_slice(OF_BUCKET.format(3), "1", 5, partition="b")}
    assert numbers_by_bucket(slices, 4) == {("a", 3): 7, ("b", 3): 9}


def test_groups_that_are_no_buckets_are_refused() -> None:
    with pytest.raises(CorruptTableError, match="is of none of 3 buckets"):
        numbers_by_bucket({0: file_slice(OF_BUCKET.format(3), "1", 5)}, 3)
    with pytest.raises(CorruptTableError, match="is of none of 4 buckets"):
        numbers_by_bucket({0: file_slice("f", "1", 5)}, 4)
    twins = {0: file_slice(OF_BUCKET.format(1), "1", 5), 1: file_slice(OF_BUCKET.format(1) + "0", "1", 5)}
    with pytest.raises(CorruptTableError, match="are both of bucket 1"):
        numbers_by_bucket(twins, 4)
