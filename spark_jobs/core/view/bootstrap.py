"""Where the rows of bootstrapped base files are (Hudi: HFileBootstrapIndex, NoOpBootstrapIndex).

A table bootstrapped with METADATA_ONLY has base files of instant ``00000000000001`` with the meta columns alone; its
index tells for each the file that it was made from, which has the rows in the same order. One bootstrapped with
FULL_RECORD has whole files, and may have no index: Hudi's class for that is NoOpBootstrapIndex.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.config.keys import bootstrap as keys
from spark_jobs.core.config.keys.bootstrap import INDEX_ENABLED
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.format.folders import BOOTSTRAP_INDEX_FOLDER
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage import RelativePath, Storage, resolve
from spark_jobs.core.storage.relative_path import is_inside, outside
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload

BOOTSTRAP_INSTANT = "00000000000001"
"""Of a METADATA_ONLY bootstrap."""
FULL_BOOTSTRAP_INSTANT = "00000000000002"
"""Of one that copies rows (FULL_RECORD)."""

_INDEX_NAME = f"00000000-0000-0000-0000-000000000000-0_1-0-1_{BOOTSTRAP_INSTANT}.hfile"
BY_PARTITION = RelativePath(f"{BOOTSTRAP_INDEX_FOLDER}/.partitions/{_INDEX_NAME}")
BY_FILE_ID = RelativePath(f"{BOOTSTRAP_INDEX_FOLDER}/.fileids/{_INDEX_NAME}")

INDEX_INFO = b"INDEX_INFO"
_HFILE = "HFileBootstrapIndex"
_NONE = "NoOpBootstrapIndex"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFile:
    """The file that a base file was made from; ``partition`` and ``path`` are relative to the bootstrap base path.

    ``size`` in bytes and ``modified_ms`` are of when the table was bootstrapped; a time of 0 is not known.
    """

    partition: str
    path: RelativePath
    size: int
    modified_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapIndex:
    """The index of one table. Pickles by value; each question reads what it needs of the index's files.

    ``source_path`` is ``hoodie.bootstrap.base.path``: the index names whole paths, of which the part behind the base
    path that it was written with counts, so that source files may move if the property says where in the lake. Where
    the table has none (not ``is_there``), it is an error to ask for a skeleton, and no error before: whole files need
    no index.
    """

    lake: Lake
    storage: Storage
    base_path: str
    source_path: str
    is_there: bool = True

    @staticmethod
    def of(lake: Lake, storage: Storage, base_path: str, config: TableConfig) -> BootstrapIndex | None:
        """None for a table that was not bootstrapped.

        :raises UnsupportedTableError: a bootstrapped table with another kind of index.
        """
        source_path = keys.BOOTSTRAP_BASE_PATH.of(config.properties)
        if not source_path:
            return None
        kind = _kind_of(config)
        if kind not in (_HFILE, _NONE):
            raise UnsupportedTableError(
                f"table {config.name} has the bootstrap index {kind}, which this release does not know",
                todo="bootstrap it again with Hudi's HFileBootstrapIndex",
                table=config.name,
            )
        return BootstrapIndex(
            lake=lake,
            storage=storage,
            base_path=base_path,
            source_path=source_path.rstrip("/"),
            is_there=kind == _HFILE,
        )

    def source_of(self, partition: str, file_id: str) -> SourceFile:
        """What a base file of :data:`BOOTSTRAP_INSTANT` was made from.

        :raises CorruptTableError: the index does not know it, or the table has none.
        """
        key = f"part={partition};fileid={file_id}".encode()
        with self._open(BY_FILE_ID) as reader:
            value = reader.get([key]).get(key)
            if value is None:
                raise CorruptTableError(
                    f"the bootstrap index of {self.base_path} does not know file group {file_id} of {partition!r}",
                    todo="restore the file of the index from a backup",
                    file_id=file_id,
                )
            entry = decode_payload(value, BY_FILE_ID)
            return self._source(entry, entry.get("bootstrapFileStatus"), _base_path_of(reader))

    def sources(self, partition: str) -> dict[str, SourceFile]:
        """By file id, what all base files of a partition were made from; none where it was not bootstrapped so.

        :raises CorruptTableError: the table has no index.
        """
        key = f"part={partition}".encode()
        with self._open(BY_PARTITION) as reader:
            value = reader.get([key]).get(key)
            if value is None:
                return {}
            entry = decode_payload(value, BY_PARTITION)
            files = entry.get("fileIdToBootstrapFile") or {}
            base = _base_path_of(reader)
            return {file_id: self._source(entry, status, base) for file_id, status in files.items()}

    def place(self, source: SourceFile) -> tuple[Storage, str]:
        """The storage of a source file, and its path there."""
        base = self.lake.place(self.source_path)
        return base.storage, resolve(base.path, source.path)

    def is_moved(self) -> bool:
        """Whether the source is elsewhere than it was when the table was bootstrapped."""
        with self._open(BY_PARTITION) as reader:
            return _base_path_of(reader) != without_scheme(self.source_path)

    @contextmanager
    def _open(self, name: RelativePath) -> Iterator[HFileReader]:
        if not self.is_there:
            raise CorruptTableError(
                f"table {self.base_path} has files of {BOOTSTRAP_INSTANT}, whose rows are elsewhere, and by "
                f"{keys.BOOTSTRAP_INDEX_CLASS.name} no index that tells where",
                todo=f"set {keys.BOOTSTRAP_INDEX_CLASS.name} as it was if the index is there, else bootstrap it again",
                table=self.base_path,
            )
        path = resolve(self.base_path, name)
        with self.storage.open_input(path) as file:
            yield HFileReader(file, path)

    def _source(self, entry: Mapping[str, Any], status: Any, base: str) -> SourceFile:
        try:
            path, size = without_scheme(status["path"]["uri"]), int(status["length"])
            modified_ms = int(status.get("modificationTime") or 0)
            partition = str(entry["bootstrapPartitionPath"] or "")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptTableError(f"the bootstrap index of {self.base_path} has an entry without a path") from error
        where = f"the bootstrap index of {self.base_path}"
        inner = path[len(base) + 1 :]
        if not path.startswith(f"{base}/") or not inner or not is_inside(inner):
            raise outside(path, where, f"its source {base}")
        return SourceFile(
            partition=RelativePath(partition, where),
            path=RelativePath(inner, where),
            size=size,
            modified_ms=modified_ms,
        )


def _kind_of(config: TableConfig) -> str:
    """Where the table names no class, the key that turns the index off decides, as in Hudi (HoodieTableConfig)."""
    if keys.BOOTSTRAP_INDEX_CLASS.name not in config.properties and not INDEX_ENABLED.of(config.properties):
        return _NONE
    return keys.BOOTSTRAP_INDEX_CLASS.of(config.properties).rpartition(".")[2]


def without_scheme(url: str) -> str:
    """``file:/a/b`` and ``s3://bucket/a/b`` to ``/a/b``. Hudi writes Hadoop paths, in which nothing is escaped."""
    return _SCHEME.sub("", url, count=1) if _SCHEME.match(url) else url


def _base_path_of(reader: HFileReader) -> str:
    info = decode_payload(reader.info.get(INDEX_INFO, b""), "the bootstrap index's INDEX_INFO")
    return without_scheme(str(info.get("bootstrapBasePath") or "")).rstrip("/")
