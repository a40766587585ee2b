"""Which put made an object, by its metadata: so one whose answer was lost is known again."""

from __future__ import annotations

from typing import Final

import obstore
from obstore.store import ObjectStore

from spark_jobs.core.storage.objects.failure import MISSING

PUT_ID: Final = "pyhudiput"


def put_id_of(store: ObjectStore, key: str) -> str | None:
    """None where there is no such object, or another client put it."""
    try:
        return obstore.get(store, key, options={"head": True}).attributes.get(PUT_ID)
    except MISSING:
        return None
