"""Any Arrow table of the supported types comes back equal from base files, from log blocks, and from a table with a
metadata table, whose statistics leave out no row that a query asks for.
"""

from __future__ import annotations

import datetime as dt
import string
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.files.base_file import open_base_file, read_batches
from spark_jobs.core.files.base_file_writer import BaseFileFormat, BaseFileWriter, BloomSettings
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_format import LogFormat
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.log_writer import data_blocks, schema_text
from spark_jobs.core.format.instant import Action
from spark_jobs.core.format.metadata_layout import MetadataPartition
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.handles.context import TaskScope, WriteContext
from spark_jobs.core.handles.create import CreateHandle
from spark_jobs.core.merge.payload import OVERWRITE
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS, read_footer_filter
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.keys import bloom_filter_key, column_stats_key
from spark_jobs.core.metadata_table.scan import read_records
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields, without_meta_fields
from spark_jobs.core.schema.conform import conform
from spark_jobs.core.schema.meta_fields import META_SCHEMA, RECORD_KEY
from spark_jobs.core.table import HudiTable
from spark_jobs.core.timeline.commit_metadata import SCHEMA_KEY, CommitMetadata, OperationType
from spark_jobs.core.timeline.write_stat import written_paths
from spark_jobs.core.transaction.transaction import begin
from tests.support.folder import Folder
from tests.unit.core.metadata_table.agreement import metadata_table_of

pytestmark = pytest.mark.unit

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.text(string.ascii_letters + "_", min_size=1, max_size=6)
SHARED = [HealthCheck.function_scoped_fixture]
"""All examples of a test are below one folder."""
MOMENTS = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9998, 1, 1))


def whole(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(lambda number: Decimal(f"{number}e-{scale}"))


def cut(unit: str) -> Callable[[dt.datetime], dt.datetime]:
    if unit == "s":
        return lambda moment: moment.replace(microsecond=0)
    return lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)


