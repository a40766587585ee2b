"""Invariant 5 inside the files: footers of base files, first bytes of logs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow.parquet as pq

from spark_jobs.core.config.keys.table import BASE_FILE_FORMAT, BaseFileFormat
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
from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, Repair, error, warning
from spark_jobs.services.validation.scans import Scans

FILES_AT_ONCE = 16
_FILES_TOGETHER = 256
"""Of one piece of work on Spark: a few seconds, 16 at a time, on an object store."""
_ROW_WRITER_FOOTER = "org.apache.spark.sql.parquet.row.metadata"
"""Hudi's bulk insert by Spark rows writes Spark's schema instead of Avro's."""
_WHOLE = "restore it from a copy of the table, or roll back the write that made it"
_REWRITE = "rewrite the file: an upsert into it or a clustering writes a good footer"


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A file, and how many rows which instant wrote to it; 0 where nothing says so."""

    path: str
    rows: int
    instant: str


def check_footers(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """Every file of every slice that a reader may see."""
    if evidence.view is None:
        return
    table = evidence.table
    files = [
        _known(evidence, path)
        for path in sorted(path for group in evidence.view.all_groups() for one in group.slices for path in one.paths)
    ]
    is_parquet = BASE_FILE_FORMAT.of(table.config.properties) is BaseFileFormat.PARQUET
    scan = _FooterLook(table.storage, table.base_path, is_parquet, table.config.format)
    with scans.progress.phase("footers", len(files)) as phase:
        ones = [1] * len(files)  # it is the calls that take time, not the few bytes
        for found in scans.each(files, scan, ones, phase.advance, at_once=FILES_AT_ONCE, together=_FILES_TOGETHER):
            yield from found


def _known(evidence: Evidence, path: str) -> _File:
    known = evidence.written.get(path) or evidence.archived_written.get(path)
    return _File(path=path, rows=known.rows if known else 0, instant=known.instant if known else "")


@dataclass(frozen=True, slots=True)
class _FooterLook:
    """The check of one file; pickles."""

    storage: Storage
    base_path: str
    is_parquet: bool
    format: TableFormat

    def __call__(self, one: _File) -> Sequence[Finding]:
        whole = resolve(self.base_path, RelativePath(one.path))
        try:
            if self.format.parse_log_file(one.path.rpartition("/")[2]) is not None:
                return self._check_log(one.path, whole)
            if not self.is_parquet:
                return []
            with open_base_file(self.storage, whole) as file:
                return [*_check_rows(one, file), *_check_metadata(one.path, file)]
        except HudiError as failure:
            if self.storage.stat(whole) is None:
                return []  # cleaned meanwhile, or missing, which what names it reports
            return [error(5, one.path, f"it is unreadable ({failure.what})", _WHOLE)]

    def _check_log(self, path: str, whole: str) -> list[Finding]:
        head = self.storage.read(whole, 0, len(MAGIC))
        if MAGIC.startswith(head):
            return []
        return [error(5, path, "it does not begin with a log block", _WHOLE, Repair.LOGS)]


def _check_rows(one: _File, file: pq.ParquetFile) -> Iterator[Finding]:
    if one.rows and one.rows != file.metadata.num_rows:
        yield error(
            5,
            one.path,
            f"its footer tells of {file.metadata.num_rows} rows, and instant {one.instant} wrote {one.rows}",
            _WHOLE,
        )


def _check_metadata(path: str, file: pq.ParquetFile) -> Iterator[Finding]:
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
