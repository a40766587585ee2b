"""Source files of bootstrapped tables: rows are known by their place in them, so they have to stay as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import BadRecordError, HudiError, UnsupportedTableError
from spark_jobs.core.files.base_file import open_base_file
from spark_jobs.core.keygen.keys import column_of, record_keys
from spark_jobs.core.keygen.spec import NON_PARTITIONED, Generator, KeySpec, generator_of, infer_class
from spark_jobs.core.read.bootstrap import BootstrapReader, folder_values
from spark_jobs.core.schema.meta_fields import RECORD_KEY
from spark_jobs.core.storage import FileStatus
from spark_jobs.core.view.bootstrap import BOOTSTRAP_INSTANT, BY_PARTITION, BootstrapIndex, SourceFile
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.services.validation.evidence import Evidence
from spark_jobs.services.validation.finding import Finding, error, warning
from spark_jobs.services.validation.scans import Scans

_SECOND_MS = 1000
"""Storages and the tools that copy files keep their times by the second at least."""
_FILES_AT_ONCE = 4
_RESTORE = "restore it as it was when the table was bootstrapped, else bootstrap the table anew"
_RESTORE_INDEX = "restore the file from a copy of the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A skeleton and the source file of its rows, which is at ``path``; ``is_live``: a query of now reads it."""

    skeleton: FileSlice
    source: SourceFile
    path: str
    is_live: bool

    @property
    def name(self) -> str:
        return self.skeleton.base_file.relative_path if self.skeleton.base_file is not None else ""


def check_sources(evidence: Evidence) -> Iterator[Finding]:
    """Invariants 5 and 6: the source files that queries read are there, with the length that the index tells.

    A file of another time is a warning where the source lies as it was bootstrapped: a copy of it has other times.
    """
    index = _index_of(evidence)
    kept: list[_Kept] = []
    is_moved = False
    if index is not None:
        try:
            kept = _kept(evidence, index)
            is_moved = bool(kept) and index.is_moved()
        except UnsupportedTableError:
            return  # what reads rows tells it
        except HudiError as failure:
            yield error(5, BY_PARTITION, f"the bootstrap index is unreadable ({failure.what})", _RESTORE_INDEX)
            return
    there = _statuses(index, kept) if index is not None else {}
    for one in kept:
        status, invariant = there.get(one.path), 5 if one.is_live else 6
        was = f"{one.name} was bootstrapped from it"
        if (status is None or status.size != one.source.size) and evidence.lost_meanwhile([one.skeleton]):
            continue
        if status is None:
            yield error(invariant, one.path, f"{was}, and it is not on storage", _RESTORE)
        elif status.size != one.source.size:
            what = f"it has {status.size} bytes, and had {one.source.size} when {was}: its rows are other ones"
            yield error(invariant, one.path, what, _RESTORE)
        elif not is_moved and _is_another_time(status, one.source):
            what = f"it was modified after {was}, and is as long as then: its rows may be other ones"
            todo = "make sure that it is the file of then; validate.py --deep compares the keys"
            yield warning(invariant, one.path, what, todo)


def check_source_keys(evidence: Evidence, scans: Scans) -> Iterator[Finding]:
    """Invariant 2 (``--deep``): the columns of each source row make the key that its skeleton has."""
    index = _index_of(evidence)
    spec = _spec_of(evidence.table.config)
    if index is None or spec is None:
        return
    try:
        kept = _kept(evidence, index)
        there = _statuses(index, kept)
    except HudiError:
        return  # the quick check names it
    same = [one for one in kept if one.path in there and there[one.path].size == one.source.size]
    reader = evidence.table.bootstrap_reader()
    if reader is None or not same:
        return
    with scans.progress.phase("source keys", len(same)) as phase:
        sizes = [one.source.size for one in same]
        scan = _KeyLook(reader, spec)
        for one, found in zip(same, scans.each(same, scan, sizes, phase.advance, at_once=_FILES_AT_ONCE), strict=True):
            if found is not None and not evidence.lost_meanwhile([one.skeleton]):
                yield found


def _index_of(evidence: Evidence) -> BootstrapIndex | None:
    """None where there is none, or none that this release reads: what reads rows tells that."""
    try:
        reader = evidence.table.bootstrap_reader()
    except UnsupportedTableError:
        return None
    return reader.index if reader is not None and reader.index.is_there else None


