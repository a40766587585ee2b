"""Python's garbage collector out of the way while hundreds of thousands of values are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 100_000


@contextmanager
def collector_paused() -> Iterator[None]:
    """Values come and none goes: the collector would look through them all, again and again.

    Many values count as old at once: else the first allocation behind would look through all of them. Few do not, for
    then so would the garbage of the moment, which the collector hardly looks for among old objects: DataFrames of
    Spark stayed for good, and with them what they hold in the JVM. Where somebody keeps objects frozen
    (``gc.freeze``), it does so all the same.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_count()[0] >= _MANY and gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
