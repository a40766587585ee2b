"""A table of each index that Hudi and we write in turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tests.interop.real_hudi import RealHudi
from tests.spark.tables import MOR, SCHEMA, Row, SparkJobs, shown

EVENT_TIME = {"hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.DefaultHoodieRecordPayload"}


@dataclass(kw_only=True)
class InTurn:
    """One table of both, and what it has to hold: by scope and key, the partition where the record is, and the record.

    ``scope`` is what tells records of one key apart: their partition, or nothing for a global index.
    """

    jobs: SparkJobs
    hudi: RealHudi
    conf: Mapping[str, str]
    moves: bool = True

    def __post_init__(self) -> None:
        self.model: dict[tuple[str, int], tuple[str, Row]] = {}
        self.gone: dict[tuple[str, int], str] = {}  # where base files still have keys whose records logs removed
        self.is_global = self.conf["hoodie.index.type"].startswith("GLOBAL")

    def ours(self, op: str, batch: list[Row]) -> None:
        self.jobs.write(op, batch)
        self._expect(op, batch, f"after our {op}")

    def hudis(self, op: str, batch: list[Row]) -> None:
        self.by_hudi(op, batch, self.conf)
        self._expect(op, batch, f"after Hudi's {op}")

    def by_hudi(self, op: str, batch: list[Row], conf: Mapping[str, str]) -> None:
        options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": self.jobs.table_type,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p",
            "hoodie.datasource.write.precombine.field": "ts",
            **conf,
        }
        self.hudi.write(self.jobs.path, pa.Table.from_pylist(batch, schema=SCHEMA), op, options)

    def _expect(self, op: str, batch: list[Row], when: str) -> None:
        for one in batch:
            self._apply(op, one)
        wanted = sorted((key, at, one["v"], one["ts"]) for (_, key), (at, one) in self.model.items())
        assert places(self.jobs.table().scan().to_arrow()) == wanted, f"we, {when}"
        # Hudi reads the partition column of a COPY_ON_WRITE table from the path, where it may be another than stored
        assert places(self.hudi.read(self.jobs.path)) == wanted, f"Hudi, {when}"
        assert self.jobs.rows() == shown(one for _, one in self.model.values()), f"we, {when}"

    def _apply(self, op: str, one: Row) -> None:
        scope = ("" if self.is_global else one["p"], one["id"])
        stored = self.model.get(scope)
        if stored is not None and EVENT_TIME.items() <= self.conf.items() and stored[1]["ts"] > one["ts"]:
            return
        if op == "delete" or one["_hoodie_is_deleted"]:
            if stored is not None:
                self.model.pop(scope)
                self.gone[scope] = stored[0]
            return
        known = self.gone.get(scope) if self.jobs.table_type == MOR else None
        at = one["p"] if self.moves else stored[0] if stored is not None else known or one["p"]
        self.model[scope] = (at, one)


def places(rows: pa.Table) -> list[tuple[Any, ...]]:
    """(key, partition where it is, columns) of every row."""
    names = ["id", "_hoodie_partition_path", "v", "ts"]
    return sorted(tuple(one[name] for name in names) for one in rows.select(names).to_pylist())