def _kept(evidence: Evidence, index: BootstrapIndex) -> list[_Kept]:
    """All skeletons on storage with their source files; those that the index does not know are left out."""
    view = evidence.view
    if view is None:
        return []
    slices = [one for group in view.all_groups() for one in group.slices if one.base_instant == BOOTSTRAP_INSTANT]
    live = {one.base_file.relative_path for one in view.latest_slices() if one.base_file is not None}
    partitions = sorted({one.partition for one in slices if one.base_file is not None})
    sources = {partition: index.sources(partition) for partition in partitions}
    found = []
    for one in slices:
        base = one.base_file
        source = sources[one.partition].get(base.name.file_id) if base is not None else None
        if base is not None and source is not None:
            path, is_live = index.place(source)[1], base.relative_path in live
            found.append(_Kept(skeleton=one, source=source, path=path, is_live=is_live))
    return found


def _statuses(index: BootstrapIndex, kept: list[_Kept]) -> Mapping[str, FileStatus]:
    """By path: each folder of the source is listed once."""
    if not kept:
        return {}
    storage, _ = index.place(kept[0].source)
    folders = sorted({one.path.rpartition("/")[0] for one in kept})
    return {status.path: status for folder in folders for status in storage.list(folder)}


def _is_another_time(status: FileStatus, source: SourceFile) -> bool:
    return source.modified_ms > 0 and status.modified_ms // _SECOND_MS != source.modified_ms // _SECOND_MS


def _spec_of(config: TableConfig) -> KeySpec | None:
    """How record keys are made; None where the table alone does not say it."""
    fields = config.record_key_fields
    name = config.key_generator_class or infer_class(fields, config.partition_fields)
    try:
        generator = generator_of(name)
    except UnsupportedTableError:
        return None
    if not fields or (generator is Generator.COMPLEX and len(fields) == 1):
        return None  # of one field, some releases of Hudi write the name too
    plain = name if generator is Generator.GLOBAL_DELETE else NON_PARTITIONED
    return KeySpec.of(fields, (), hive_style=False, url_encode=False, class_name=plain)


@dataclass(frozen=True, slots=True)
class _KeyLook:
    """The comparison of one source file; pickles."""

    reader: BootstrapReader
    spec: KeySpec

    def __call__(self, one: _Kept) -> Finding | None:
        try:
            schema = self._key_columns(one)
            return self._other_key(one, schema) if schema is not None else None
        except BadRecordError as failure:
            return error(2, one.path, f"it was changed after {one.name} was bootstrapped: {failure.what}", _RESTORE)
        except HudiError:
            return None  # what reads all rows names it

    def _key_columns(self, one: _Kept) -> pa.Schema | None:
        """As the source has them; None where the text of one depends on more than its value."""
        storage, path = self.reader.index.place(one.source)
        stored = open_base_file(storage, path).schema_arrow
        reported = folder_values(one.source.partition, self.reader.partition_fields)
        fields = []
        for name in dict.fromkeys(field.partition(".")[0] for field in self.spec.record_key_fields):
            if name in stored.names:
                fields.append(stored.field(name))
            elif name in reported:
                fields.append(pa.field(name, pa.string()))
            else:
                return None
        schema = pa.schema(fields).remove_metadata()
        nothing = schema.empty_table()
        kinds = [column_of(nothing, name).type for name in self.spec.record_key_fields]
        return schema if all(_has_one_text(kind) for kind in kinds) else None

    def _other_key(self, one: _Kept, schema: pa.Schema) -> Finding | None:
        base = one.skeleton.base_file
        if base is None:
            return None
        wanted = pa.schema([pa.field(RECORD_KEY, pa.string()), *schema])
        first = 0
        for batch in self.reader.read(base, wanted, {}):
            made, had = record_keys(batch, self.spec), batch.column(RECORD_KEY)
            place = pc.index(pc.equal(made, had), False).as_py()
            if place >= 0:
                what = (
                    f"its row {first + place} makes the key {made[place].as_py()!r}, and {one.name} has "
                    f"{had[place].as_py()!r} there: it was changed after the bootstrap"
                )
                return error(2, one.path, what, _RESTORE)
            first += batch.num_rows
        return None


def _has_one_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind)
    ) or pa.types.is_boolean(kind)
