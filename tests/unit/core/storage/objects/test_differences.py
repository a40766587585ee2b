"""What is asked of each kind of store where they differ."""

from __future__ import annotations

import pytest
from obstore.store import GCSStore, ObjectStore, S3Store

from spark_jobs.core.storage.objects.differences import mode_over
from spark_jobs.core.storage.protocol import NO_VERSION

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("store", [S3Store("b", skip_signature=True), GCSStore("b", skip_signature=True)])
def test_a_put_over_a_version_that_no_object_has_is_asked_of_the_store(store: ObjectStore) -> None:
    """Which is how a store shows that it takes notice of conditions."""
    mode = mode_over(store, "k", NO_VERSION)
    assert mode in ({"e_tag": '"0"'}, {"version": str((1 << 63) - 1)})
