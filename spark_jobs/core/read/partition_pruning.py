"""Partitions that a query with a condition leaves out by their paths, before their files are listed.

Hudi: HoodieFileIndex. A path tells the values of partition columns where the table's key generator wrote them as they
are: text, whole numbers, booleans and dates of Simple and Complex. Times are written by a pattern, and what of it comes
back is not the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem

from spark_jobs.core.config.keys.bootstrap import BOOTSTRAP_BASE_PATH
from spark_jobs.core.config.keys.datasource import DROP_PARTITION_COLUMNS
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import HudiError
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.keygen.path_names import unescape
from spark_jobs.core.keygen.spec import DEFAULT_PARTITION, Generator, generator_of
from spark_jobs.core.view.listing import Listing

_OLD_DEFAULT = "default"
"""What stood for null before version 5."""
_AFTER_SLASH = "0"
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionPruning:
    """Which partitions may have rows of a condition."""

    condition: pc.Expression
    schema: pa.Schema
    fields: tuple[str, ...]
    hive_style: bool
    url_encode: bool
    texts_of_paths: bool
    """Whether the columns are not in files, so that every one is the text of its folder."""

    @staticmethod
    def of(config: TableConfig, schema: pa.Schema, condition: Any) -> PartitionPruning | None:
        """None where all partitions have to be looked at.

        :param schema: all columns of the table.
        :param condition: of the query, None for none.
        """
        fields = config.partition_fields
        if condition is None or not fields or not any(name in str(condition) for name in fields):
            return None
        dropped = DROP_PARTITION_COLUMNS.of(config.properties)
        if not dropped and not _tells_values(config):
            return None
        return PartitionPruning(
            condition=condition,
            schema=schema,
            fields=fields,
            hive_style=config.hive_style,
            url_encode=config.url_encode,
            texts_of_paths=dropped,
        )

    def partitions(self, listing: Listing) -> list[str]:
        """Those of a table that may have rows of the condition; no others are looked into for it."""
        return self.keep(listing.partitions(self.enter))

    def keep(self, paths: Sequence[str]) -> list[str]:
        """Those of some partitions that may have such rows."""
        return self._possible(paths, [self._sure(path) for path in paths])

    def enter(self, folders: Sequence[str]) -> list[str]:
        """Those of some folders that may be, or hold, such partitions."""
        return self._possible(folders, [self._sure_below(folder) for folder in folders])

    def _possible(self, paths: Sequence[str], sure: Sequence[pc.Expression]) -> list[str]:
        """Arrow judges by what is sure of each path's rows."""
        format, files = ds.ParquetFileFormat(), LocalFileSystem()
        fragments = [
            format.make_fragment(str(number), files, partition_expression=one) for number, one in enumerate(sure)
        ]
        try:
            dataset = ds.FileSystemDataset(fragments, self.schema, format, files)
            kept = {int(fragment.path) for fragment in dataset.get_fragments(filter=self.condition)}
        except pa.ArrowException:
            return list(paths)  # who evaluates the condition tells what is wrong with it
        return [path for number, path in enumerate(paths) if number in kept]

    def _sure(self, path: str) -> pc.Expression:
        """What is sure of every row in a partition."""
        folders = path.split("/")
        if len(self.fields) == 1 and (self.texts_of_paths or not self.url_encode):
            folders = [path]  # whose slashes are the value's
        if len(folders) != len(self.fields):
            return self._sure_below(path)
        return self._all_of(folders)

    def _sure_below(self, folder: str) -> pc.Expression:
        """What is sure of every row in the partitions that begin with a folder, or are it.

        A value that is not url-encoded may go on in the next folder, and from there on nothing is sure.
        """
        folders = folder.split("/")
        aligned = 0
        while aligned < min(len(folders), len(self.fields)) and not self._may_go_on(self.fields[aligned]):
            aligned += 1
        sure = self._all_of(folders[:aligned])
        if aligned < min(len(folders), len(self.fields)):
            sure = sure & self._beginning(self.fields[aligned], folders[aligned])
        return sure

    def _may_go_on(self, name: str) -> bool:
        kind = self._type_of(name)
        return (self.texts_of_paths or not self.url_encode) and (kind is None or _is_text(kind))

    def _all_of(self, folders: Sequence[str]) -> pc.Expression:
        sure: pc.Expression = pc.scalar(True)
        for name, folder in zip(self.fields, folders, strict=False):
            value = self._value(name, folder)
            if value is not None:
                sure = sure & (pc.field(name) == value)
        return sure

    def _beginning(self, name: str, folder: str) -> pc.Expression:
        """Of a text that is this folder, or goes on behind a slash."""
        kind, text = self._type_of(name), self._text(name, folder)
        if kind is None or text is None or not _is_text(kind):
            return pc.scalar(True)
        column = pc.field(name)
        return (column >= text) & (column < text + _AFTER_SLASH)

    def _type_of(self, name: str) -> pa.DataType | None:
        place = self.schema.get_field_index(name)
        return None if place < 0 else self.schema.field(place).type

    def _text(self, name: str, folder: str) -> str | None:
        """What the folder says; None where that is not sure."""
        text = folder
        if self.hive_style or self.texts_of_paths:
            text = folder.removeprefix(f"{name}=")
            if self.hive_style and text == folder:
                return None
        if text in (DEFAULT_PARTITION, _OLD_DEFAULT):
            return None
        if self.texts_of_paths:
            return text if "%" not in text else None  # which of them are escapes depends on the path
        return unescape(text) if self.url_encode else text

    def _value(self, name: str, folder: str) -> pa.Scalar[Any] | None:
        kind, text = self._type_of(name), self._text(name, folder)
        if kind is None or text is None:
            return None
        with suppress(ValueError, KeyError, OverflowError, pa.ArrowException):
            if _is_text(kind):
                return pa.scalar(text, kind)
            if pa.types.is_integer(kind) and str(int(text)) == text:
                return pa.scalar(int(text), kind)
            if pa.types.is_boolean(kind):
                return pa.scalar(_BOOLEANS[text], kind)
            if pa.types.is_date32(kind) and date.fromisoformat(text).isoformat() == text:
                return pa.scalar(date.fromisoformat(text), kind)
        return None


def _tells_values(config: TableConfig) -> bool:
    """Whether rows have the values that their paths say.

    A record index leaves a record in its partition, by default, though its column says another by then. Of older
    tables, the key generator is not known; those of a bootstrap have folders that others named.
    """
    if not config.format.writable or BOOTSTRAP_BASE_PATH.of(config.properties):
        return False
    if config.lists(MetadataPartition.RECORD_INDEX):
        return False
    try:
        return generator_of(config.key_generator_class) in (Generator.SIMPLE, Generator.COMPLEX)
    except HudiError:
        return False


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
