"""The rows of the merge benchmark: LHBench's table of numbers, and a fact table skewed as Zipf has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

KEY: Final = "key"
ROUND: Final = "round"
"""0 in the base rows, then the number of the round that wrote a row; it orders them."""
DAY: Final = "day"
DAYS: Final = 40
PRODUCTS: Final = 10_000
MERGED: Final = 0.01
UPDATED: Final = 0.25
SEED: Final = 20230108

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Base rows and a batch for each round, as Parquet files; how many rows there are in the end, and the sum of their
    rounds.
    """

    name: str
    options: Mapping[str, str]
    base: Path
    batches: tuple[Path, ...]
    end_rows: int
    end_rounds: int
    columns: tuple[str, ...]


def lhbench(rows: int, rounds: int, folder: Path) -> Workload:
    """Merges of 1% of the rows, half of them of keys that the table has; no partitions.

    A row is ``key, key*7.1+13.4, cast(key*91 as string), key%1000``, as in the merge benchmark of LHBench (Jain and
    others, "Analyzing and Comparing Lakehouse Storage Systems", CIDR 2023), and its round.
    """
    random = np.random.default_rng(SEED)
    half = max(1, round(rows * MERGED / 2))
    newest = np.zeros(rows + rounds * half, np.int64)
    batches = []
    base = _saved(_numbers(np.arange(rows), 0), folder / "base.parquet")
    for number in range(1, rounds + 1):
        known = rows + (number - 1) * half
        old = random.choice(known, min(half, known), replace=False)
        keys = random.permutation(np.concatenate([old, np.arange(known, known + half)]))
        newest[keys] = number
        batches.append(_saved(_numbers(keys, number), folder / f"{number}.parquet"))
    return Workload(
        name="lhbench",
        options={
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        },
        base=base,
        batches=tuple(batches),
        end_rows=len(newest),
        end_rounds=int(newest.sum()),
        columns=tuple(_numbers(np.zeros(0, np.int64), 0).column_names),
    )


def fact(rows: int, rounds: int, folder: Path) -> Workload:
    """Updates of 25% of the rows of the newest quarter of 40 days.

    The n-th newest day has 1/n as many rows as the newest, the n-th product is sold 1/n as often as the first.
    """
    random = np.random.default_rng(SEED + 1)
    day = np.sort(DAYS - 1 - _zipf(random, DAYS, rows))  # the newest day, the last one, has most
    product = _zipf(random, PRODUCTS, rows)
    recent = np.flatnonzero(day >= DAYS - DAYS // 4)
    newest = np.zeros(rows, np.int64)
    batches = []
    base = _saved(_sales(np.arange(rows), day, product, 0), folder / "base.parquet")
    for number in range(1, rounds + 1):
        keys = random.permutation(random.choice(recent, round(len(recent) * UPDATED), replace=False))
        newest[keys] = number
        batches.append(_saved(_sales(keys, day, product, number), folder / f"{number}.parquet"))
    return Workload(
        name="fact",
        options={"hoodie.datasource.write.partitionpath.field": DAY},
        base=base,
        batches=tuple(batches),
        end_rows=rows,
        end_rounds=int(newest.sum()),
        columns=tuple(_sales(np.zeros(0, np.int64), day, product, 0).column_names),
    )


WORKLOADS: Final = {"lhbench": lhbench, "fact": fact}


def _numbers(keys: Numbers, number: int) -> pa.Table:
    return pa.table(
        {
            KEY: keys,
            "value": keys * 7.1 + 13.4,
            "text": pc.cast(pa.array(keys * 91), pa.string()),
            "part": keys % 1000,
            ROUND: np.full(len(keys), number),
        }
    )


def _sales(keys: Numbers, day: Numbers, product: Numbers, number: int) -> pa.Table:
    """The sales of these keys; quantity and amount are other ones in each round."""
    names = pa.array([f"day-{one:03d}" for one in range(DAYS)])
    drawn = np.random.default_rng([SEED, number])
    quantity = drawn.integers(1, 20, len(keys))
    return pa.table(
        {
            KEY: keys,
            DAY: names.take(pa.array(day[keys])),
            "product": product[keys],
            "customer": keys * 7919 % 100_003,
            "quantity": quantity,
            "amount": np.round(quantity * drawn.random(len(keys)) * 100, 2),
            "note": pc.binary_join_element_wise(
                pa.scalar(f"sold in round {number}"), pc.cast(pa.array(keys * 31 % 9973), pa.string()), " "
            ),
            ROUND: np.full(len(keys), number),
        }
    )


def _zipf(random: np.random.Generator, values: int, count: int) -> Numbers:
    """Numbers below ``values``, the n-th of them 1/n as often as the first."""
    weights = 1 / np.arange(1, values + 1)
    return random.choice(values, count, p=weights / weights.sum())


def _saved(rows: pa.Table, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, path, row_group_size=max(1, rows.num_rows // 4 + 1), compression="zstd")
    return path
