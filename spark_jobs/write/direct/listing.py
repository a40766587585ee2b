"""The files of a source and their columns as Spark would find them, found without it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import pyarrow as pa

from spark_jobs.core.errors import StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage import Storage

_SPARK_COLUMNS = b"org.apache.spark.sql.parquet.row.metadata"
_SUMMARIES = ("_metadata", "_common_metadata")
_SAME_IN_SPARK = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
"""Spark's types that have no part, by the names that it gives them in a file's footer."""


def source_files(paths: Sequence[str], lake: Lake) -> list[str] | str:
    """The URLs of a source's files, or why Spark has to find them (Spark: InMemoryFileIndex).

    :param paths: of files and folders; ``*`` and ``?`` stand for names.
    :raises StorageError: there is no such file or folder.
    """
    found: list[str] = []
    for path in paths:
        place = lake.place(path)
        roots = _matching(place.storage, place.path)
        if isinstance(roots, str):
            return roots
        if not roots:
            raise StorageError(f"source {path} does not exist", todo="check --source", source=path)
        for root in roots:
            files = _files_of(place.storage, root)
            if isinstance(files, str):
                return files
            found += files
    return found or f"{', '.join(paths)} has no files"


def _matching(storage: Storage, path: str) -> list[str] | str:
    if not set("*?[]{}\\") & set(path):
        return [path] if storage.stat(path) is not None or storage.has_folder(path) else []
    if set("[]{}\\") & set(path):
        return f"{path} is a pattern of Hadoop's"
    parts = path.split("/")
    first = next(number for number, part in enumerate(parts) if set("*?") & set(part))
    roots = ["/".join(parts[:first])]
    for part in parts[first:]:
        entries = ((root, one.name) for root in roots for one in storage.list(root))
        roots = [f"{root}/{name}" for root, name in entries if fnmatchcase(name, part)]
    hidden = next((root for root in roots if any(_is_hidden(part) for part in root.split("/")[first:])), None)
    return roots if hidden is None else f"{hidden} is hidden"


def _files_of(storage: Storage, root: str) -> list[str] | str:
    """Of a folder what stands in it: below it Spark looks for partitions."""
    status = storage.stat(root)
    if status is not None and not status.is_directory:
        return [root]
    files = []
    for one in storage.list(root):
        if one.name in _SUMMARIES:
            return f"{one.path} says what the columns are"
        if _is_hidden(one.name):
            continue
        if one.is_directory:
            return f"{root} has folders in it"
        files.append(one.path)
    return files


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def columns_in_spark(stored: pa.Schema, metadata: Mapping[bytes, bytes], url: str) -> pa.Schema | str:
    """The columns of a Parquet file in the types that Spark has for them, in Arrow's terms and all nullable, or why
    Spark has to say (Spark: ParquetToSparkSchemaConverter).

    :param stored: as pyarrow has them; ``metadata``: the keys and values of the footer.
    """
    if len({name.lower() for name in stored.names}) < len(stored.names):
        return f"{url} has two columns of one name"
    types = {field.name: type_in_spark(field.type) for field in stored}
    odd = next((name for name, kind in types.items() if kind is None), None)
    if odd is not None:
        return f"column {odd} of {url} is {stored.field(odd).type}"
    said = _said_by_spark(metadata)
    odd = next((name for name, kind in said if name in types and not _is_called(kind, types[name])), None)
    if odd is not None:
        return f"column {odd} of {url} has a type of Spark's own"
    return pa.schema([pa.field(name, kind) for name, kind in types.items()])


def type_in_spark(stored: pa.DataType) -> pa.DataType | None:
    """None for one that Spark reads otherwise, or not at all."""
    if isinstance(stored, pa.DictionaryType):
        stored = stored.value_type
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return pa.string()
    if isinstance(stored, pa.TimestampType):
        if stored.unit not in ("ms", "us"):
            return None
        return pa.timestamp("us", None if stored.tz is None else "UTC")
    if isinstance(stored, pa.StructType):
        return _struct_in_spark(stored)
    if isinstance(stored, pa.ListType | pa.LargeListType):
        item = type_in_spark(stored.value_type)
        return None if item is None else pa.list_(pa.field("element", item))
    if isinstance(stored, pa.MapType):
        key, item = type_in_spark(stored.key_type), type_in_spark(stored.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    is_known = pa.types.is_decimal128(stored) or stored in _SAME_IN_SPARK.values()
    return stored if is_known else None


def _struct_in_spark(stored: pa.StructType) -> pa.DataType | None:
    fields = [(field.name, type_in_spark(field.type)) for field in stored]
    if not fields or len({name.lower() for name, _ in fields}) < len(fields):
        return None
    known = [pa.field(name, kind) for name, kind in fields if kind is not None]
    return pa.struct(known) if len(known) == len(fields) else None


def _said_by_spark(metadata: Mapping[bytes, bytes]) -> Iterable[tuple[str, object]]:
    """The columns that the footer of a file names which Spark wrote, with their types as it calls them; Spark leaves a
    text alone that it can't read.
    """
    try:
        said = json.loads(metadata.get(_SPARK_COLUMNS, b'{"fields": []}'))
        return [(str(field["name"]), field["type"]) for field in said["fields"]]
    except (ValueError, KeyError, TypeError):
        return []


def _is_described(said: Mapping[str, object], kind: pa.DataType | None) -> bool:
    if isinstance(kind, pa.StructType) and said.get("type") == "struct":
        fields = said.get("fields")
        parts = {one["name"]: one["type"] for one in fields} if isinstance(fields, list) else {}
        names = {field.name for field in kind}
        return parts.keys() == names and all(_is_called(parts[field.name], field.type) for field in kind)
    if isinstance(kind, pa.ListType) and said.get("type") == "array":
        return _is_called(said.get("elementType"), kind.value_type)
    if isinstance(kind, pa.MapType) and said.get("type") == "map":
        return _is_called(said.get("keyType"), kind.key_type) and _is_called(said.get("valueType"), kind.item_type)
    return False


def _is_called(name: object, kind: pa.DataType | None) -> bool:
    """Whether Spark's name of a type is that of an Arrow type; of one that has parts it is an object."""
    if isinstance(name, Mapping):
        return _is_described(name, kind)
    if isinstance(kind, pa.Decimal128Type):
        return name == f"decimal({kind.precision},{kind.scale})"
    return isinstance(name, str) and kind is not None and kind.equals(_SAME_IN_SPARK.get(name, pa.null()))
