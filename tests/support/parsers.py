"""Every parser of files, with whole files of its kind that Hudi or we wrote."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.config.java_properties import parse_properties
from spark_jobs.core.config.table_config import read_table_config
from spark_jobs.core.errors import HudiError
from spark_jobs.core.files.base_file import footer_index, open_base_file, read_batches
from spark_jobs.core.files.bloom import DYNAMIC_V0, SIMPLE, BloomFilter
from spark_jobs.core.files.delete_records import decode_delete_records, encode_delete_records
from spark_jobs.core.files.hfile.reader import HFileReader
from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_contents import ROW_BLOCKS, read_rows
from spark_jobs.core.files.log_reader import read_blocks
from spark_jobs.core.files.markers import marker_folder, read_markers
from spark_jobs.core.files.names import parse_marker
from spark_jobs.core.files.partition_metafile import list_partitions
from spark_jobs.core.format.instant import Action, Instant, State
from spark_jobs.core.format.instant_time import parse_instant_time
from spark_jobs.core.format.v6.file_names import BaseFileName, parse_base_file_name, parse_log_file_name
from spark_jobs.core.format.v6.instant_names import parse_instant
from spark_jobs.core.format.v6.layout import VERSION_6
from spark_jobs.core.lake import LAKE
from spark_jobs.core.locks.file_lock import FileLock, FileLockSettings
from spark_jobs.core.locks.owner import Owner
from spark_jobs.core.metadata_table.bloom_filters import BLOOM_FILTERS, StoredBloomFilter, read_footer_filter
from spark_jobs.core.metadata_table.changes import changes_of
from spark_jobs.core.metadata_table.column_stats import COLUMN_STATS, ColumnStats, Wrapped
from spark_jobs.core.metadata_table.footer_stats import read_footer_stats
from spark_jobs.core.metadata_table.record_cells import RECORD_LOCATIONS, RecordLocation
from spark_jobs.core.metadata_table.record_locations import RecordIndexShard
from spark_jobs.core.metadata_table.records import FILES, FileEntry
from spark_jobs.core.metadata_table.schema import STORED_TEXT
from spark_jobs.core.read.table_schema import schema_of_file
from spark_jobs.core.schema.avro import arrow_schema_of
from spark_jobs.core.schema.history import read_history
from spark_jobs.core.schema.internal import InternalSchema, parse_history
from spark_jobs.core.storage import LocalStorage
from spark_jobs.core.timeline.active import ActiveTimeline
from spark_jobs.core.timeline.archive.known import archive_of
from spark_jobs.core.timeline.archive.v6.files import read_merge_plan
from spark_jobs.core.timeline.archived import ArchivedTimeline
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload
from spark_jobs.core.transaction.heartbeat import HeartbeatSettings, read_pulse
from spark_jobs.core.view.bootstrap import BY_FILE_ID, BY_PARTITION, BootstrapIndex
from spark_jobs.core.view.file_slice import BaseFile
from spark_jobs.core.view.pending import read_pending_services
from spark_jobs.ddl.statement import parse_create_table
from tests.support.payloads import commit_in, payload_in
from tests.unit.core.support import HandClock

STORAGE = LocalStorage()
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
CORPUS = Path(__file__).resolve().parents[1] / "fuzz" / "corpus"
T = "20240506070809123"
Parse = Callable[[bytes], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parser:
    """``seeds`` are whole files of its kind; what it is given besides is made of them, or is of no kind."""

    parse: Parse
    seeds: Callable[[], list[bytes]]


def slug(name: str) -> str:
    """Of a parser, for a folder."""
    return name.replace(" ", "-").lower()


def kept_inputs(name: str) -> list[bytes]:
    """What ``tests/fuzz`` found to reach branches of a parser."""
    folder = CORPUS / slug(name)
    return [path.read_bytes() for path in sorted(folder.iterdir())] if folder.is_dir() else []


@cache
def members(archive: str, part: str) -> list[bytes]:
    """The files of a zipped table whose paths have ``part`` in them, the empty ones and Hadoop's checksums left out."""
    with zipfile.ZipFile(FIXTURES / f"{archive}.zip") as packed:
        names = [name for name in packed.namelist() if part in name and not name.endswith((".crc", "/"))]
        return [data for data in map(packed.read, sorted(names)) if data]


def some(archive: str, part: str, count: int = 3) -> Callable[[], list[bytes]]:
    return lambda: members(archive, part)[:count]


FILE = BaseFile(partition="", name=BaseFileName("a", "0", T), size=1)


