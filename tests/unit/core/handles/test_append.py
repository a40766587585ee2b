"""Changes of one file group over several log files and in each kind of block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_format import DEFAULT_LOG_FORMAT
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.markers import read_markers
from spark_jobs.core.handles.append import AppendTarget, append_changes
from spark_jobs.core.handles.context import stamp
from spark_jobs.core.merge.changes import Changes
from spark_jobs.core.merge.log_changes import fold_log
from tests.support.folder import Folder, file_at
from tests.unit.core.logs import scan_log_files
from tests.unit.core.support import SCHEMA, context_of, new_table, rows, scope

pytestmark = pytest.mark.unit

TARGET = AppendTarget(
    partition="a", file_id="g-0", base_instant="50", base_file="b.parquet", log_names=("l2",), next_version=3
)


@pytest.mark.parametrize("kind", [BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK])
def test_a_log_file_that_passed_its_size_is_followed_by_the_next_version(root: Folder, kind: BlockType) -> None:
    sizes = replace(
        DEFAULT_LOG_FORMAT, data_block=kind, max_block_bytes=12_000, max_file_bytes=30_000, codec="uncompressed"
    )
    context = context_of(new_table(root / "t"), "100", log_format=sizes)
    records = rows(*((f"k{number:05}", number, f"{number * 7919 % 100_003}") for number in range(1200)))
    deleted = np.arange(1200) % 10 == 0
    changes = Changes(stamp(records, context, scope(), "a", "g-0"), deleted)

    stats = append_changes(context, scope(), TARGET, changes, hard_deletes=False)

    names = [f".g-0_50.log.{version}_0-1-1" for version in range(3, 3 + len(stats))]
    assert len(stats) > 1
    assert [stat.path for stat in stats] == [f"a/{name}" for name in names]
    assert [stat.log_version for stat in stats] == list(range(3, 3 + len(stats)))
    assert [stat.log_files for stat in stats] == [("l2", *names[: number + 1]) for number in range(len(stats))]
    assert sum(stat.num_writes for stat in stats) == 1080
    assert [stat.num_deletes for stat in stats] == [0] * (len(stats) - 1) + [120]
    assert {marker.file_name for marker in read_markers(context.storage, context.base_path, "100") or ()} == set(names)
    files = []
    for stat in stats:
        path = file_at(context.storage, context.base_path, str(stat.path))
        assert stat.file_size_in_bytes == stat.total_write_bytes == path.size
        blocks = list(read_blocks(path.read_bytes()))
        assert {block.type for block in blocks} <= {kind, BlockType.DELETE_BLOCK}
        assert all(block.start <= 30_000 for block in blocks)
        files.append((path.name, lambda path=path: root.storage.open_input(str(path))))
    assert all(stat.file_size_in_bytes > 30_000 for stat in stats[:-1])
    folded = fold_log(scan_log_files(files, lambda instant: True, None, SCHEMA).entries, SCHEMA, "ts")
    kept = folded.upserts().sort_by("_hoodie_record_key")
    assert kept.equals(changes.upserts())
    assert folded.deletes()["_hoodie_record_key"].to_pylist() == changes.deletes()["_hoodie_record_key"].to_pylist()


def test_no_changes_leave_no_file(root: Folder) -> None:
    context = context_of(new_table(root / "t"), "100")
    nothing = Changes(stamp(rows(), context, scope(), "a", "g-0"), np.zeros(0, bool))
    assert append_changes(context, scope(), TARGET, nothing, hard_deletes=False) == []
    assert not file_at(context.storage, context.base_path, "a").exists()
