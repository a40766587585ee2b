"""Tables over the files of a bootstrap source."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.services.validation.run import validate
from tests.faults import local_table as local
from tests.support.folder import Folder, write_parquet
from tests.unit.services.bootstrap.sources import ALL_COPIED, bootstrap

COW, MOR = "COPY_ON_WRITE", "MERGE_ON_READ"
A_STAYS = {
    "hoodie.bootstrap.mode.selector": "BootstrapRegexModeSelector",
    "hoodie.bootstrap.mode.selector.regex": "(p=)?a",
}
MODES = {"kept": {}, "copied": ALL_COPIED, "both": A_STAYS}
FIRST, SECOND, NEW = local.batch(0, 20, "one", 1), local.batch(0, 10, "two", 2), local.batch(30, 4, "new", 3)


def make_source(folder: Folder, *, hive: bool) -> Folder:
    for name in local.PARTITIONS:
        place = folder / (f"p={name}" if hive else name)
        place.mkdir(parents=True)
        rows = FIRST.filter(pc.equal(FIRST["p"], name))
        write_parquet(rows.drop_columns(["p"]) if hive else rows, place / "part-0.parquet", row_group_size=4)
    return folder


def table_over(root: Folder, mode: str, table_type: str, *, hive: bool = False) -> Folder:
    source = make_source(root / "source", hive=hive)
    fields = {"record_key_fields": ("id",), "partition_path_fields": ("p",), "precombine_field": "ts"}
    bootstrap(root / "t", source, MODES[mode], table_type=table_type, **fields)
    return root / "t"


def is_sound(path: Folder, *batches: pa.Table) -> bool:
    assert local.rows_of(path) == local.expected_rows(*batches)
    assert [str(one) for one in validate(str(path), deep=True, lake=path.lake)] == []
    assert local.problems_of(path) == []
    return True
