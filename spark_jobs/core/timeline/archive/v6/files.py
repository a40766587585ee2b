"""The files of the archived timeline: their names and order, and the entries in them (docs/format.md, archive).

They are log files whose Avro blocks hold ``HoodieArchivedMetaEntry`` records (Hudi: HoodieArchivedLogFile).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from sys import intern
from typing import Any

import pyarrow as pa

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.files.log_block import CONTENT_VERSION, BlockType, HeaderKey, LogBlock, encode_block, parse_blocks
from spark_jobs.core.files.log_writer import schema_text
from spark_jobs.core.format.file_names import UNKNOWN_WRITE_TOKEN
from spark_jobs.core.storage import FileStatus, Storage
from spark_jobs.core.timeline.archive.v6.schemas import ARCHIVED_ENTRY
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload, decode_record, encode_record, parsed_schema

PREFIX = ".commits_.archive."
MERGE_PLAN_NAME = "mergeArchivePlan"

_NAME = re.compile(r"\.commits_\.archive\.(\d{1,9})(?:_[^/]*)?")
CONTENT_HEAD = struct.Struct(">ii")
"""Content version and number of entries, in front of a block's entries."""
_LENGTH = struct.Struct(">i")
LISTED = ("commitTime", "actionType", "actionState", "stateTransitionTime")
"""The fields that tell what an entry is."""

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPlace:
    """Where the record of an entry stands: ``length`` bytes at ``offset`` of a file, and the schema they are in."""

    path: str
    offset: int
    length: int
    schema: str


def archive_version(name: str) -> int | None:
    """The number in an archive file's name; None for any other file."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def archive_name(version: int) -> str:
    """Hudi's name of an archive file on a storage that can't append."""
    return f"{PREFIX}{version}_{UNKNOWN_WRITE_TOKEN}"


def oldest_first(files: Iterable[FileStatus]) -> list[FileStatus]:
    """Archive files by their numbers; others are passed over."""
    found = [status for status in files if not status.is_directory and archive_version(status.name) is not None]
    return sorted(found, key=lambda status: archive_version(status.name) or 0)


def is_unfinished_merge(storage: Storage, folder: str, name: str) -> bool:
    """Whether a merge of small files that has not ended was to write this file; it may be cut then."""
    plan = read_merge_plan(storage, folder)
    return plan is not None and plan["mergedArchiveFileName"] == name


def read_merge_plan(storage: Storage, folder: str) -> dict[str, Any] | None:
    """The plan of a merge under way or broken off: the name of its new file, and those of the files it is made from.

    None where there is none, and where it was cut in writing or names what no merge has: files are removed by it.
    """
    path = f"{folder}/{MERGE_PLAN_NAME}"
    if storage.stat(path) is None:
        return None
    try:
        plan = decode_payload(storage.read(path), MERGE_PLAN_NAME)
    except CorruptTableError:
        return None
    merged, candidates = plan.get("mergedArchiveFileName"), plan.get("candidate")
    if not isinstance(candidates, list) or not all(isinstance(one, str) for one in (merged, *candidates)):
        return None
    names = [one.rsplit("/", 1)[-1] for one in candidates]
    if not names or merged in names or any(archive_version(name) is None for name in (merged, *names)):
        return None
    return {**plan, "candidate": names}


def encode_entries(entries: Sequence[Mapping[str, Any]]) -> bytes:
    """One block of entries, as Hudi's archiver writes it: the schema is its only header."""
    records = [encode_record(_writer_schema(), entry) for entry in entries]
    content = b"".join(_LENGTH.pack(len(one)) + one for one in records)
    headers = {HeaderKey.SCHEMA: schema_text(ARCHIVED_ENTRY)}
    return encode_block(BlockType.AVRO_DATA_BLOCK, headers, CONTENT_HEAD.pack(CONTENT_VERSION, len(records)) + content)


def archive_blocks(file: pa.NativeFile) -> Iterator[LogBlock]:
    """The data blocks of an archive file. A stretch that is no block is a write that broke off: its instants were
    not taken off the active timeline.
    """
    for block in parse_blocks(file):
        if block.type is BlockType.AVRO_DATA_BLOCK:
            yield block


def schema_of(block: LogBlock) -> str:
    """The schema of a block's entries, refused where it could lead their reader astray.

    :raises ValueError: it is none; or what ``json`` and fastavro raise.
    """
    schema = intern(block.schema_json)  # the same long text in every block
    _schemas(schema)
    return schema


def entries_of(block: LogBlock, path: str, content: bytes) -> Iterator[tuple[Entry, EntryPlace]]:
    """When, what and how far each entry is, with its place; what else it holds is passed over.

    :raises CorruptTableError: the content is not entries.
    """
    try:
        yield from _entries_of(block, path, content)
    except (CorruptTableError, UnsupportedTableError):
        raise
    except Exception as error:  # fastavro raises whatever the bytes lead it to
        raise CorruptTableError(f"the block at byte {block.start} of {path} is unreadable ({error})") from error


def _entries_of(block: LogBlock, path: str, content: bytes) -> Iterator[tuple[Entry, EntryPlace]]:
    version, count = CONTENT_HEAD.unpack_from(content)
    if not 1 <= version <= CONTENT_VERSION:
        raise UnsupportedTableError(f"the block at byte {block.start} of {path} has content version {version}")
    schema = schema_of(block)
    writer, listed = _schemas(schema)
    view = memoryview(content)
    at = CONTENT_HEAD.size
    for _ in range(count):
        length = _LENGTH.unpack_from(content, at)[0]
        at += _LENGTH.size
        if not 0 <= length <= len(content) - at:
            raise ValueError(f"an entry of {length} bytes at byte {at} of its {len(content)}")
        place = EntryPlace(path=path, offset=block.content_start + at, length=length, schema=schema)
        yield decode_record(view[at : at + length], writer, listed), place
        at += length


def read_entry(storage: Storage, place: EntryPlace) -> dict[str, Any]:
    """The whole entry.

    :raises CorruptTableError: the bytes there are none.
    """
    return decode_entry(storage.read(place.path, place.offset, place.length), place)


def decode_entry(data: bytes, place: EntryPlace) -> dict[str, Any]:
    """The whole entry of the bytes at a place.

    :raises CorruptTableError: they are none.
    """
    try:
        return decode_record(data, _schemas(place.schema)[0])
    except Exception as error:  # as above
        raise CorruptTableError(f"the entry at byte {place.offset} of {place.path} is unreadable ({error})") from error


@lru_cache(maxsize=16)
def _schemas(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block's schema, and the same with the few fields that tell what an entry is."""
    writer = parsed_schema(text)
    listed = {**writer, "fields": [field for field in writer["fields"] if field["name"] in LISTED]}
    return writer, listed


def _writer_schema() -> dict[str, Any]:
    return _schemas(schema_text(ARCHIVED_ENTRY))[0]
