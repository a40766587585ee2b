"""Deletions as pieces of work for an engine."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.storage import RelativePath
from spark_jobs.engine.local import LocalEngine
from spark_jobs.engine.on_demand import LOCAL_BYTES, LOCAL_CALLS, SparkOnDemand
from spark_jobs.options.choices import EngineKind
from spark_jobs.services.deletions import PIECE, delete_by, in_pieces
from tests.support.folder import Folder

pytestmark = pytest.mark.unit


class Shipping(LocalEngine):
    """Hands work and items on as they come out of pickle."""

    def run_each(
        self, items: Any, work: Any, advance: Callable[[int], Any] = lambda steps: None, sizes: Any = None
    ) -> Any:
        items, work = pickle.loads(pickle.dumps((items, work)))
        assert sizes == [len(item) for item in items]
        return super().run_each(items, work, advance, sizes)


def test_each_is_told_in_order_and_counted(root: Folder) -> None:
    names = [RelativePath(f"{number}.log") for number in range(2 * PIECE + 10)]
    for name in names[::3]:
        (root / name).write_bytes(b"x")
    steps: list[int] = []
    pieces = in_pieces(names)
    assert [len(piece) for piece in pieces] == [PIECE, PIECE, 10]
    found = delete_by(Shipping(SYSTEM_CLOCK), root.storage, str(root), pieces, steps.append)
    assert found == [number % 3 == 0 for number in range(len(names))]
    assert not list(root.iterdir())
    assert (sum(steps), len(steps)) == (len(names), 3)


def test_nothing_to_delete(root: Folder) -> None:
    assert delete_by(LocalEngine(SYSTEM_CLOCK), root.storage, str(root), in_pieces([])) == []


@pytest.mark.parametrize(
    ("size", "calls", "name"),
    [
        (LOCAL_BYTES, LOCAL_CALLS, "local"),
        (LOCAL_BYTES + 1, 0, "spark"),
        (0, LOCAL_CALLS + 1, "spark"),
    ],
)
def test_auto_goes_by_bytes_and_by_calls(size: int, calls: int, name: str) -> None:
    with SparkOnDemand("test", kind=EngineKind.AUTO) as engine:
        assert engine.settle(size, calls) == name


def test_auto_goes_to_spark_when_more_comes_and_stays_there() -> None:
    with SparkOnDemand("test", kind=EngineKind.AUTO) as engine:
        assert [engine.settle(0, calls) for calls in (1, LOCAL_CALLS + 1, 1)] == ["local", "spark", "spark"]
    for kind in (EngineKind.LOCAL, EngineKind.SPARK):
        with SparkOnDemand("test", kind=kind) as engine:
            assert engine.settle(0, 1) == engine.settle(1 << 60, 1 << 30) == kind.value
