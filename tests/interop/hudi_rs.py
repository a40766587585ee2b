"""The independent reader hudi-rs (PyPI ``hudi``), which knows neither the JVM nor us."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTableBuilder

READ_OPTIMIZED_MODE = "hoodie.read.use.read_optimized.mode"


def read_by_hudi_rs(path: Path, *, read_optimized: bool = False) -> pa.Table:
    """The rows of the latest snapshot, or of its base files alone."""
    table = HudiTableBuilder.from_base_uri(str(path)).build()
    options = HudiReadOptions(hudi_options={READ_OPTIMIZED_MODE: str(read_optimized).lower()})
    return pa.Table.from_batches([pa.record_batch(batch) for batch in table.read(options)])
