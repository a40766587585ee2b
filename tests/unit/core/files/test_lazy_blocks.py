"""The contents of log blocks are read when they are needed, and of columns and keys no more than that."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest

from spark_jobs.core.files.log_block import BlockType
from spark_jobs.core.files.log_contents import read_rows
from spark_jobs.core.files.log_format import LogFormat
from spark_jobs.core.files.log_reader import read_blocks, survey_log_files
from spark_jobs.core.files.log_writer import command_block, data_blocks
from spark_jobs.core.schema.avro import arrow_schema_of, avro_schema_of, with_meta_fields
from spark_jobs.core.schema.meta_fields import META_SCHEMA, RECORD_KEY

pytestmark = pytest.mark.unit

T1, T2, T3 = "20240101000000000", "20240102000000000", "20240103000000000"
ROWS = 4000
AVRO = with_meta_fields(avro_schema_of(pa.schema([("id", pa.int64()), ("noise", pa.string())]), "t"))


class Watched(io.RawIOBase):
    """Bytes as a file that counts what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.taken = 0
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = 0, /) -> int:
        return self._data.seek(position, whence)

    def tell(self) -> int:
        return self._data.tell()

    def read(self, nbytes: int = -1, /) -> bytes:
        found = self._data.read(nbytes)
        self.taken += len(found)
        return found


def block(kind: BlockType, instant: str) -> bytes:
    chance = np.random.default_rng(int(instant))
    noise = [chance.bytes(60).hex() for _ in range(ROWS)]
    meta = {name: pa.nulls(ROWS, pa.string()) for name in META_SCHEMA.names}
    keys = pa.array([f"k{number:05}" for number in range(ROWS)])
    rows = pa.table({**meta, RECORD_KEY: keys, "id": pa.array(range(ROWS)), "noise": noise})
    made = data_blocks(rows.select(arrow_schema_of(AVRO).names), AVRO, instant, LogFormat(data_block=kind))
    return b"".join(bytes(piece) for one in made for piece in one.pieces)


@pytest.mark.parametrize("kind", [BlockType.AVRO_DATA_BLOCK, BlockType.PARQUET_DATA_BLOCK, BlockType.HFILE_DATA_BLOCK])
def test_a_survey_reads_heads_alone(kind: BlockType) -> None:
    parts = [block(kind, T1), block(kind, T2), command_block(T3, T2)]
    watched = Watched(b"".join(parts))
    survey = survey_log_files([("log", lambda: pa.PythonFile(watched, "r"))], lambda _: True, None)
    assert [one.block.instant for one in survey.valid] == [T1]
    assert watched.taken < 20_000 < len(parts[0])


def test_of_a_parquet_block_only_the_columns_asked_for_are_read() -> None:
    data = block(BlockType.PARQUET_DATA_BLOCK, T1)
    schema = arrow_schema_of(AVRO)
    taken = {}
    for name in ("id", "noise"):
        watched = Watched(data)
        (one,) = read_blocks(pa.PythonFile(watched, "r"))
        assert read_rows(one, pa.schema([schema.field(name)])).num_rows == ROWS
        taken[name] = watched.taken
    assert taken["id"] < len(data) / 3 < taken["noise"]
