"""Real Hudi as the serving end of ``lines``: one JVM that does what it is told.

Runs under PySpark 3.5 with Hudi's bundle on the class path (``real_hudi.py`` starts it so). Hudi keeps its defaults,
whatever a request's options do not name.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.interop.hudi_config import declared_keys
from tests.interop.hudi_keys import key_answers
from tests.interop.hudi_validation import differences, each_of
from tests.interop.lines import serve

Answer = Any


class HudiServer:
    """The commands; each public method is one, its keyword arguments are the request's ``args``.

    Paths are local and whole. ``options`` are ``hoodie.*`` keys with their text.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._jvm: Any = spark._jvm

    def ping(self) -> str:
        """Spark's version."""
        return self._spark.version

    def read(
        self,
        *,
        path: str,
        output: str,
        query: str = "snapshot",
        begin: str | None = None,
        end: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """A query's rows as one Parquet file in the directory ``output``."""
        asked = {"hoodie.datasource.query.type": query, **(options or {})}
        if begin is not None:
            asked["hoodie.datasource.read.begin.instanttime"] = begin
        if end is not None:
            asked["hoodie.datasource.read.end.instanttime"] = end
        self._save(self._spark.read.format("hudi").options(**asked).load(path), output)

    def sql(self, *, text: str, output: str | None = None) -> Answer:
        """A statement's rows: JSON objects, or with ``output`` a Parquet file there."""
        frame = self._spark.sql(text)
        if output is not None:
            return self._save(frame, output)
        return [row.asDict(recursive=True) for row in frame.collect()]

    def write(
        self, *, path: str, source: str, operation: str, options: Mapping[str, str], mode: str = "append"
    ) -> float:
        """Write the Parquet file or directory ``source`` by one of Hudi's operations; its seconds."""
        frame = self._spark.read.parquet(source)
        begun = time.monotonic()
        frame.write.format("hudi").options(**{"hoodie.datasource.write.operation": operation, **options}).mode(
            mode
        ).save(path)
        return time.monotonic() - begun

    def compact(
        self,
        *,
        path: str,
        op: str = "scheduleAndExecute",
        instant: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Answer:
        """``call run_compaction``: a row for each compaction that was scheduled or executed."""
        named = {"op": op, "path": path, "instants": instant, "options": _joined(options)}
        return self.sql(text=_call("run_compaction", named))

    def cluster(
        self,
        *,
        path: str,
        op: str = "scheduleAndExecute",
        order: str | None = None,
        instant: str | None = None,
        options: Mapping[str, str] | None = None,
    ) -> Answer:
        """``call run_clustering``: a row for each clustering that was scheduled or executed."""
        named = {"op": op, "path": path, "order": order, "instants": instant, "options": _joined(options)}
        return self.sql(text=_call("run_clustering", named))

    def plan_service(self, *, path: str, kind: str, options: Mapping[str, str] | None = None) -> str | None:
        """Schedule a ``Compaction``, ``LogCompaction`` or ``Clustering``; its instant, None where there is no plan."""
        with closing(self._client(path, options)) as client:
            nothing = self._jvm.org.apache.hudi.common.util.Option.empty()
            found = getattr(client, f"schedule{kind}")(nothing)
            return str(found.get()) if found.isPresent() else None

    def run_plan(self, *, path: str, kind: str, instant: str, options: Mapping[str, str] | None = None) -> None:
        """Execute and publish a plan of :meth:`plan_service`, or one of ours."""
        with closing(self._client(path, options)) as client:
            if kind == "Clustering":
                client.cluster(instant, True)
                return
            done = client.compact(instant) if kind == "Compaction" else client.logCompact(instant)
            nothing = self._jvm.org.apache.hudi.common.util.Option.empty()
            getattr(client, f"commit{kind}")(instant, done.getCommitMetadata().get(), nothing)

    def clean(self, *, path: str, options: Mapping[str, str] | None = None) -> int:
        """What ``call run_clean`` does, for a path (the procedure takes names alone); the number of deleted files."""
        with closing(self._client(path, options)) as client:
            metadata = client.clean()
        return 0 if metadata is None else int(metadata.getTotalFilesDeleted())

    def rollback(self, *, path: str, instant: str, options: Mapping[str, str] | None = None) -> bool:
        with closing(self._client(path, options)) as client:
            return bool(client.rollback(instant))

    def rollback_failed(self, *, path: str, options: Mapping[str, str] | None = None) -> bool:
        """Roll every failed write back, as the start of the next write would."""
        with closing(self._client(path, options)) as client:
            return bool(client.rollbackFailedWrites())

    def downgrade(self, *, path: str, version: str) -> None:
        """Take a table down to an older version, named as in HoodieTableVersion (``FIVE``)."""
        upgrade = self._jvm.org.apache.hudi.table.upgrade
        target = getattr(self._jvm.org.apache.hudi.common.table.HoodieTableVersion, version)
        with closing(self._client(path, None)) as client:
            helper = upgrade.SparkUpgradeDowngradeHelper.getInstance()
            work = upgrade.UpgradeDowngrade(self._meta_client(path), client.getConfig(), self._engine(), helper)
            work.run(target, None)

    def savepoint(self, *, path: str, instant: str, options: Mapping[str, str] | None = None) -> None:
        with closing(self._client(path, options)) as client:
            client.savepoint(instant, "somebody", "for a test")

    def delete_savepoint(self, *, path: str, instant: str) -> None:
        with closing(self._client(path, None)) as client:
            client.deleteSavepoint(instant)

    def restore(self, *, path: str, instant: str, options: Mapping[str, str] | None = None) -> None:
        """Take a table back to a savepoint."""
        with closing(self._client(path, options)) as client:
            client.restoreToSavepoint(instant)

    def schedule_index(self, *, path: str, partitions: list[str], options: Mapping[str, str]) -> str:
        """Plan an indexing action, as HoodieIndexer does; its instant."""
        types = self._jvm.java.util.ArrayList()
        for name in partitions:
            types.add(self._jvm.org.apache.hudi.metadata.MetadataPartitionType.valueOf(name))
        with closing(self._client(path, options)) as client:
            return str(client.scheduleIndexing(types).get())

    def index(self, *, path: str, instant: str, options: Mapping[str, str]) -> bool:
        """Execute an indexing action; whether it did."""
        with closing(self._client(path, options)) as client:
            return bool(client.index(instant).isPresent())

    def archive(self, *, path: str, options: Mapping[str, str]) -> None:
        """Archive what the options allow, as the end of a write does."""
        with closing(self._client(path, options)) as client:
            client.archive()

    def archived(self, *, path: str) -> list[dict[str, str | None]]:
        """Every state that Hudi loads from the archive: ``{"instant", "action", "state", "details"}``.

        ``details`` is the JSON that Hudi holds of a completed instant's metadata, None where it loads none.
        """
        timeline = self._meta_client(path).getArchivedTimeline()
        found = [
            {"instant": each.getTimestamp(), "action": each.getAction(), "state": each.getState().name()}
            for each in each_of(timeline.getInstants())
        ]
        timeline.loadCompletedInstantDetailsInMemory()
        completed = {
            (each.getTimestamp(), each.getAction()): timeline.getInstantDetails(each)
            for each in each_of(timeline.filterCompletedInstants().getInstants())
        }
        for one in found:
            details = completed.get((one["instant"], one["action"])) if one["state"] == "COMPLETED" else None
            one["details"] = bytes(details.get()).decode() if details is not None and details.isPresent() else None
        return found

    def show_commits(self, *, path: str) -> list[dict[str, str]]:
        """The active timeline as Hudi loads it, oldest first: ``{"instant", "action", "state"}``."""
        instants = self._meta_client(path).getActiveTimeline().getInstants()
        return [
            {"instant": each.getTimestamp(), "action": each.getAction(), "state": each.getState().name()}
            for each in each_of(instants)
        ]

    def slices(self, *, path: str, metadata: bool = True) -> dict[str, list[dict[str, Answer]]]:
        """The latest slices by partition, seen by the metadata table (where the table has one) or by listing storage.

        A slice is ``{"file_id", "base_instant", "base": name or None, "logs": [names, oldest first]}``.
        """
        view = self._view(self._meta_client(path), metadata)
        try:
            found: dict[str, list[dict[str, Answer]]] = {}
            for partition in self._partitions(path, metadata):
                slices = [_slice(each) for each in each_of(view.getLatestFileSlices(partition))]
                found[partition] = sorted(slices, key=lambda one: str(one["file_id"]))
            return found
        finally:
            view.close()

    def keys(self, *, source: str, cases: list[dict[str, str]]) -> Answer:
        """Keys and partition paths of the rows of the Parquet file ``source``, by the options of each case."""
        return key_answers(self._jvm, self._spark.read.parquet(source), cases)

    def declared_keys(self) -> list[str]:
        """All keys that Hudi's configuration has, their other names among them."""
        return declared_keys(self._jvm)

    def files(self, *, path: str, metadata: bool = True) -> dict[str, dict[str, int]]:
        """Bytes by name of all data files by partition, by the metadata table or by listing storage.

        By the metadata table nothing is listed: where it is not there, Hudi raises.
        """
        common = self._jvm.org.apache.hudi.common
        config = common.config.HoodieMetadataConfig.newBuilder().enable(metadata).build()
        storage = self._meta_client(path).getStorage()
        made = self._jvm.org.apache.hudi.metadata
        if metadata:
            table = made.HoodieBackedTableMetadata(self._engine(), storage, config, path, False)
        else:
            table = made.FileSystemBackedTableMetadata(self._engine(), storage, path, False)
        found: dict[str, dict[str, int]] = {}
        for partition in list(table.getAllPartitionPaths()):
            folder = self._jvm.org.apache.hudi.storage.StoragePath(f"{path}/{partition}" if partition else path)
            statuses = list(table.getAllFilesInPartition(folder))
            names = {each.getPath().getName(): int(each.getLength()) for each in statuses}
            found[partition] = {
                name: size
                for name, size in names.items()
                if common.fs.FSUtils.isDataFile(
                    self._jvm.org.apache.hudi.storage.StoragePath(f"{path}/{partition}/{name}")
                )
            }
        return found

    def column_stats(self, *, path: str, column: str) -> dict[str, list[Answer]]:
        """[low, high, nulls, values] of a column by ``partition/file`` of each listed base file, by Hudi's look-up."""
        made = self._jvm.org.apache.hudi.metadata
        config = self._jvm.org.apache.hudi.common.config.HoodieMetadataConfig.newBuilder().enable(True).build()
        storage = self._meta_client(path).getStorage()
        table = made.HoodieBackedTableMetadata(self._engine(), storage, config, path, False)
        pairs = self._jvm.java.util.ArrayList()
        for partition, names in self.files(path=path).items():
            for name in names:
                if not name.startswith("."):
                    pairs.add(self._jvm.org.apache.hudi.common.util.collection.Pair.of(partition, name))
        found: dict[str, list[Answer]] = {}
        for entry in each_of(table.getColumnStats(pairs, column).entrySet()):
            stats = entry.getValue()
            bounds = [None if each is None else each.get(0) for each in (stats.getMinValue(), stats.getMaxValue())]
            key = f"{entry.getKey().getLeft()}/{entry.getKey().getRight()}"
            found[key] = [*bounds, stats.getNullCount(), stats.getValueCount()]
        return found

    def validate(self, *, path: str) -> list[str]:
        """What the metadata table says otherwise than storage and footers do (``hudi_validation``)."""
        # with a scheme, as listings have it: by the metadata table paths are the base path's
        return differences(self._jvm, self._engine(), self._meta_client(f"file:{path}"))

    def _partitions(self, path: str, metadata: bool) -> list[str]:
        common = self._jvm.org.apache.hudi.common
        config = common.config.HoodieMetadataConfig.newBuilder().enable(metadata).build()
        storage = self._meta_client(path).getStorage()
        return list(common.fs.FSUtils.getAllPartitionPaths(self._engine(), storage, config, path))

    def _view(self, meta_client: Any, metadata: bool) -> Any:
        common = self._jvm.org.apache.hudi.common
        if not metadata:
            timeline = meta_client.getCommitsAndCompactionTimeline().filterCompletedAndCompactionInstants()
            return common.table.view.HoodieTableFileSystemView(meta_client, timeline)
        config = common.config.HoodieMetadataConfig.newBuilder().enable(True).build()
        return common.table.view.FileSystemViewManager.createInMemoryFileSystemView(self._engine(), meta_client, config)

    def _engine(self) -> Any:
        java_context: Any = self._spark.sparkContext._jsc
        return self._jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(java_context)

    def _meta_client(self, path: str) -> Any:
        java_context: Any = self._spark.sparkContext._jsc
        storage = self._jvm.org.apache.hudi.storage.hadoop.HadoopStorageConfiguration(
            java_context.hadoopConfiguration()
        )
        builder = self._jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(storage).setBasePath(path).build()

    def _client(self, path: str, options: Mapping[str, str] | None) -> Any:
        """The write client that Hudi's own procedures make for a table."""
        given = self._jvm.java.util.HashMap()
        for name, value in (options or {}).items():
            given.put(name, value)
        return self._jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(
            self._spark._jsparkSession, path, self._jvm.PythonUtils.toScalaMap(given), self._jvm.scala.Option.empty()
        )

    def _save(self, frame: DataFrame, output: str) -> None:
        frame.coalesce(1).write.mode("overwrite").parquet(output)


def _slice(each: Any) -> dict[str, Answer]:
    base = each.getBaseFile()
    logs = [(log.getLogVersion(), log.getFileName()) for log in each_of(each.getLogFiles())]
    return {
        "file_id": each.getFileId(),
        "base_instant": each.getBaseInstantTime(),
        "base": base.get().getFileName() if base.isPresent() else None,
        "logs": [name for _, name in sorted(logs)],
    }


def _joined(options: Mapping[str, str] | None) -> str | None:
    return ",".join(f"{name}={value}" for name, value in options.items()) if options else None


def _call(procedure: str, named: Mapping[str, str | None]) -> str:
    quoted = (f"{name} => '{value}'" for name, value in named.items() if value is not None)
    return f"call {procedure}({', '.join(quoted)})"


def _session(metastore_uri: str | None) -> SparkSession:
    builder = SparkSession.builder.appName("real-hudi")
    if metastore_uri is not None:
        builder = builder.config("spark.hadoop.hive.metastore.uris", metastore_uri).enableHiveSupport()
    return builder.getOrCreate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, required=True, help="descriptor that answers go to")
    parser.add_argument("--metastore-uri", help="thrift://host:port of a Hive metastore, for selecting by name")
    options = parser.parse_args()
    serve(HudiServer(_session(options.metastore_uri)), options.answers)


if __name__ == "__main__":
    main()
