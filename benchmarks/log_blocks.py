"""Data blocks of log files: how fast they are written, read and merged, and how large they are, by format.

    python benchmarks/log_blocks.py --scale 0.02

Rows are TPC-H's lineitem by tpchgen-cli with meta columns: flat, and with some columns as struct, list and map. The
records of the Avro block are read beside it by fastavro, in the same run. No Java and no Spark take part.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.lineitem_data import KEY, PRECOMBINE, lineitem_data  # noqa: E402
from spark_jobs.core.files.log_block import BlockType, LogBlock  # noqa: E402
from spark_jobs.core.files.log_contents import CONTENT_HEAD, read_rows  # noqa: E402
from spark_jobs.core.files.log_format import DEFAULT_LOG_FORMAT, LogFormat  # noqa: E402
from spark_jobs.core.files.log_reader import read_blocks, survey_log_files  # noqa: E402
from spark_jobs.core.files.log_writer import data_blocks  # noqa: E402
from spark_jobs.core.merge.log_changes import fold_log  # noqa: E402
from spark_jobs.core.merge.payload import OVERWRITE  # noqa: E402
from spark_jobs.core.merge.with_base import BaseMerge  # noqa: E402
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields  # noqa: E402
from spark_jobs.core.schema.meta_fields import META_FIELDS, RECORD_KEY  # noqa: E402

INSTANTS: Final = tuple(f"2026010100000000{number}" for number in range(4))
FORMATS: Final = {
    "Avro": replace(DEFAULT_LOG_FORMAT, data_block=BlockType.AVRO_DATA_BLOCK),
    "Parquet, zstd": replace(DEFAULT_LOG_FORMAT, data_block=BlockType.PARQUET_DATA_BLOCK),
    "HFile, gz": replace(DEFAULT_LOG_FORMAT, data_block=BlockType.HFILE_DATA_BLOCK),
}
FEW: Final = (RECORD_KEY, PRECOMBINE, "l_extendedprice")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Rows with meta columns and their Avro schema; ``batches`` are four writes, each of a quarter of the keys."""

    name: str
    rows: pa.Table
    avro: dict[str, Any]

    @property
    def schema(self) -> pa.Schema:
        return arrow_schema_of(self.avro)

    def batches(self) -> Iterator[pa.Table]:
        random = np.random.default_rng(1)
        for version in range(len(INSTANTS)):
            chosen = pa.array(np.sort(random.permutation(self.rows.num_rows)[: self.rows.num_rows // 4]))
            rows = self.rows.take(chosen)
            place = rows.schema.get_field_index(PRECOMBINE)
            yield rows.set_column(place, PRECOMBINE, pa.repeat(pa.scalar(version + 1, pa.int64()), rows.num_rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=0.02, help="TPC-H scale factor; 1 has 6 million rows")
    parser.add_argument("--rounds", type=int, default=3, help="the median of so many is told")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".benchmark-cache", help="where the generated rows are kept"
    )
    args = parser.parse_args()
    rows = _with_meta(pq.read_table(lineitem_data(args.scale, args.cache).base))
    pa.set_cpu_count(1)
    for case in (_case("flat", rows), _case("nested", _nested(rows))):
        _run(case, args.rounds)


def _run(case: Case, rounds: int) -> None:
    count = case.rows.num_rows
    print(f"\n{case.name}: {count:,} records, {case.rows.nbytes / 1e6:.1f} MB in Arrow; one core, median of {rounds}")
    print(f"{'records per second':34}{'write':>12}{'read':>12}{'3 columns':>12}{'MB':>8}{'merge s':>10}")
    few = pa.schema([case.schema.field(name) for name in FEW])
    for name, log_format in FORMATS.items():
        content = _log(case, log_format)
        blocks = list(read_blocks(content))
        assert sum(read_rows(block).num_rows for block in blocks) == count
        numbers = (
            count / _median(rounds, partial(_log, case, log_format)),
            count / _median(rounds, partial(_rows, blocks, case.schema)),
            count / _median(rounds, partial(_rows, blocks, few)),
        )
        merge = _merge_seconds(case, log_format, rounds)
        print(f"{name:34}" + "".join(f"{each:12,.0f}" for each in numbers) + f"{len(content) / 1e6:8.1f}{merge:10.3f}")
    _fastavro(case, rounds)


def _fastavro(case: Case, rounds: int) -> None:
    """The same records by fastavro: from the block one by one, and from an object container file."""
    count, schema = case.rows.num_rows, fastavro.parse_schema(case.avro)
    contents = [block.read_content() for block in read_blocks(_log(case, FORMATS["Avro"]))]

    def from_blocks() -> list[Any]:
        found = []
        for content in contents:
            at = CONTENT_HEAD.size
            while at < len(content):
                size = int.from_bytes(content[at : at + 4], "big")
                found.append(fastavro.schemaless_reader(io.BytesIO(content[at + 4 : at + 4 + size]), schema, None))
                at += 4 + size
        return found

    records = from_blocks()
    container = io.BytesIO()
    fastavro.writer(container, schema, records, codec="null", sync_interval=1 << 20)
    file = container.getvalue()
    ways: dict[str, Callable[[], Any]] = {
        "fastavro, block, to Python": from_blocks,
        "fastavro, container, to Python": lambda: list(fastavro.reader(io.BytesIO(file))),
        "fastavro, block, to Arrow": lambda: pa.Table.from_pylist(_arrow_rows(from_blocks()), schema=case.schema),
    }
    for name, work in ways.items():
        print(f"{name:34}{'':12}{count / _median(rounds, work):12,.0f}")


def _arrow_rows(records: list[Any]) -> list[Any]:
    for record in records:
        if "tags" in record:
            record["tags"] = list(record["tags"].items())
    return records


def _merge_seconds(case: Case, log_format: LogFormat, rounds: int) -> float:
    """Four log files, each with a quarter of the rows in a new version, over all rows; as a query reads them."""
    logs = [
        (
            f"log.{number}",
            b"".join(piece for block in data_blocks(rows, case.avro, instant, log_format) for piece in block.pieces),
        )
        for number, (instant, rows) in enumerate(zip(INSTANTS, case.batches(), strict=True))
    ]
    files = [(name, lambda content=content: pa.BufferReader(content)) for name, content in logs]
    base = case.rows.cast(case.schema).combine_chunks().to_batches(max_chunksize=1 << 16)

    def work() -> None:
        survey = survey_log_files(files, lambda instant: True, None)
        merge = BaseMerge(fold_log(survey.read(case.schema), case.schema, PRECOMBINE), OVERWRITE, PRECOMBINE)
        assert sum(merge.merge(batch).rows.num_rows for batch in base) == case.rows.num_rows

    return _median(rounds, work)


def _log(case: Case, log_format: LogFormat) -> bytes:
    blocks = data_blocks(case.rows, case.avro, INSTANTS[0], log_format)
    return b"".join(itertools.chain.from_iterable(block.pieces for block in blocks))


def _rows(blocks: Sequence[LogBlock], schema: pa.Schema) -> list[pa.Table]:
    return [read_rows(block, schema) for block in blocks]


def _median(rounds: int, work: Callable[[], Any]) -> float:
    seconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds)


def _case(name: str, rows: pa.Table) -> Case:
    data = pa.schema([field for field in rows.schema if field.name not in META_FIELDS])
    avro = json.loads(json.dumps(with_meta_fields(avro_schema_of(data, "lineitem"))))
    return Case(name=name, rows=rows, avro=avro)


def _with_meta(rows: pa.Table) -> pa.Table:
    count = rows.num_rows
    numbers: Any = pc.cast(pa.array(range(count), pa.int64()), pa.string())
    joined: Any = pc.binary_join_element_wise
    meta = {
        "_hoodie_commit_time": pa.repeat(pa.scalar(INSTANTS[0]), count),
        "_hoodie_commit_seqno": joined(pa.scalar(f"{INSTANTS[0]}_0"), numbers, "_"),
        RECORD_KEY: rows[KEY],
        "_hoodie_partition_path": pa.repeat(pa.scalar("1995"), count),
        "_hoodie_file_name": pa.repeat(pa.scalar("3f0c6a2e-5b0e-4b8b-91d4-6a1f4b7f1c55-0"), count),
    }
    for name in reversed(META_FIELDS):
        rows = rows.add_column(0, name, meta[name])
    return rows


def _nested(rows: pa.Table) -> pa.Table:
    """The prices as a struct, the dates as a list, the flags as a map."""
    count = rows.num_rows
    rows = rows.combine_chunks()

    def column(name: str) -> Any:
        return rows[name].chunk(0)

    prices = pa.StructArray.from_arrays(
        [column("l_quantity"), column("l_extendedprice"), column("l_discount"), column("l_tax")],
        names=["quantity", "price", "discount", "tax"],
    )
    dates: Any = pa.concat_arrays([column("l_shipdate"), column("l_commitdate"), column("l_receiptdate")])
    by_row = np.arange(3 * count).reshape(3, count).T.ravel()
    offsets = pa.array(np.arange(count + 1) * 3, pa.int32())
    values: Any = pa.concat_arrays([column("l_returnflag"), column("l_linestatus")]).take(
        pa.array(np.arange(2 * count).reshape(2, count).T.ravel())
    )
    keys = pa.array(["flag", "status"]).take(pa.array(np.tile([0, 1], count)))
    tags = pa.MapArray.from_arrays(pa.array(np.arange(count + 1) * 2, pa.int32()), keys, values)
    kept = rows.drop(
        [
            "l_quantity",
            "l_discount",
            "l_tax",
            "l_shipdate",
            "l_commitdate",
            "l_receiptdate",
            "l_returnflag",
            "l_linestatus",
        ]
    )
    return (
        kept.append_column("prices", prices)
        .append_column("dates", pa.ListArray.from_arrays(offsets, dates.take(pa.array(by_row))))
        .append_column("tags", tags)
    )


if __name__ == "__main__":
    main()