def at(path: str, read: Callable[[Path], object]) -> Parse:
    """A parser of a file in a table's folder, which is made anew for each."""

    def parse(data: bytes) -> object:
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / path
            target.parent.mkdir(parents=True)
            target.write_bytes(data)
            return read(Path(folder))

    return parse


def rows_of_blocks(data: bytes) -> None:
    for block in read_blocks(data):
        if block.type in ROW_BLOCKS:
            read_rows(block)
        elif block.type is BlockType.DELETE_BLOCK:
            decode_delete_records(block.read_content())


def hfile(data: bytes) -> None:
    reader = HFileReader(data, "t.hfile")
    list(reader.entries())
    list(reader.prefixes([b"a"]))


def base_file(folder: Path) -> None:
    path = str(folder / "a.parquet")
    for read in (
        lambda: read_footer_stats(STORAGE, path, ["id", "ts", "_hoodie_record_key"]),
        lambda: read_footer_filter(STORAGE, path, T),
        lambda: list(read_batches(open_base_file(STORAGE, path), name=path)),
        lambda: footer_index(open_base_file(STORAGE, path)),
    ):
        with suppress(HudiError):
            read()


def archive(folder: Path) -> None:
    found = ArchivedTimeline.load(archive_of(VERSION_6, STORAGE, str(folder)))
    for instant in found.instants[:5]:
        for read in (found.payload, found.commit_metadata):
            with suppress(HudiError):
                read(instant)


def services(folder: Path) -> None:
    """What a view of files takes of the plans and results on a timeline."""
    meta = folder / ".hoodie"
    timeline = ActiveTimeline.load(STORAGE, str(meta), str(meta / "archived"), format=VERSION_6)
    read_pending_services(timeline, HandClock())


def changes(action: Action) -> Parse:
    """What a metadata table takes of a result."""
    done = Instant(T, action, State.COMPLETED)
    return lambda data: changes_of(done, payload_in(data, done))


def bootstrap(folder: Path) -> None:
    index = BootstrapIndex(lake=LAKE, storage=STORAGE, base_path=str(folder), source_path="/source")
    if (folder / BY_PARTITION).exists():
        index.sources("2024/p=1")
    else:
        index.source_of("2024/p=1", "f-0")


def heartbeat(folder: Path) -> None:
    read_pulse(STORAGE, str(folder), T, HeartbeatSettings(interval_ms=1000, misses=2), SYSTEM_CLOCK)


def record_index(path: Path) -> None:
    shard = RecordIndexShard(storage=STORAGE, base_path=str(path), logs=())
    shard.read_all()
    shard.locations(pa.array(["1", "x"]))


def records_by_schema(data: bytes) -> None:
    for codec in (FILES, COLUMN_STATS, BLOOM_FILTERS, RECORD_LOCATIONS):
        for start in range(6):
            with suppress(HudiError):
                codec.decode(bytes([2 * start]) * 40, data.decode("utf-8", "replace"), "x")


def lock(folder: Path) -> None:
    FileLock(STORAGE, FileLockSettings(path=str(folder / "lock"), wait_ms=0, expire_ms=0), SYSTEM_CLOCK).acquire()


def as_json(data: bytes) -> Any:
    """For the parsers of what stands in a JSON object; None where the bytes are none."""
    with suppress(ValueError, RecursionError):
        return json.loads(data.decode("utf-8", "replace"))


