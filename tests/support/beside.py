"""Writers at the same time, in one process and a known order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from spark_jobs.core.transaction.transaction import Transaction


def before_it_publishes(work: Callable[[], object]) -> Any:
    """Another process's work, right before each publication but its own."""
    publish = Transaction.publish

    def after_another(self: Transaction, *arguments: Any, **named: Any) -> Any:
        with patch.object(Transaction, "publish", publish):
            work()
        return publish(self, *arguments, **named)

    return patch.object(Transaction, "publish", after_another)


def at_the_same_time(writes: Sequence[Callable[[], object]]) -> None:
    """Each begins when the one before it has made its files; the last is published first."""
    if writes:
        with before_it_publishes(lambda: at_the_same_time(writes[1:])):
            writes[0]()
