"""BLOOM and GLOBAL_BLOOM: only files that can hold a key are opened (Hudi: HoodieBloomIndex).

Ranges of keys tell which files can hold which keys; the pairs are sent to one task for each file, where the bloom
filter leaves a few, and these are looked for in the file's key column.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.core.config.keys import bloom as keys
from spark_jobs.core.index.from_metadata import IndexesOfMetadata
from spark_jobs.core.index.ranges import KeyRange, candidates
from spark_jobs.core.index.stored_keys import footer_filter, footer_range, found_in_base, possible
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import resolve
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.write.index.incoming import Incoming, grouped
from spark_jobs.write.index.simple import KEY_AND_BUCKET, locate_in_logs
from spark_jobs.write.tasks import BUCKET

_FOOTERS_AT_ONCE = 16
_FOOTERS_OF_DRIVER = 64
"""The driver reads the footers of so many files itself; more are read by tasks."""


def locate_by_bloom(incoming: Incoming, *, is_global: bool) -> DataFrame | None:
    """Key, partition path and bucket number of the incoming keys that a slice holds; None where none can.

    :param is_global: keys are looked for in all partitions, not in their own alone.
    """
    if not incoming.records:
        return None
    by_log = locate_in_logs(incoming)
    with_base = incoming.with_base
    if not with_base:
        return by_log
    metadata = indexes_of_metadata(incoming)
    ranges = key_ranges(incoming, with_base, metadata)
    found = _checked(incoming, with_base, _pairs(incoming, with_base, ranges, is_global=is_global), metadata)
    placed = found.join(F.broadcast(incoming.numbers(with_base)), BUCKET).select(RECORD_KEY, PARTITION_PATH, BUCKET)
    return placed if by_log is None else placed.unionByName(by_log).distinct()


def indexes_of_metadata(incoming: Incoming) -> IndexesOfMetadata:
    """What the metadata table can tell of keys, where the options ask for it."""
    wanted = keys.USE_METADATA.of(incoming.config.properties) and incoming.config.populate_meta_fields
    return incoming.table.metadata_indexes() if wanted else IndexesOfMetadata()


def key_ranges(incoming: Incoming, slices: Mapping[int, FileSlice], metadata: IndexesOfMetadata) -> dict[int, KeyRange]:
    """The range of keys of each base file; an open one where nobody knows it, or the options don't ask for it."""
    if not keys.PRUNE_BY_RANGES.of(incoming.config.properties) or not incoming.config.populate_meta_fields:
        return {number: KeyRange(number) for number in slices}
    found = metadata.key_ranges(slices)
    left = {number: one for number, one in slices.items() if number not in found}
    return {**found, **_footer_ranges(incoming, left)}


def _footer_ranges(incoming: Incoming, slices: Mapping[int, FileSlice]) -> dict[int, KeyRange]:
    context = incoming.context
    paths = {
        number: resolve(context.base_path, one.base_file.relative_path)
        for number, one in slices.items()
        if one.base_file is not None
    }
    storage = context.storage

    def bounds_of(number: int) -> KeyRange:
        bounds = footer_range(storage, paths[number])
        return KeyRange(number) if bounds is None else KeyRange(number, *bounds)

    if len(paths) <= _FOOTERS_OF_DRIVER:
        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as pool:
            return {one.number: one for one in pool.map(bounds_of, paths)}

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = [bounds_of(number) for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(
                [{"number": one.number, "low": one.low, "high": one.high} for one in found],
                schema=pa.schema([("number", pa.int32()), ("low", pa.string()), ("high", pa.string())]),
            )

    numbers = incoming.spark.createDataFrame([(number,) for number in paths], "number int")
    rows = numbers.repartition(_tasks(incoming, len(paths))).mapInArrow(read, "number int, low string, high string")
    return {row.number: KeyRange(row.number, row.low, row.high) for row in rows.collect()}


def _tasks(incoming: Incoming, files: int) -> int:
    asked = keys.BLOOM_PARALLELISM.of(incoming.config.properties)
    return min(asked, files) if asked else incoming.tasks(files)


def _pairs(
    incoming: Incoming, slices: Mapping[int, FileSlice], ranges: Mapping[int, KeyRange], *, is_global: bool
) -> DataFrame:
    """Key and bucket number of every file that can hold the key."""
    by_partition: dict[str, list[KeyRange]] = {}
    for number, one in slices.items():
        by_partition.setdefault("" if is_global else one.partition, []).append(ranges[number])

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for partition, texts in [("", batch.column(0))] if is_global else _of_partitions(batch):
                numbers, places = candidates(texts, by_partition.get(partition, []))
                yield pa.RecordBatch.from_arrays(
                    [texts.take(pa.array(places)).cast(pa.string()), pa.array(numbers)], names=[RECORD_KEY, BUCKET]
                )

    return incoming.keyed.select(RECORD_KEY, PARTITION_PATH).mapInArrow(match, KEY_AND_BUCKET)


def _of_partitions(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.Array]]:
    """The keys of each partition path in a batch of (key, partition path)."""
    encoded = batch.column(1).dictionary_encode()
    for code, partition in enumerate(encoded.dictionary.to_pylist()):
        yield partition, batch.column(0).filter(pc.equal(encoded.indices, code))


def _checked(
    incoming: Incoming, slices: Mapping[int, FileSlice], pairs: DataFrame, metadata: IndexesOfMetadata
) -> DataFrame:
    """The pairs whose file holds the key."""
    reader, held = incoming.reader(), dict(slices)

    def check(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, rows in grouped(batches):
            wanted = rows.column(RECORD_KEY).combine_chunks().unique()
            one = held[number]
            assert one.base_file is not None
            bloom = metadata.bloom_filter(one.base_file)
            if bloom is None and reader.virtual_keys is None:
                bloom = footer_filter(reader.storage, resolve(reader.base_path, one.base_file.relative_path))
            left = possible(bloom, wanted)
            if len(left):
                found = found_in_base(reader, one, left)
                yield pa.RecordBatch.from_arrays(
                    [found, pa.repeat(pa.scalar(number, pa.int32()), len(found))], names=[RECORD_KEY, BUCKET]
                )

    tasks = _tasks(incoming, len(held))
    placed = pairs.repartitionById(tasks, F.col(BUCKET) % tasks).sortWithinPartitions(BUCKET)
    return placed.mapInArrow(check, KEY_AND_BUCKET)
