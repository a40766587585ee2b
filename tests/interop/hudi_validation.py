"""What HoodieMetadataTableValidator compares, asked of Hudi's own classes; runs in the process of ``hudi_server``.

It stands for the validator itself, which is in Hudi's utilities bundle: not every mirror of Maven Central has that one.
As there, one side is HoodieBackedTableMetadata and a view by the metadata table, the other one
FileSystemBackedTableMetadata, a view by listings, and the footers of base files. Compared are all partitions, all
files, the latest base files, the latest slices, all file groups, and where the table has these indexes each column's
range and each bloom filter of the latest base files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Context, Decimal
from typing import Any

_STORED_SCALE = 15
"""Of DecimalWrapper, whatever the column has."""

Range = tuple[str, str, tuple[str, str], tuple[int, int, int, int]]
Slice = tuple[str, str, str, tuple[str, ...]]


def differences(jvm: Any, engine: Any, meta_client: Any) -> list[str]:
    """What the metadata table says otherwise than storage and footers do; nothing where they agree."""
    sides = {name: _Side(jvm, engine, meta_client, by_metadata=name == "metadata") for name in ("metadata", "storage")}
    try:
        return list(_differences(jvm, meta_client, sides["metadata"], sides["storage"]))
    finally:
        for side in sides.values():
            side.close()


def _differences(jvm: Any, meta_client: Any, metadata: _Side, storage: _Side) -> Iterator[str]:
    if "files" not in _indexes(meta_client):
        yield "the table has no metadata table"
        return
    yield from _unequal("partitions", metadata.partitions(), storage.partitions())
    for partition in storage.partitions():
        yield from _unequal(f"files of {partition!r}", metadata.names(partition), storage.names(partition))
        for what in ("base_files", "slices", "all_slices"):
            mine, stored = getattr(metadata, what)(partition), getattr(storage, what)(partition)
            yield from _unequal(f"{what} of {partition!r}", mine, stored)
        files = storage.base_files(partition)
        if "column_stats" in _indexes(meta_client):
            columns = _columns(jvm, meta_client)
            ranges = metadata.ranges_by_index(partition, list(files), columns)
            yield from _unequal(f"ranges in {partition!r}", ranges, storage.ranges_of_footers(files, columns))
        if "bloom_filters" in _indexes(meta_client):
            filters = metadata.filters_by_index(partition, list(files))
            yield from _unequal(f"bloom filters in {partition!r}", filters, storage.filters_of_footers(files))


class _Side:
    """One way to know a table: by its metadata table, or by listings and footers."""

    def __init__(self, jvm: Any, engine: Any, meta_client: Any, *, by_metadata: bool) -> None:
        self._jvm, self._by_metadata = jvm, by_metadata
        self._common, made = jvm.org.apache.hudi.common, jvm.org.apache.hudi.metadata
        self._base = str(meta_client.getBasePath())
        self._storage = meta_client.getStorage()
        settings = self._common.config.HoodieMetadataConfig.newBuilder().enable(by_metadata)
        config = settings.withMetadataIndexBloomFilter(by_metadata).withMetadataIndexColumnStats(by_metadata).build()
        if by_metadata:
            self._table = made.HoodieBackedTableMetadata(engine, self._storage, config, self._base, False)
        else:
            self._table = made.FileSystemBackedTableMetadata(engine, self._storage, self._base, False)
        manager = self._common.table.view.FileSystemViewManager
        self._view = manager.createInMemoryFileSystemView(engine, meta_client, config)
        self._parquet = self._common.util.ParquetUtils()

    def close(self) -> None:
        self._view.close()
        self._table.close()

    def partitions(self) -> list[str]:
        return sorted(self._table.getAllPartitionPaths())

    def names(self, partition: str) -> list[str]:
        """Data files; log files of another write's dead tasks too."""
        folder = self._jvm.org.apache.hudi.storage.StoragePath(f"{self._base}/{partition}" if partition else self._base)
        paths = [each.getPath() for each in self._table.getAllFilesInPartition(folder)]
        return sorted(path.getName() for path in paths if self._common.fs.FSUtils.isDataFile(path))

    def base_files(self, partition: str) -> dict[str, tuple[str, int]]:
        """Path and bytes of the latest base files, by their names."""
        found = each_of(self._view.getLatestBaseFiles(partition))
        return {one.getFileName(): (one.getPath(), one.getFileLen()) for one in found}

    def slices(self, partition: str) -> list[Slice]:
        return sorted(_slice(one) for one in each_of(self._view.getLatestFileSlices(partition)))

    def all_slices(self, partition: str) -> list[Slice]:
        groups = each_of(self._view.getAllFileGroups(partition))
        return sorted(_slice(one) for group in groups for one in each_of(group.getAllFileSlices()))

    def ranges_by_index(self, partition: str, names: list[str], columns: list[str]) -> list[Range]:
        pairs = self._pairs(partition, names)
        made = self._jvm.org.apache.hudi.metadata.HoodieTableMetadataUtil
        return sorted(
            _range(made.convertColumnStatsRecordToColumnRangeMetadata(entry.getValue()))
            for column in columns
            for entry in each_of(self._table.getColumnStats(pairs, column).entrySet())
        )

    def ranges_of_footers(self, files: dict[str, tuple[str, int]], columns: list[str]) -> list[Range]:
        return sorted(
            _range(one)
            for path, _ in files.values()
            for one in self._parquet.readColumnStatsFromMetadata(self._storage, self._path(path), columns)
        )

    def filters_by_index(self, partition: str, names: list[str]) -> dict[str, str]:
        found = self._table.getBloomFilters(self._pairs(partition, names))
        return {one.getKey().getRight(): one.getValue().serializeToString() for one in each_of(found.entrySet())}

    def filters_of_footers(self, files: dict[str, tuple[str, int]]) -> dict[str, str]:
        read = self._parquet.readBloomFilterFromMetadata
        return {name: read(self._storage, self._path(path)).serializeToString() for name, (path, _) in files.items()}

    def _pairs(self, partition: str, names: list[str]) -> Any:
        pairs = self._jvm.java.util.ArrayList()
        for name in names:
            pairs.add(self._common.util.collection.Pair.of(partition, name))
        return pairs

    def _path(self, text: str) -> Any:
        return self._jvm.org.apache.hudi.storage.StoragePath(text)


