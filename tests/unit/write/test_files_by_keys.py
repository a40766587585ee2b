"""Sources of files that are named by Hudi Streamer's keys."""

from __future__ import annotations

import pytest

from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.file_source import with_files_by_keys

pytestmark = pytest.mark.unit
_ROOT = {"hoodie.streamer.source.dfs.root": "/in"}
_MERGE = {"hoodie.deltastreamer.source.parquet.dfs.merge_schema.enable": "true"}


def _options(**given: object) -> IngestOptions:
    return IngestOptions(base_path="/t", **given)  # type: ignore[arg-type]


def test_the_key_names_the_files_where_no_option_does() -> None:
    assert with_files_by_keys(_options(hoodie_conf=_ROOT)).source == ("/in",)
    assert with_files_by_keys(_options(hoodie_conf=_ROOT, source=("/other",))).source == ("/other",)
    assert with_files_by_keys(_options(hoodie_conf=_ROOT, source_format="jdbc")).source == ()


def test_columns_of_all_parquet_files_by_key() -> None:
    merged = with_files_by_keys(_options(hoodie_conf=_MERGE, source_options={"pathGlobFilter": "*.parquet"}))
    assert dict(merged.source_options) == {"pathGlobFilter": "*.parquet", "mergeSchema": "true"}
    own = with_files_by_keys(_options(hoodie_conf=_MERGE, source_options={"MERGESCHEMA": "false"}))
    assert dict(own.source_options) == {"MERGESCHEMA": "false"}
    assert with_files_by_keys(_options(hoodie_conf=_MERGE, source_format="csv")).source_options == ()
