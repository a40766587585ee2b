"""Which keys of a source the table has, found without a join: each task looks the keys up in its share of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.core.config.keys import bloom as bloom_keys
from spark_jobs.core.files.base_file import footer_index, open_base_file
from spark_jobs.core.files.bloom import BloomFilter
from spark_jobs.core.handles.context import TaskScope
from spark_jobs.core.index.from_metadata import IndexesOfMetadata
from spark_jobs.core.index.ranges import KeyRange, candidates
from spark_jobs.core.index.stored_keys import base_and_slice_keys, slice_keys
from spark_jobs.core.read.slice_reader import SliceReader
from spark_jobs.core.storage import resolve
from spark_jobs.core.table import HudiTable
from spark_jobs.core.view.file_slice import BaseFile, FileSlice
from spark_jobs.engine.dealing import dealt
from spark_jobs.engine.protocol import Engine
from spark_jobs.write.config import WriteConfig
from spark_jobs.write.direct.tagged import Numbers

Keys: TypeAlias = "pa.Array[Any]"
Hits = list[tuple[int, Numbers]]
"""Bucket numbers with the places of the keys that they have."""
Found = dict[str, Hits]
"""The same by partition path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BloomSearch:
    """How bloom filters are asked, and with ``prunes`` ranges of keys before them: those of the metadata table where
    ``metadata`` has any, else those in the footers of base files. Pickles.
    """

    prunes: bool
    metadata: IndexesOfMetadata

    @staticmethod
    def of(config: WriteConfig, table: HudiTable) -> BloomSearch | None:
        """None where the options ask for another index, or base files have no filters."""
        if not config.index_type.by_bloom or not config.populate_meta_fields:
            return None
        by_metadata = bloom_keys.USE_METADATA.of(config.properties)
        return BloomSearch(
            prunes=bloom_keys.PRUNE_BY_RANGES.of(config.properties),
            metadata=table.metadata_indexes() if by_metadata else IndexesOfMetadata(),
        )

    def ranges(self, slices: Mapping[int, FileSlice]) -> Mapping[int, KeyRange]:
        """Those that the metadata table has."""
        return self.metadata.key_ranges(slices) if self.prunes else {}

    def possible(self, reader: SliceReader, base: BaseFile, known: KeyRange | None, keys: Keys) -> Numbers:
        """Places of the keys that a base file can have.

        :param known: its range, if the metadata table has it.
        """
        bloom = self.metadata.bloom_filter(base)
        if bloom is None or (known is None and self.prunes):
            footer = footer_index(open_base_file(reader.storage, resolve(reader.base_path, base.relative_path)))
            bloom = bloom or footer.bloom
            known = known or KeyRange(0, *(footer.key_range or (None, None)))
        return possible_places(known if known is not None and self.prunes else KeyRange(0), bloom, keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySearch:
    """What every task needs: the incoming keys of each partition, and how bloom filters are asked before a file's keys
    are read. Pickles.

    ``live_alone``: keys whose records the logs removed are none.
    """

    reader: SliceReader
    keys: Mapping[str, Keys]
    by_bloom: BloomSearch | None
    live_alone: bool = False

    def found(self, one: FileSlice, known: KeyRange | None) -> Numbers:
        """Places, in the keys of its partition, of those that a slice has.

        :param known: the range of its keys, if the metadata table has it.
        """
        wanted = self.keys[one.partition]
        possible: Numbers | None = None
        if self.by_bloom is not None and not one.log_files and one.base_file is not None:
            possible = self.by_bloom.possible(self.reader, one.base_file, known, wanted)
            if not len(possible):
                return possible
            wanted = wanted.take(pa.array(possible))
        keys_of = slice_keys if self.live_alone else base_and_slice_keys
        places = [np.asarray(pc.index_in(stored, value_set=wanted).drop_null()) for stored in keys_of(self.reader, one)]
        found = np.unique(np.concatenate([np.zeros(0, np.int64), *places]))
        return found if possible is None else possible[found]


def possible_places(bounds: KeyRange, bloom: BloomFilter | None, keys: Keys) -> Numbers:
    """Of the keys those that a file can have, by the range of its keys and its bloom filter."""
    _, places = candidates(keys, [bounds])
    places = np.sort(places)
    if bloom is not None and len(places):
        places = places[bloom.contains(keys.take(pa.array(places)))]
    return places


def locate_keys(
    engine: Engine, tasks: int, search: KeySearch, slices: Mapping[int, FileSlice], logged: Mapping[int, FileSlice]
) -> Found:
    """Look the keys up in base files, and in the logs of slices that may have keys there alone.

    :param slices: by bucket number; ``logged`` are those of them whose logs are read.
    """
    asked = {
        number: one if number in logged else replace(one, log_files=())
        for number, one in slices.items()
        if one.partition in search.keys and (one.base_file is not None or number in logged)
    }
    return find_in(engine, tasks, search, asked)


def find_in(engine: Engine, tasks: int, search: KeySearch, slices: Mapping[int, FileSlice]) -> Found:
    """Look the keys up in slices as they are given."""
    asked = list(slices.items())
    ranges = {} if search.by_bloom is None else search.by_bloom.ranges(slices)
    pieces = [[asked[number] for number in share] for share in dealt([one.size for _, one in asked], tasks)]

    def work(piece: Sequence[tuple[int, FileSlice]], scope: TaskScope) -> list[tuple[int, Numbers]]:
        return [(number, search.found(one, ranges.get(number))) for number, one in piece]

    found: Found = {}
    for outcome in engine.run_each(pieces, work):
        for number, places in outcome:
            if len(places):
                found.setdefault(slices[number].partition, []).append((number, places))
    return found
