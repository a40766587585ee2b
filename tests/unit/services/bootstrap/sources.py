"""Small sources of bootstraps, and the job as a test runs it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa

from spark_jobs.core.table import HudiTable
from spark_jobs.options.bootstrap import BootstrapOptions
from spark_jobs.options.result import JobResult
from spark_jobs.services.bootstrap.job import run_bootstrap
from tests.support.folder import Where, lake_of, write_parquet
from tests.support.jobs import job_context

SCHEMA = pa.schema(
    [("id", pa.string()), ("revision", pa.int64()), ("price", pa.decimal128(9, 2)), ("region", pa.string())]
)
CONF = {"hoodie.index.bloom.num_entries": "100"}
NORTH_STAYS = {
    "hoodie.bootstrap.mode.selector": "org.apache.hudi.client.bootstrap.selector.BootstrapRegexModeSelector",
    "hoodie.bootstrap.mode.selector.regex": "(region=)?north",
}
ALL_COPIED = {"hoodie.bootstrap.mode.selector": "FullRecordBootstrapModeSelector"}
REGIONS = {"north": 0, "south": 100}


def rows(region: str, first: int, count: int = 7) -> pa.Table:
    numbers = range(first, first + count)
    columns = [
        [f"{region}-{one:03}" for one in numbers],
        [0 for _ in numbers],
        [Decimal(one) / 100 for one in numbers],
        [region for _ in numbers],
    ]
    return pa.table([pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)], SCHEMA)


def all_rows() -> pa.Table:
    """Of a source, sorted by key."""
    return pa.concat_tables([rows(region, first + 10 * part) for region, first in REGIONS.items() for part in (0, 1)])


def make_source(folder: Where, *, hive: bool) -> Any:
    """Two files for each region, in folders ``region=north`` without the column, or ``north`` with it; and files that
    are no data.
    """
    for region, first in REGIONS.items():
        place = folder / (f"region={region}" if hive else region)
        place.mkdir(parents=True)
        for part in (0, 1):
            table = rows(region, first + 10 * part)
            stored = table.drop_columns(["region"]) if hive else table
            write_parquet(stored, place / f"part-{part}.parquet", row_group_size=4)
        (place / "_SUCCESS").write_text("")
    (folder / ".hidden").mkdir()
    write_parquet(rows("hidden", 0), folder / ".hidden" / "a.parquet")
    return folder


def options(path: Where, source: Where, conf: dict[str, str] | None = None, **more: Any) -> BootstrapOptions:
    given = {
        "table_name": "t",
        "source": str(source),
        "record_key_fields": ("id",),
        "partition_path_fields": ("region",),
        "precombine_field": "revision",
        **more,
    }
    return BootstrapOptions(base_path=str(path), hoodie_conf={**CONF, **(conf or {})}, **given)


def bootstrap(path: Where, source: Where, conf: dict[str, str] | None = None, **more: Any) -> JobResult:
    return run_bootstrap(options(path, source, conf, **more), job_context(lake=lake_of(path)))


def rows_of(path: Where) -> pa.Table:
    """The table's own columns, sorted by key."""
    found = HudiTable.open(str(path), lake=lake_of(path)).scan().to_arrow().select(SCHEMA.names)
    return found.sort_by("id").cast(SCHEMA).combine_chunks()