LEAVES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), whole(8)),
    (pa.uint8(), whole(8, signed=False)),
    (pa.int16(), whole(16)),
    (pa.uint16(), whole(16, signed=False)),
    (pa.int32(), whole(32)),
    (pa.uint32(), whole(32, signed=False)),
    (pa.int64(), whole(64)),
    (pa.float32(), st.floats(width=32, allow_nan=False)),
    (pa.float64(), st.floats(allow_nan=False)),
    (pa.string(), TEXT),
    (pa.large_string(), TEXT),
    (pa.dictionary(pa.int32(), pa.string()), TEXT),
    (pa.binary(), st.binary(max_size=12)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.decimal128(5, 2), decimals(5, 2)),
    (pa.decimal128(18, 0), decimals(18, 0)),
    (pa.decimal128(38, 10), decimals(38, 10)),
    (pa.date32(), st.dates()),
    (pa.time32("ms"), st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))),
    (pa.time64("us"), st.times()),
    (pa.timestamp("s", tz="UTC"), MOMENTS.map(cut("s"))),
    (pa.timestamp("ms", tz="UTC"), MOMENTS.map(cut("ms"))),
    (pa.timestamp("us", tz="Europe/Paris"), MOMENTS),
    (pa.timestamp("ms"), MOMENTS.map(cut("ms"))),
    (pa.timestamp("us"), MOMENTS),
]


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, st.SearchStrategy[Any]]:
    """A type, and values of it."""
    form = draw(st.sampled_from(("leaf", "leaf", "struct", "list", "large_list", "map"))) if depth else "leaf"
    if form == "leaf":
        return draw(st.sampled_from(LEAVES))
    if form == "struct":
        inner = draw(st.dictionaries(NAMES, typed_values(depth - 1), min_size=1, max_size=3))
        values = st.fixed_dictionaries({name: st.none() | value for name, (_, value) in inner.items()})
        return pa.struct([(name, kind) for name, (kind, _) in inner.items()]), values
    kind, value = draw(typed_values(depth - 1))
    if form == "map":
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        pairs = st.dictionaries(TEXT, st.none() | value, max_size=3).map(lambda found: list(found.items()))
        return pa.map_(pa.string(), kind), pairs
    make = pa.list_ if form == "list" else pa.large_list
    return make(kind), st.lists(st.none() | value, max_size=3)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows with meta columns and up to four more."""
    columns = draw(st.dictionaries(NAMES, typed_values(), min_size=1, max_size=4))
    count = draw(st.integers(1, 6))
    arrays = []
    for kind, value in columns.values():
        values = draw(st.lists(st.none() | value, min_size=count, max_size=count))
        arrays.append(pa.array(values, kind))
    keys = pa.array([f"key {number}" for number in range(count)])
    meta = [keys if name == RECORD_KEY else pa.nulls(count, pa.string()) for name in META_SCHEMA.names]
    return pa.table([*meta, *arrays], names=[*META_SCHEMA.names, *columns])


def as_read(table: pa.Table) -> tuple[pa.Table, dict[str, Any]]:
    """The table as readers give it, and its Avro schema with the meta columns."""
    own = pa.schema([field for field in table.schema if field.name not in META_SCHEMA.names])
    avro = with_meta_fields(avro_schema_of(own, "t"))
    expected = conform(table, arrow_schema_of(avro))
    assert isinstance(expected, pa.Table)
    expected.validate(full=True)
    return expected, avro


@settings(max_examples=120, deadline=None, suppress_health_check=SHARED)
@given(tables())
def test_base_files(root: Folder, table: pa.Table) -> None:
    expected, avro = as_read(table)
    path = str(root / f"{SYSTEM_CLOCK.new_uuid()}.parquet")
    file_format = BaseFileFormat(
        schema=expected.schema,
        avro_schema=schema_text(avro),
        codec="zstd",
        codec_level=1,
        dictionary=True,
        bloom=None,
    )
    writer = BaseFileWriter(root.storage, path, file_format)
    for batch in expected.combine_chunks().to_batches():
        writer.write(batch)
    writer.close()
    found = [conform(batch, expected.schema) for batch in read_batches(open_base_file(root.storage, path))]
    assert pa.Table.from_batches(found).equals(expected)


@pytest.mark.parametrize("kind", [BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK])
@settings(max_examples=60, deadline=None)
@given(tables())
def test_log_blocks(kind: BlockType, table: pa.Table) -> None:
    expected, avro = as_read(table)
    blocks = data_blocks(expected, avro, "20240101000000000", LogFormat(data_block=kind))
    content = b"".join(bytes(piece) for block in blocks for piece in block.pieces)
    (block,) = read_blocks(content)
    found = read_rows(block, expected.schema)
    found.validate(full=True)
    assert found.equals(expected)


INDEXED = {
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
}
PLACES = st.lists(st.sampled_from(["", "a", "p=1/q=x y", "ä"]), min_size=1, max_size=3, unique=True)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow, *SHARED])
@given(tables(), PLACES)
def test_metadata_table(root: Folder, table: pa.Table, places: list[str]) -> None:
    """One commit, a base file in each partition: the records of all three indexes, listings, what queries find."""
    expected, avro = as_read(table)
    path = root / SYSTEM_CLOCK.new_uuid()
    partitions = [""] if "" in places else places
    stored = write_once(path, expected, avro, partitions)
    found = path.table()
    assert set(found.config.metadata_partitions) == {"files", "column_stats", "bloom_filters"}
    metadata = metadata_table_of(path)
    listed = {one.relative_path: one.size for one in found.view().latest_base_files()}
    assert listed == {name: (path / name).size for name in stored}
    assert found.partitions() == sorted(partitions)
    statistics = read_records(metadata, MetadataPartition.COLUMN_STATS, COLUMN_STATS)
    filters = read_records(metadata, MetadataPartition.BLOOM_FILTERS, BLOOM_FILTERS)
    (instant,) = (one.timestamp for one in found.timeline.completed_commits())
    for name in stored:
        partition, _, file = name.rpartition("/")
        for one in read_footer_stats(path.storage, f"{path}/{name}", expected.schema.names):
            assert statistics[column_stats_key(one.column, partition, file)] == one
        footer = read_footer_filter(path.storage, f"{path}/{name}", instant)
        assert filters[bloom_filter_key(partition, file)] == footer
    rows = pa.concat_tables([expected] * len(partitions))
    assert found.scan().to_arrow().select(expected.schema.names).num_rows == rows.num_rows
    for field in expected.schema:
        if pa.types.is_nested(field.type) or field.name in META_SCHEMA.names:
            continue
        for value in [*expected.column(field.name).unique(), pa.scalar(None, field.type)]:
            condition = pc.field(field.name) == value if value.is_valid else pc.field(field.name).is_null()
            wanted = rows.filter(condition).select([field.name])
            assert found.scan(columns=[field.name], filter=condition).to_arrow().equals(wanted), (field, value)


def write_once(path: Folder, rows: pa.Table, avro: dict[str, Any], partitions: list[str]) -> list[str]:
    """A table of one commit with the rows in a base file of each partition; the paths of the files."""
    fields = ["p"] if partitions != [""] else []
    made = HudiTable.create(str(path), name="t", record_key_fields=["k"], partition_fields=fields, lake=path.lake)
    transaction = begin(made.transaction_settings(INDEXED), Action.COMMIT)
    assert transaction is not None
    transaction.to_inflight()
    context = WriteContext(
        storage=made.storage,
        base_path=made.base_path,
        format=VERSION_6,
        instant=transaction.time,
        file_format=BaseFileFormat(
            schema=rows.schema,
            avro_schema=schema_text(avro),
            codec="zstd",
            codec_level=1,
            dictionary=True,
            bloom=BloomSettings(kind="DYNAMIC_V0", entries=10, fpp=0.01, max_entries=100),
        ),
        payload=OVERWRITE,
        ordering_field=None,
        max_file_size=1 << 30,
    )
    stats = []
    for number, partition in enumerate(partitions):
        handle = CreateHandle(
            context, TaskScope(task=number, write_token=f"{number}-0-1"), partition, SYSTEM_CLOCK.new_uuid()
        )
        handle.write(rows)
        stats += handle.close()
    metadata = CommitMetadata(
        write_stats=tuple(stats),
        operation_type=OperationType.INSERT,
        extra_metadata={SCHEMA_KEY: schema_text(without_meta_fields(avro))},
    )
    transaction.publish(metadata.payload(), frozenset(), written=written_paths(stats))
    return sorted(str(one.path) for one in stats)
