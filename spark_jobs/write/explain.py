"""``--explain``: which index fits this table and batch, and what each would open; nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from spark_jobs.core.config.keys.index import IndexType
from spark_jobs.core.errors import ConfigError, CorruptTableError
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.index.advice import Advice, Facts, LookUp, advise, as_text
from spark_jobs.core.index.bucket_check import numbers_by_bucket, refuse_other_buckets
from spark_jobs.core.index.bucket_settings import BucketSettings
from spark_jobs.core.index.buckets import bucket_ids, bucket_of
from spark_jobs.core.index.footers import Footer, read_footers
from spark_jobs.core.index.ranges import candidates, overlapping
from spark_jobs.core.index.stored_keys import footer_filter, possible
from spark_jobs.core.metadata_table.layout import java_hashes
from spark_jobs.core.metadata_table.record_locations import RecordIndex
from spark_jobs.core.schema.meta_fields import PARTITION_PATH, RECORD_KEY
from spark_jobs.core.storage import RelativePath, resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import FileSlice
from spark_jobs.engine.progress import Progress
from spark_jobs.options.result import JobResult, JobState
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.keyed import rows_by_path

SAMPLE = 10_000
"""Keys of a batch that are looked at."""
_SPREAD = np.uint32(2_654_435_761)
"""By which hashes of keys that differ in their last letters come far from each other."""
MOST_FILTERS = 256
"""Bloom filters that are asked; of more files it is taken that they let a key through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The incoming records: how many in each partition, and keys of them with their partition paths."""

    counts: Mapping[str, int]
    keys: pa.Array[Any]
    partitions: pa.Array[Any]

    @staticmethod
    def of_keys(keys: pa.Table) -> Batch:
        """
        :param keys: record key and partition path of all records, as ``KeyedSource.keys`` gives them.
        """
        texts, paths = keys.column(RECORD_KEY).combine_chunks(), keys.column(PARTITION_PATH).combine_chunks()
        chosen = pa.array(np.argsort(java_hashes(texts.cast(pa.large_binary())) * _SPREAD, kind="stable")[:SAMPLE])
        return Batch(
            counts=rows_by_path(paths),
            keys=texts.take(chosen),
            partitions=paths.take(chosen).cast(pa.string()),
        )

    @property
    def records(self) -> int:
        return sum(self.counts.values())

    def by_partition(self) -> dict[str, pa.Array[Any]]:
        encoded = self.partitions.dictionary_encode()
        codes = np.asarray(encoded.indices)
        return {
            path: self.keys.take(pa.array(np.flatnonzero(codes == code)))
            for code, path in enumerate(encoded.dictionary.to_pylist())
        }


def explain(
    config: WriteConfig, table: HudiTable | None, batch_of: Callable[[], Batch], progress: Progress
) -> JobResult:
    """The advice as the plan of a dry run, and as text for the reader of the log.

    :param table: None for one that the write would make.
    """
    with progress.phase("explain"):
        batch = batch_of()
        slices = {} if table is None else dict(enumerate(table.file_slices()))
        survey = Survey.of(config, table, slices, batch)
        look_ups = survey.look_ups()
        facts = survey.facts()
        advice = advise(facts, config.index_type, look_ups)
    text = as_text(facts, config.index_type, advice, look_ups)
    for line in text:
        progress.note(line)
    return JobResult(
        action=config.action.value,
        state=JobState.DRY_RUN,
        base_path=config.options.base_path,
        table=config.name,
        records_in=batch.records,
        plan=_plan(config, facts, advice, look_ups, text),
    )


def _plan(
    config: WriteConfig, facts: Facts, advice: Advice, look_ups: Iterable[LookUp], text: list[str]
) -> dict[str, Any]:
    return {
        "operation": config.operation.value,
        "index": config.index_type.value,
        "fits": advice.kind.value,
        "reasons": list(advice.reasons),
        "facts": facts.to_dict(),
        "indexes": [one.to_dict() for one in look_ups],
        "text": text,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """``slices`` of the whole table by number, and the footers of their base files."""

    config: WriteConfig
    table: HudiTable | None
    slices: Mapping[int, FileSlice]
    footers: Mapping[int, Footer]
    batch: Batch
    record_index: RecordIndex | None

    @staticmethod
    def of(config: WriteConfig, table: HudiTable | None, slices: Mapping[int, FileSlice], batch: Batch) -> Survey:
        footers = {} if table is None else read_footers(table.storage, table.base_path, slices)
        return Survey(
            config=config,
            table=table,
            slices=slices,
            footers=footers,
            batch=batch,
            record_index=None
            if table is None
            else RecordIndex.open(table.storage, table.base_path, table.config, table.timeline, table.clock),
        )

    def facts(self) -> Facts:
        touched = self._touched()
        with_base = [one for one in self.slices.values() if one.base_file is not None]
        buckets = self._buckets()
        return Facts(
            records=self.batch.records,
            sampled=len(self.batch.keys),
            partitions_touched=len(self.batch.counts),
            partitions=len({one.partition for one in self.slices.values()} | set(self.batch.counts)),
            files=len(with_base),
            bytes=sum(one.size - one.log_size for one in with_base),
            files_touched=len(touched),
            bytes_touched=sum(self.slices[number].size - self.slices[number].log_size for number in touched),
            log_bytes=sum(one.log_size for one in self.slices.values()),
            overlap=overlapping([self.footers[number].key_range(number) for number in touched]),
            buckets=len(buckets),
            bucketed=bool(self.slices) and all(bucket_of(one.file_id) is not None for one in self.slices.values()),
            record_index=self.record_index is not None,
        )

    def look_ups(self) -> list[LookUp]:
        """For each index what it would open."""
        everywhere, touched = sorted(self.footers), self._touched()
        return [
            self._by_join(IndexType.SIMPLE, touched),
            self._by_bloom(IndexType.BLOOM, {path: self._in(path) for path in self.batch.counts}),
            self._by_bucket(),
            self._by_join(IndexType.GLOBAL_SIMPLE, everywhere),
            self._by_bloom(IndexType.GLOBAL_BLOOM, {None: everywhere}),
            self._by_record_index(),
        ]

    def _by_join(self, kind: IndexType, numbers: list[int]) -> LookUp:
        return LookUp(
            kind=kind,
            files=tuple(self._path(number) for number in numbers),
            size=sum(self.footers[number].key_bytes for number in numbers),
            note="the key column of each file",
        )

    def _by_bloom(self, kind: IndexType, numbers_by_path: Mapping[str | None, list[int]]) -> LookUp:
        """Footers of all, and the key columns of those whose range and filter let a key through."""
        keys, opened, looked_at, asked = self.batch.by_partition(), [], [], 0
        for path, numbers in numbers_by_path.items():
            looked_at += numbers
            wanted = self.batch.keys if path is None else keys.get(path)
            if wanted is None or not numbers:
                continue
            files, places = candidates(wanted, [self.footers[number].key_range(number) for number in numbers])
            for number in np.unique(files).tolist():
                some = wanted.take(pa.array(places[files == number]))
                asked += 1
                if asked > MOST_FILTERS or len(possible(self._bloom(number), some)):
                    opened.append(number)
        return LookUp(
            kind=kind,
            files=tuple(self._path(number) for number in sorted(opened)),
            size=sum(self.footers[number].bytes for number in looked_at)
            + sum(self.footers[number].key_bytes for number in opened),
            note=f"after the footers of {len(looked_at)}",
        )

    def _by_bucket(self) -> LookUp:
        odd = next((one for one in self.slices.values() if bucket_of(one.file_id) is None), None)
        if odd is not None:
            return LookUp(
                kind=IndexType.BUCKET,
                refused=f"file group {odd.file_id} is no bucket: a table has to be begun with BUCKET to be written so",
            )
        if self.table is not None:
            settings = BucketSettings.of(self.config.properties, self.config.key_spec.record_key_fields)
            try:
                numbers_by_bucket(self.slices, settings.buckets)
                refuse_other_buckets(self.table.scan().reader(), self.slices.values(), settings)
            except (ConfigError, CorruptTableError) as error:
                return LookUp(kind=IndexType.BUCKET, refused=error.what)
        buckets = self._buckets()
        known = {(one.partition, bucket_of(one.file_id)) for one in self.slices.values()}
        new = sum(one not in known for one in buckets)
        return LookUp(kind=IndexType.BUCKET, note=f"{len(buckets)} buckets take records, {new} of them new file groups")

    def _by_record_index(self) -> LookUp:
        if self.record_index is None:
            return LookUp(
                kind=IndexType.RECORD_INDEX,
                refused="the table has none (hoodie.metadata.record.index.enable=true builds it); "
                "GLOBAL_SIMPLE would be used",
            )
        asked = Counter(self.record_index.shard_numbers(self.batch.keys).tolist())
        files, size = [], 0
        for shard in asked:
            one = self.record_index.shards[shard]
            files += [path for path in (one.base_path, *dict.fromkeys(log.path for log in one.logs)) if path]
        for path in files:
            status = None if self.table is None else self.table.storage.stat(path)
            size += status.size if status else 0
        return LookUp(
            kind=IndexType.RECORD_INDEX, files=tuple(files), size=size, note="of the metadata table, blocks with keys"
        )

    def _buckets(self) -> set[tuple[str, int]]:
        """(partition, bucket) of the keys that are looked at."""
        settings = BucketSettings.of(self.config.properties, self.config.key_spec.record_key_fields)
        found: set[tuple[str, int]] = set()
        for path, keys in self.batch.by_partition().items():
            found |= {
                (path, bucket) for bucket in np.unique(bucket_ids(keys, settings.fields, settings.buckets)).tolist()
            }
        return found

    def _touched(self) -> list[int]:
        return [number for number in sorted(self.footers) if self.slices[number].partition in self.batch.counts]

    def _in(self, partition: str) -> list[int]:
        return [number for number in sorted(self.footers) if self.slices[number].partition == partition]

    def _bloom(self, number: int) -> BloomFilter | None:
        return (
            None
            if self.table is None
            else footer_filter(self.table.storage, resolve(self.table.base_path, self._path(number)))
        )

    def _path(self, number: int) -> RelativePath:
        base = self.slices[number].base_file
        assert base is not None
        return base.relative_path
