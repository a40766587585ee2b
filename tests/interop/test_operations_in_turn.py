"""Every operation by us and by real Hudi on one table, in turn, for each table type and index, beside a plain model.

CI takes a few of the tables; ``make operations-in-turn`` takes all of them, each begun by either side
(``PYHUDI_ALL_INDEXES=1``, a quarter of an hour).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.interop.indexed import InTurn
from tests.interop.real_hudi import RealHudi
from tests.spark.tables import COW, MOR, SMALL, Row, SparkJobs, row

pytestmark = [pytest.mark.interop, pytest.mark.timeout(900)]

INDEXES: dict[str, dict[str, str]] = {
    "SIMPLE": {},
    "BLOOM": {},
    "BUCKET": {"hoodie.bucket.index.num.buckets": "3"},
    "GLOBAL_SIMPLE": {},
    "GLOBAL_BLOOM": {},
    "RECORD_INDEX": {
        "hoodie.metadata.record.index.enable": "true",
        "hoodie.record.index.update.partition.path": "true",
    },
}
IN_CI = (("COPY_ON_WRITE", "GLOBAL_SIMPLE", "ours"), ("MERGE_ON_READ", "RECORD_INDEX", "hudi"))
CASES = (
    [(kind, index, first) for kind in (COW, MOR) for index in INDEXES for first in ("ours", "hudi")]
    if os.environ.get("PYHUDI_ALL_INDEXES")
    else list(IN_CI)
)
OPERATIONS = (
    *("bulk_insert", "upsert", "insert", "delete", "upsert", "insert_overwrite"),
    *("upsert", "delete_partition", "insert", "upsert", "insert_overwrite_table", "delete", "upsert"),
)
PARTITIONS = "abc"
TO_DELETE = "hoodie.datasource.write.partitions.to.delete"


@dataclass(kw_only=True)
class Operations(InTurn):
    """Batches by chance for each operation, and what an overwrite leaves of the model."""

    chance: Random
    new_keys: count[int] = field(default_factory=lambda: count(1000))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.is_global = self.conf["hoodie.index.type"] not in ("SIMPLE", "BLOOM", "BUCKET")

    def batch(self, op: str, ts: int) -> list[Row]:
        """Keys of the table, some in other partitions, and a new one; new ones alone for what looks no keys up."""
        if op == "insert_overwrite":  # which looks no key up: one of a partition that stays would be there twice
            places = self.chance.sample(PARTITIONS, 2)
            keys = sorted({key for (_, key), (at, _) in self.model.items() if at in places})[:6]
            at = {key: self.chance.choice(places) for key in keys} | {next(self.new_keys): one for one in places}
            return [row(key, partition, f"{op} {ts}", ts) for key, partition in at.items()]
        if op in ("bulk_insert", "insert"):
            keys = [next(self.new_keys) for _ in range(self.chance.randint(3, 8))]
        else:
            known = [key for _, key in self.model]
            chosen = [*self.chance.sample(known, min(len(known), 6)), next(self.new_keys)]
            keys = sorted(set(chosen))
        return [row(key, self._partition(key, op), f"{op} {ts}", ts) for key in keys]

    def _partition(self, key: int, op: str) -> str:
        at = next((at for (_, one), (at, _) in self.model.items() if one == key), None)
        stays = at is not None and (op == "delete" or self.chance.random() < 0.6)
        return at if stays and at is not None else self.chance.choice(PARTITIONS)

    def does(self, side: str, op: str, ts: int) -> None:
        batch = self.batch(op, ts)
        conf = {**self.conf}
        if op == "delete_partition":
            conf[TO_DELETE] = batch[0]["p"]
        self._replace(op, {conf[TO_DELETE]} if op == "delete_partition" else {one["p"] for one in batch})
        if side == "ours":
            self.jobs.write(op, batch, hoodie_conf=tuple({**SMALL, **conf}.items()))
        else:
            self.by_hudi(op, batch, conf)
        self._expect(op, [] if op == "delete_partition" else batch, f"after {side} {op}")

    def _replace(self, op: str, partitions: set[str]) -> None:
        if op == "insert_overwrite_table":
            self.model.clear()
        elif op in ("insert_overwrite", "delete_partition"):
            self.model = {scope: (at, one) for scope, (at, one) in self.model.items() if at not in partitions}


@pytest.mark.parametrize(("table_type", "index", "first"), CASES)
def test_every_operation_in_turn(
    spark: SparkSession, real_hudi: RealHudi, tmp_path: Path, table_type: str, index: str, first: str
) -> None:
    """Invariants 2 and 13."""
    conf = {"hoodie.index.type": index, **INDEXES[index]}
    jobs = SparkJobs(spark=spark, path=tmp_path / "t", table_type=table_type, conf=conf)
    both = Operations(jobs=jobs, hudi=real_hudi, conf=conf, chance=Random(f"{table_type} {index} {first}"))
    sides = ("ours", "hudi") if first == "ours" else ("hudi", "ours")
    for number, op in enumerate(OPERATIONS):
        both.does(sides[number % 2], op, number + 1)
