"""Writing the bootstrap index (Hudi: HFileBootstrapIndexWriter): the files that :mod:`.bootstrap` reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.files.hfile.compression import Compression
from spark_jobs.core.files.hfile.format import BOOTSTRAP_COMPARATOR
from spark_jobs.core.files.hfile.writer import write_hfile
from spark_jobs.core.storage import Storage, resolve
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import NULLABLE_STRING, STRING, optional, record, string_map, version
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION, INDEX_INFO, without_scheme

_BLOCK_SIZE = 64 * 1024
"""HBase's default, which Hudi leaves as it is for this index."""
_HADOOP_BLOCK = 32 * 1024 * 1024
"""What Hadoop tells of files on a local disk."""


def _inner(name: str, **fields: Any) -> dict[str, Any]:
    """A record inside of another, whose namespace it has."""
    return {key: value for key, value in record(name, **fields).items() if key != "namespace"}


_PATH = _inner("HoodiePath", version=version(1), uri=NULLABLE_STRING)
_PERMISSION = _inner(
    "HoodieFSPermission",
    version=version(1),
    userAction=NULLABLE_STRING,
    groupAction=NULLABLE_STRING,
    otherAction=NULLABLE_STRING,
    stickyBit=optional("boolean"),
)
_STATUS = _inner(
    "HoodieFileStatus",
    version=version(1),
    path=optional(_PATH),
    length=optional("long"),
    isDir=optional("boolean"),
    blockReplication=optional("int"),
    blockSize=optional("long"),
    modificationTime=optional("long"),
    accessTime=optional("long"),
    permission=optional(_PERMISSION),
    owner=NULLABLE_STRING,
    group=NULLABLE_STRING,
    symlink=optional("HoodiePath"),
)
_PARTITION = record(
    "HoodieBootstrapPartitionMetadata",
    version=version(1),
    bootstrapPartitionPath=NULLABLE_STRING,
    partitionPath=NULLABLE_STRING,
    fileIdToBootstrapFile=optional(string_map(_STATUS)),
)
_FILE = record(
    "HoodieBootstrapFilePartitionInfo",
    version=version(1),
    bootstrapPartitionPath=NULLABLE_STRING,
    bootstrapFileStatus=optional(_STATUS),
    partitionPath=NULLABLE_STRING,
)
_INFO = record(
    "HoodieBootstrapIndexInfo",
    version=version(1),
    bootstrapBasePath=optional(STRING),
    createdTimestamp=optional("long"),
    numKeys=optional("int"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedFile:
    """A skeleton's file group and the source file of its rows; ``partition`` is that of both, ``path`` is relative to
    the source, ``size`` in bytes.
    """

    partition: str
    file_id: str
    path: str
    size: int
    modified_ms: int


def write_bootstrap_index(
    storage: Storage, base_path: str, source_path: str, files: Iterable[IndexedFile], created_ms: int
) -> None:
    """Write both files of the index, whole; what an earlier attempt left is replaced.

    :param source_path: of its folder, as the storage of that takes it.
    """
    by_partition, by_file_id = encode_bootstrap_index(source_path, files, created_ms)
    storage.replace(f"{base_path}/{BY_PARTITION}", by_partition)
    storage.replace(f"{base_path}/{BY_FILE_ID}", by_file_id)


def drop_bootstrap_index(storage: Storage, base_path: str) -> None:
    """Remove it; no error where there is none."""
    for name in (BY_PARTITION, BY_FILE_ID):
        storage.delete(resolve(base_path, name))


def encode_bootstrap_index(source_path: str, files: Iterable[IndexedFile], created_ms: int) -> tuple[bytes, bytes]:
    """The index by partition, and the one by file id."""
    partitions: dict[str, dict[str, Any]] = {}
    singles: dict[bytes, bytes] = {}
    source_url = source_path if without_scheme(source_path) != source_path else f"file:{source_path}"
    for file in files:
        status = _status(f"{source_url}/{file.path}", file)
        partitions.setdefault(file.partition, {})[file.file_id] = status
        entry = {
            "version": None,
            "bootstrapPartitionPath": file.partition,
            "bootstrapFileStatus": status,
            "partitionPath": file.partition,
        }
        singles[f"part={file.partition};fileid={file.file_id}".encode()] = encode_payload(_FILE, entry)
    wholes = {
        f"part={partition}".encode(): encode_payload(
            _PARTITION,
            {
                "version": None,
                "bootstrapPartitionPath": partition,
                "partitionPath": partition,
                "fileIdToBootstrapFile": statuses,
            },
        )
        for partition, statuses in partitions.items()
    }
    return _hfile(wholes, source_path, created_ms), _hfile(singles, source_path, created_ms)


def _hfile(entries: dict[bytes, bytes], source_path: str, created_ms: int) -> bytes:
    info = {
        "version": 1,
        "bootstrapBasePath": source_path,
        "createdTimestamp": created_ms,
        "numKeys": len(entries),
    }
    return write_hfile(
        sorted(entries.items()),
        compression=Compression.NONE,
        block_size=_BLOCK_SIZE,
        file_info={INDEX_INFO: encode_payload(_INFO, info)},
        comparator=BOOTSTRAP_COMPARATOR,
    )


def _status(uri: str, file: IndexedFile) -> dict[str, Any]:
    """As Hadoop's FileStatus of a file; without its owner, which no reader asks for."""
    return {
        "version": None,
        "path": {"version": 1, "uri": uri},
        "length": file.size,
        "isDir": False,
        "blockReplication": 1,
        "blockSize": _HADOOP_BLOCK,
        "modificationTime": file.modified_ms,
        "accessTime": file.modified_ms,
        "permission": {
            "version": 1,
            "userAction": "READ_WRITE",
            "groupAction": "READ",
            "otherAction": "READ",
            "stickyBit": False,
        },
        "owner": "",
        "group": "",
        "symlink": None,
    }
