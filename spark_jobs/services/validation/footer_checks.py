"""Invariant 5 inside the files: footers of base files, first bytes of logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow.parquet as pq

from spark_jobs.core.config.table_keys import BASE_FILE_FORMAT, BaseFileFormat
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.base_file import (
    AVRO_SCHEMA_FOOTER,
    BLOOM_FOOTER,
    LEGACY_BLOOM_FOOTER,
    MAX_KEY_FOOTER,
    MIN_KEY_FOOTER,
    footer_index,
    open_base_file,
)
from spark_jobs.core.files.log_block import MAGIC
from spark_jobs.core.files.names import join
from spark_jobs.engine.progress import Progress
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning

FILES_AT_ONCE = 16
_ROW_WRITER_FOOTER = "org.apache.spark.sql.parquet.row.metadata"
"""Hudi's bulk insert by Spark rows writes Spark's schema instead of Avro's."""
_WHOLE = "restore it from a copy of the table, or roll back the write that made it"
_REWRITE = "rewrite the file: an upsert into it or a clustering writes a good footer"


def check_footers(evidence: Evidence, progress: Progress) -> Iterator[Finding]:
    """Every file of every slice that a reader may see."""
    if evidence.view is None:
        return
    paths = sorted(path for group in evidence.view.all_groups() for one in group.slices for path in one.paths)
    with progress.phase("footers", len(paths)) as phase, ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        for begin in range(0, len(paths), 16 * FILES_AT_ONCE):
            some = paths[begin : begin + 16 * FILES_AT_ONCE]
            for found in pool.map(lambda path: _check_file(evidence, path), some):
                phase.advance()
                yield from found


def _check_file(evidence: Evidence, path: str) -> Sequence[Finding]:
    whole = join(evidence.table.base_path, path)
    try:
        if path.rsplit("/", 1)[-1].startswith("."):
            return _check_log(evidence, path, whole)
        if BASE_FILE_FORMAT.of(evidence.table.config.properties) is not BaseFileFormat.PARQUET:
            return []
        with open_base_file(evidence.table.storage, whole) as file:
            return [*_check_rows(evidence, path, file), *_check_metadata(evidence, path, file)]
    except HudiError as failure:
        if evidence.table.storage.stat(whole) is None:
            return []  # cleaned meanwhile, or missing, which is told by what names it
        return [error(5, path, f"it is unreadable ({failure.what})", _WHOLE)]


def _check_log(evidence: Evidence, path: str, whole: str) -> list[Finding]:
    head = evidence.table.storage.read(whole, 0, len(MAGIC))
    if MAGIC.startswith(head):
        return []
    return [error(5, path, "it does not begin with a log block", _WHOLE)]


def _check_rows(evidence: Evidence, path: str, file: pq.ParquetFile) -> Iterator[Finding]:
    known = evidence.written.get(path) or evidence.archived_written.get(path)
    if known is not None and known.rows and known.rows != file.metadata.num_rows:
        yield error(
            5,
            path,
            f"its footer tells of {file.metadata.num_rows} rows, and instant {known.instant} wrote {known.rows}",
            _WHOLE,
        )


def _check_metadata(evidence: Evidence, path: str, file: pq.ParquetFile) -> Iterator[Finding]:
    raw = file.metadata.metadata or {}
    schema = raw.get(AVRO_SCHEMA_FOOTER.encode())
    if schema is None and _ROW_WRITER_FOOTER.encode() not in raw:
        yield warning(5, path, f"its footer has no {AVRO_SCHEMA_FOOTER}", _REWRITE)
    elif schema is not None and not _is_record(schema):
        yield error(5, path, f"{AVRO_SCHEMA_FOOTER} of its footer is no Avro record schema", _WHOLE)
    keys = {name: name.encode() in raw for name in (MIN_KEY_FOOTER, MAX_KEY_FOOTER)}
    has_bloom = any(name.encode() in raw for name in (BLOOM_FOOTER, LEGACY_BLOOM_FOOTER))
    if not file.metadata.num_rows or not any([*keys.values(), has_bloom]):
        return  # without rows or with hoodie.parquet.bloom.filter.enabled=false there is nothing to index
    for name, present in {**keys, BLOOM_FOOTER: has_bloom}.items():
        if not present:
            yield error(5, path, f"its footer has no {name}, and the rest of the key index", _REWRITE)
            return
    try:
        index = footer_index(file)
        _ = index.bloom  # reads it
    except HudiError as failure:
        yield error(5, path, f"its key index is unreadable ({failure.what})", _REWRITE)
        return
    if index.key_range is not None and _java(index.key_range[0]) > _java(index.key_range[1]):
        yield error(5, path, f"its least key {index.key_range[0]!r} is above its greatest", _REWRITE)


def _is_record(text: bytes) -> bool:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(schema, dict) and schema.get("type") == "record" and isinstance(schema.get("fields"), list)


def _java(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")
