"""Orders along curves: values become bits that compare alike, and neighbours stay neighbours."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.config.keys.clustering import LayoutStrategy
from spark_jobs.core.errors import ConfigError
from spark_jobs.services.clustering.layout import POSITION, hilbert, interleave, ordered_bits, with_position

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-5, -1, 0, 7, None], pa.int32()),
        pa.array([False, True, None]),
        pa.array([float("-inf"), -1.5, -0.0, 1e-300, 2.5, float("inf"), None]),
        pa.array([Decimal("-1.50"), Decimal("0.00"), Decimal("2.25"), None]),
        pa.array(["", "a", "ab", "b", "é", None]),
        pa.array([b"", b"\0", b"\xff", None]).slice(1),
        pa.array([date(1969, 12, 31), date(1970, 1, 2), None]),
        pa.array([datetime(1969, 12, 31), datetime(2026, 1, 2), None], pa.timestamp("us", "UTC")),
        pa.array(["a", "b", None]).dictionary_encode(),
    ],
)
def test_bits_compare_as_the_values_do(column: pa.Array) -> None:
    bits = ordered_bits(column, "c").tolist()
    assert bits == sorted(set(bits))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2), st.lists(st.floats(allow_nan=False), min_size=2))
def test_any_numbers(whole: list[int], real: list[float]) -> None:
    for values, kind in ((whole, pa.int64()), (real, pa.float64())):
        bits = ordered_bits(pa.array(values, kind), "c").tolist()
        assert sorted(bits) == [bit for _, bit in sorted(zip(values, bits, strict=True))]


def test_the_bits_of_several_values_are_interleaved() -> None:
    values = [np.array([0b11, 1 << 63], np.uint64), np.array([0b01, 0], np.uint64)]
    found = [int.from_bytes(row.tobytes(), "big") for row in interleave(values)]
    assert found == [0b1011, 1 << 127]
    three = [np.array([1], np.uint64), np.array([0], np.uint64), np.array([3], np.uint64)]
    assert int.from_bytes(interleave(three)[0].tobytes(), "big") == 0b001_101


@pytest.mark.parametrize(("dimensions", "side"), [(2, 8), (3, 4)])
def test_the_hilbert_curve_goes_from_neighbour_to_neighbour(dimensions: int, side: int) -> None:
    points = np.array(list(product(range(side), repeat=dimensions)), np.uint64)
    shift = np.uint64(64 - (side - 1).bit_length())
    positions = hilbert([points[:, axis] << shift for axis in range(dimensions)])
    path = points[sorted(range(len(points)), key=lambda row: positions[row].tobytes())].astype(int)
    assert (np.abs(np.diff(path, axis=0)).sum(axis=1) == 1).all()


def test_a_batch_gets_its_positions() -> None:
    batch = pa.RecordBatch.from_pydict({"x": [3, 0, 0, None], "y": [0, 3, 0, 0]})
    for layout in (LayoutStrategy.ZORDER, LayoutStrategy.HILBERT):
        found = pa.Table.from_batches([with_position(batch, ["x", "y"], layout)]).sort_by(POSITION)
        assert found.column("x").to_pylist()[0] == 0
        assert found.column("x").to_pylist()[-1] is None
        assert found.num_rows == 4
    with pytest.raises(ConfigError, match=r"rows can't be laid out by column x, which is list"):
        with_position(pa.RecordBatch.from_pydict({"x": [[1]], "y": [1]}), ["x", "y"], LayoutStrategy.ZORDER)