def each_of(stream_or_collection: Any) -> Iterator[Any]:
    """The elements of a Java Stream or collection."""
    iterator = stream_or_collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _slice(one: Any) -> Slice:
    """File id, base instant, base file, and log files with their numbers in order."""
    base = one.getBaseFile()
    logs = sorted((log.getLogVersion(), log.getFileName()) for log in each_of(one.getLogFiles()))
    name = base.get().getFileName() if base.isPresent() else ""
    return one.getFileId(), one.getBaseInstantTime(), name, tuple(name for _, name in logs)


def _range(one: Any) -> Range:
    bounds = repr(_plain(one.getMinValue())), repr(_plain(one.getMaxValue()))
    counts = one.getNullCount(), one.getValueCount(), one.getTotalSize(), one.getTotalUncompressedSize()
    return one.getFilePath(), one.getColumnName(), bounds, counts


def _plain(value: Any) -> Any:
    """A bound as a number or text: Hudi's look-up gives dates and decimals as they are stored, footers as they are."""
    if isinstance(value, Decimal):
        return int(value.scaleb(_STORED_SCALE, Context(prec=80)))
    if value is None or isinstance(value, (str, int, float)):
        return value
    kind = value.getClass().getName()
    if kind == "java.sql.Date":
        return value.toLocalDate().toEpochDay()
    if kind.endswith("ByteBuffer"):
        return int.from_bytes(value.array(), signed=True)
    return value.toString()


def _indexes(meta_client: Any) -> set[str]:
    return {str(one) for one in meta_client.getTableConfig().getMetadataPartitions()}


def _columns(jvm: Any, meta_client: Any) -> list[str]:
    """All columns of the table, meta columns first."""
    resolver = jvm.org.apache.hudi.common.table.TableSchemaResolver(meta_client)
    return [field.name() for field in resolver.getTableAvroSchema().getFields()]


def _unequal(what: str, metadata: Any, storage: Any) -> Iterator[str]:
    if metadata == storage:
        return
    mine, stored = (each.items() if isinstance(each, dict) else each for each in (metadata, storage))
    yield f"{what}: by the metadata table alone {_some(mine, stored)}, by storage alone {_some(stored, mine)}"


def _some(these: Iterable[Any], those: Iterable[Any]) -> list[Any]:
    others = list(those)
    return [one for one in these if one not in others][:3]
