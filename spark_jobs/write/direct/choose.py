"""Whether the tasks of a write may read its source themselves: only where they see exactly what Spark would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.errors import HudiError
from spark_jobs.core.keygen.keys import type_at
from spark_jobs.core.keygen.spec import KeySpec
from spark_jobs.core.lake import Lake
from spark_jobs.core.schema.meta_fields import without_meta_fields
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.protocol import FileStatus
from spark_jobs.write.direct.listing import columns_in_spark
from spark_jobs.write.direct.source import ParquetSource, SourceFile

MAX_FILES = 1_000
"""Their footers are read in the driver; a source of more files goes through Spark, which reads them in tasks."""
_FOOTERS_AT_ONCE = 32
_OLD_CALENDAR = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
_SPARK_VERSION = b"org.apache.spark.version"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Footer:
    """What one file says of itself; ``stored`` are its columns as pyarrow has them."""

    url: str
    storage: Storage
    path: str
    status: FileStatus
    stored: pa.Schema
    metadata: pq.FileMetaData


def parquet_source(
    schema: pa.Schema | None, urls: Sequence[str], lake: Lake, *, most: int = MAX_FILES
) -> ParquetSource | str:
    """The source, or why Spark has to read it.

    :param schema: of the source as Spark has it, in Arrow's types; None: that of the files, which all have it then.
    :param urls: of all its files; there may be ``most``.
    """
    if not 0 < len(urls) <= most:
        return f"it has {len(urls)} files"
    with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
        found = list(pool.map(lambda url: _footer_of(url, lake), urls))
    footers = [one for one in found if not isinstance(one, str)]
    unread = next((one for one in found if isinstance(one, str)), None)
    if unread is not None:
        return unread
    columns = _columns_of(footers) if schema is None else schema
    if isinstance(columns, str):
        return columns
    files = []
    for footer in footers:
        file = _source_file(footer, columns)
        if isinstance(file, str):
            return file
        files.append(file)
    folder = next((part for url in urls for part in url.split("/")[:-1] if _names_column(part, columns)), None)
    if folder is not None:
        return f"the folder {folder} has the name of a column, whose value Spark takes from there"
    return ParquetSource(files=tuple(files), schema=columns)


def _footer_of(url: str, lake: Lake) -> _Footer | str:
    try:
        place = lake.place(url)
        storage, path = place.storage, place.path
        status = storage.stat(path)
        if status is None:
            return f"{url} is gone"
        with storage.open_input(path, may_change=True) as stream:
            parquet = pq.ParquetFile(stream, pre_buffer=False)
            stored, metadata = parquet.schema_arrow, parquet.metadata
    except (HudiError, pa.ArrowException, OSError, UnicodeDecodeError) as error:
        return f"{url} is not readable without Spark ({str(error).splitlines()[0]})"
    if _has_old_calendar(metadata.metadata or {}):
        return f"{url} may have dates of the Julian calendar"
    return _Footer(url=url, storage=storage, path=path, status=status, stored=stored, metadata=metadata)


def _columns_of(footers: Sequence[_Footer]) -> pa.Schema | str:
    """Of the file that Spark would ask, where the others have no others."""
    first, *others = sorted(footers, key=lambda one: one.url)
    columns = columns_in_spark(without_meta_fields(first.stored), first.metadata.metadata or {}, first.url)
    more = next((one.url for one in others if set(one.stored.names) - set(first.stored.names)), None)
    return columns if more is None else f"{more} has columns that {first.url} has not"


def _source_file(footer: _Footer, schema: pa.Schema) -> SourceFile | str:
    url, stored = footer.url, footer.stored
    for field in schema:
        index = stored.get_field_index(field.name)
        if index < 0:
            return f"{url} has no column {field.name}"
        if not reads_alike(stored.field(index).type, field.type):
            return f"column {field.name} of {url} is {stored.field(index).type}"
    groups = [footer.metadata.row_group(number) for number in range(footer.metadata.num_row_groups)]
    return SourceFile(
        storage=footer.storage,
        path=footer.path,
        size=footer.status.size,
        etag=footer.status.etag,
        groups=tuple(group.num_rows for group in groups),
        content_size=sum(group.total_byte_size for group in groups),
    )


def _names_column(folder: str, schema: pa.Schema) -> bool:
    name, is_named, _ = unquote(folder).partition("=")
    return bool(is_named) and name.lower() in {column.lower() for column in schema.names}


def reads_alike(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether pyarrow gives the values that Spark does, once they are brought from the one type to the other.

    :param stored: how pyarrow has the column of the file; ``wanted``: how Spark has it.
    """
    if isinstance(stored, pa.DictionaryType):
        stored = stored.value_type
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return bool(pa.types.is_string(wanted))
    if isinstance(stored, pa.TimestampType) and isinstance(wanted, pa.TimestampType):
        return stored.unit in ("ms", "us") and (stored.tz is None) == (wanted.tz is None)
    if isinstance(stored, pa.StructType) and isinstance(wanted, pa.StructType):
        names = {field.name for field in stored}
        same = names == {field.name for field in wanted} and len(names) == stored.num_fields
        return same and all(reads_alike(stored.field(one.name).type, one.type) for one in wanted)
    if isinstance(stored, pa.ListType | pa.LargeListType) and isinstance(wanted, pa.ListType):
        return reads_alike(stored.value_type, wanted.value_type)
    if isinstance(stored, pa.MapType) and isinstance(wanted, pa.MapType):
        return reads_alike(stored.key_type, wanted.key_type) and reads_alike(stored.item_type, wanted.item_type)
    return not pa.types.is_nested(stored) and bool(stored.equals(wanted))


def same_keys_without_spark(spec: KeySpec, schema: pa.Schema, *, virtual: bool) -> bool:
    """Whether keys and paths come out letter by letter as they do through Spark, and the same in every process.

    Of floating-point numbers Java's releases write different digits; virtual keys never come from Java. What goes by
    the zone of the machine is computed once by Spark, but in the driver and again in the tasks without it.
    """
    if spec.time_rule is not None and not spec.time_rule.names_its_zones:
        return False
    names = {*spec.partition_fields, *(() if virtual else spec.record_key_fields)}
    kinds = [type_at(schema, name) for name in names]
    if spec.consistent_timestamps and any(pa.types.is_timestamp(kind) for kind in kinds):
        return False
    return not any(pa.types.is_floating(kind) for kind in kinds)


def why_spark_makes_keys(spec: KeySpec, schema: pa.Schema, *, virtual: bool) -> str | None:
    """Why rows that need no Spark to be read get their keys from it; None where they are the same without it."""
    if same_keys_without_spark(spec, schema, virtual=virtual):
        return None
    return "a key or partition column holds floating-point numbers, or times in the zone of the machine"


def _has_old_calendar(metadata: Mapping[bytes, bytes]) -> bool:
    """As Spark decides: by its own mark, or by a version before 3.0."""
    version = metadata.get(_SPARK_VERSION, b"").split(b".")[0]
    return any(name in metadata for name in _OLD_CALENDAR) or (version.isdigit() and int(version) < 3)