def names(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    for parse in (parse_base_file_name, parse_log_file_name, parse_marker, parse_instant):
        parse(text)
    with suppress(HudiError):
        parse_instant_time(text)


def bloom(data: bytes) -> None:
    for kind in (SIMPLE, DYNAMIC_V0):
        with suppress(HudiError):
            BloomFilter.from_base64(data, kind)


def blooms() -> list[bytes]:
    return [BloomFilter.create(10, 0.01).to_base64().encode(), BloomFilter.create(1000, 0.001).to_base64().encode()]


def properties_with(data: bytes) -> bytes:
    return data + b"\nhoodie.table.name=t\n"


OWNER = json.dumps(
    {"owner": Owner(host="a-host", pid=4321, started=8765).to_json(), "token": "t", "idempotencyKey": None}
).encode()
LOCATION = RecordLocation(partition="p", file_id="0a1b2c3d-0000-4000-8000-000000000000-0", instant=T)
STATS = ColumnStats(file_name="f", column="c", low=Wrapped("LongWrapper", 1), high=Wrapped("StringWrapper", "x"))
FILTER = StoredBloomFilter(kind=SIMPLE, instant=T, text=b"AAAA")
DDL = (
    b"create table if not exists a.t (id bigint not null comment 'x', m map<string, array<struct<a: int>>>, p string) "
    b"using hudi partitioned by (p) options (a = 'b') tblproperties (type = 'mor', primaryKey = 'id') location '/x'"
)
NAMES = [
    f".f-0_{T}.log.1_0-1-2.cdc",
    f"f-0_0-1-2_{T}.parquet",
    f"{T}.compaction.requested",
    f"p=1/f_{T}.parquet.marker.CREATE",
    T,
]
PAYLOADS = ("clean", "clean.requested", "rollback", "rollback.requested", "replacecommit.requested", "savepoint")

PARSERS: dict[str, Parser] = {
    "properties": Parser(parse=parse_properties, seeds=some("tables/mor_logs", "hoodie.properties", 1)),
    "table config": Parser(
        parse=at(".hoodie/hoodie.properties", lambda folder: read_table_config(STORAGE, str(folder), SYSTEM_CLOCK)),
        seeds=lambda: [properties_with(data) for data in members("tables/mor_logs", "hoodie.properties")[:1]],
    ),
    "commit": Parser(parse=lambda data: commit_in(data), seeds=some("tables/archived", ".deltacommit", 2)),
    **{
        name: Parser(parse=lambda data: decode_payload(data, "x"), seeds=some("tables/archived", f".{name}", 1))
        for name in PAYLOADS
    },
    "compaction plan": Parser(
        parse=lambda data: decode_payload(data, "x"), seeds=some("log_tables/logs_compacted", "compaction.requested", 1)
    ),
    "pending compaction": Parser(
        parse=at(f".hoodie/{T}.compaction.requested", services),
        seeds=some("log_tables/logs_compacted", "compaction.requested", 1),
    ),
    "pending clustering": Parser(
        parse=at(f".hoodie/{T}.replacecommit.requested", services),
        seeds=some("tables/archived", ".replacecommit.requested", 1),
    ),
    "replace commit": Parser(
        parse=at(f".hoodie/{T}.replacecommit", services), seeds=some("tables/cow_clustered", ".replacecommit", 3)
    ),
    "files of a commit": Parser(parse=changes(Action.DELTA_COMMIT), seeds=some("tables/archived", ".deltacommit", 2)),
    "files of a clean": Parser(parse=changes(Action.CLEAN), seeds=some("tables/archived", ".clean", 1)),
    "files of a rollback": Parser(parse=changes(Action.ROLLBACK), seeds=some("tables/archived", ".rollback", 1)),
    "archive": Parser(
        parse=at("archived/.commits_.archive.1_1-0-1", lambda folder: archive(folder / "archived")),
        seeds=lambda: [data[:20_000] for data in members("tables/archived", ".commits_.archive")],
    ),
    "merge plan": Parser(
        parse=at("archived/mergeArchivePlan", lambda folder: read_merge_plan(STORAGE, str(folder / "archived"))),
        seeds=some("tables/archived", ".clean", 1),
    ),
    "avro log": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_avro", "/.", 6)),
    "parquet log": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_parquet", ".log.", 2)),
    "hfile log": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_hfile", ".log.", 2)),
    "compacted log": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_compacted", ".log.", 2)),
    "rolled back log": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_rolled_back", ".log.", 2)),
    "change data": Parser(parse=rows_of_blocks, seeds=some("log_tables/logs_change_data", ".cdc", 2)),
    "log of Hudi 0.9": Parser(parse=rows_of_blocks, seeds=some("old_tables/mor_v2", ".log.", 3)),
    "log of Hudi 0.13": Parser(parse=rows_of_blocks, seeds=some("old_tables/mor_v5", ".log.", 3)),
    "deletes": Parser(
        parse=decode_delete_records,
        seeds=lambda: [encode_delete_records(_array(["a", "bc"]), "p", _array([1, 1 << 40]))],
    ),
    "hfile": Parser(parse=hfile, seeds=some("tables/bootstrap_cow", ".hfile", 2)),
    "bloom filter": Parser(parse=bloom, seeds=blooms),
    "base file": Parser(
        parse=at("t/a.parquet", lambda folder: base_file(folder / "t")), seeds=lambda: [small_parquet()]
    ),
    "file records": Parser(
        parse=lambda data: FILES.decode(data, STORED_TEXT, "x"),
        seeds=lambda: [FILES.encode("k", {"a.parquet": FileEntry(5), "b": FileEntry(0, True)})],
    ),
    "column statistics": Parser(
        parse=lambda data: COLUMN_STATS.decode(data, STORED_TEXT, "x"), seeds=lambda: [COLUMN_STATS.encode("k", STATS)]
    ),
    "bloom records": Parser(
        parse=lambda data: BLOOM_FILTERS.decode(data, STORED_TEXT, "x"),
        seeds=lambda: [BLOOM_FILTERS.encode("k", FILTER)],
    ),
    "record locations": Parser(
        parse=lambda data: RECORD_LOCATIONS.decode(data, STORED_TEXT, "x"),
        seeds=lambda: [RECORD_LOCATIONS.encode("k", LOCATION)],
    ),
    "record index": Parser(
        parse=at("record_index/x.hfile", lambda folder: record_index(folder / "record_index" / "x.hfile")),
        seeds=lambda: [_record_cells()],
    ),
    "schema of records": Parser(
        parse=records_by_schema,
        seeds=lambda: [STORED_TEXT.encode()],
    ),
    "Avro schema": Parser(parse=lambda data: arrow_schema_of(as_json(data)), seeds=lambda: [_avro_schema()]),
    "schema of a file": Parser(
        parse=at("t/a.parquet", lambda folder: schema_of_file(STORAGE, str(folder / "t"), FILE, "t")),
        seeds=lambda: [small_parquet()],
    ),
    "schema history": Parser(
        parse=at(
            f".hoodie/.schema/{T}.schemacommit", lambda folder: read_history(STORAGE, str(folder), lambda _: True)
        ),
        seeds=some("schema_tables/altered_cow", ".schemacommit", 2),
    ),
    "schema with ids": Parser(
        parse=lambda data: InternalSchema.parse(data.decode("utf-8", "replace"), "x"),
        seeds=lambda: [_schema_with_ids()],
    ),
    "bootstrap index by file": Parser(
        parse=at(BY_FILE_ID, bootstrap), seeds=some("tables/bootstrap_cow", ".fileids/", 1)
    ),
    "bootstrap index by partition": Parser(
        parse=at(BY_PARTITION, bootstrap), seeds=some("tables/bootstrap_cow", ".partitions/", 1)
    ),
    "markers": Parser(
        parse=at(f"{marker_folder('t', T)}/MARKERS0", lambda folder: read_markers(STORAGE, str(folder / "t"), T)),
        seeds=lambda: [b"\n".join(name.encode() for name in NAMES)],
    ),
    "type of markers": Parser(
        parse=at(f"{marker_folder('t', T)}/MARKERS.type", lambda folder: read_markers(STORAGE, str(folder / "t"), T)),
        seeds=lambda: [b"TIMELINE_SERVER_BASED"],
    ),
    "partition metafile": Parser(
        parse=at("p/.hoodie_partition_metadata", lambda folder: list_partitions(STORAGE, str(folder))),
        seeds=some("tables/mor_logs", ".hoodie_partition_metadata", 1),
    ),
    "heartbeat": Parser(parse=at(f".hoodie/.heartbeat/{T}", heartbeat), seeds=lambda: [OWNER]),
    "lock": Parser(parse=at("t/lock", lambda folder: lock(folder / "t")), seeds=lambda: [OWNER]),
    "names": Parser(parse=names, seeds=lambda: [name.encode() for name in NAMES]),
    "DDL": Parser(parse=lambda data: parse_create_table(data.decode("utf-8", "replace")), seeds=lambda: [DDL]),
}


def _array(values: list[object]) -> pa.Array[Any]:
    found: pa.Array[Any] = pa.array(values)
    return found


@cache
def small_parquet() -> bytes:
    """A base file of two rows."""
    sink = io.BytesIO()
    rows = pa.table({"_hoodie_record_key": ["a", "b"], "id": [1, 2], "ts": [1.5, None], "l": [["x"], []]})
    pq.write_table(rows.replace_schema_metadata({"org.apache.hudi.bloomfilter": "AAAA"}), sink, compression="zstd")
    return sink.getvalue()


@cache
def _avro_schema() -> bytes:
    block = next(iter(read_blocks(members("log_tables/logs_avro", ".log.1_")[0])))
    return block.schema_json.encode()


@cache
def _record_cells() -> bytes:
    """A block of Hudi's, which has the form of a base file."""
    logs = (read_blocks(data) for data in members("metadata_tables/indexed_cow", ".record-index-0000-0_"))
    return next(one.read_content() for log in logs for one in log if one.type is BlockType.HFILE_DATA_BLOCK)


@cache
def _schema_with_ids() -> bytes:
    history = members("schema_tables/altered_cow", ".schemacommit")[-1]
    return parse_history(history.decode(), "x")[-1].to_text().encode()
