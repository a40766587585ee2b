"""Hudi's keys that change nothing here, each with the reason; tests/interop compares with what Hudi declares."""

from __future__ import annotations

from dataclasses import dataclass

from spark_jobs.core.config.key import of_streamer


@dataclass(frozen=True, slots=True, kw_only=True)
class WithoutEffect:
    """Keys that change nothing about a table. A name that ends with a dot stands for all that begin with it,
    but for those that are read or refused.
    """

    because: str
    names: tuple[str, ...]

    def covers(self, key: str) -> bool:
        return any(key == name or (name.endswith(".") and key.startswith(name)) for name in self.names)


CUT_BY_FILES = "the work is cut by files and bytes, and Spark or the engine decides how much runs at once"
NO_CLASSES = "classes of the JVM are not loaded"
NO_SUCH_FILES = "there are no base files of this format"
CONFLICTS_AT_THE_END = (
    "conflicts are found at the end of a write, and once before its first file where that is asked for; it is done "
    "again as often as hoodie.write.num.retries.on.conflict.failures says, or ends with exit code 3"
)
SERVICES_ARE_JOBS = "services are jobs of their own, whose result says what they did and whether they failed"
OF_READERS = "it is of readers; HudiTable.scan and pyhudi.read have options of their own, and so has a source"
PARQUET_BY_SPARK = "Spark's own settings, and the rows' types, say what a Parquet file is like"
SIZES_OF_FILES = "sizes are estimated from the files that are there"
NO_SERVER = "there is no server of this kind to ask"
NO_EVENT_TIMES = "no event times are collected"
"""Reasons that hold for keys of later versions, too (``later_versions.py``)."""
WITHOUT_EFFECT = (
    WithoutEffect(
        because="no timeline server is started: every process reads the timeline itself",
        names=(
            "hoodie.embed.timeline.server.",
            "hoodie.filesystem.view.",
            "hoodie.filesystem.remote.backup.view.enable",
        ),
    ),
    WithoutEffect(
        because=CUT_BY_FILES,
        names=(
            *("hoodie.archive.delete.parallelism", "hoodie.cleaner.parallelism", "hoodie.clustering.max.parallelism"),
            *("hoodie.file.listing.parallelism", "hoodie.finalize.write.parallelism"),
            "hoodie.markers.delete.parallelism",
            *("hoodie.metadata.index.bloom.filter.parallelism", "hoodie.metadata.index.column.stats.parallelism"),
            *("hoodie.metadata.max.init.parallelism", "hoodie.rollback.parallelism"),
            *("hoodie.errortable.insert.shuffle.parallelism", "hoodie.errortable.upsert.shuffle.parallelism"),
        ),
    ),
    WithoutEffect(
        because="rows are merged by Arrow, a file group at a time, without maps that spill to a disk",
        names=(
            *("hoodie.common.diskmap.compression.enabled", "hoodie.common.spillable.diskmap.type"),
            *("hoodie.memory.", "hoodie.metadata.max.reader.", "hoodie.metadata.spillable.map.path"),
            *("hoodie.compaction.lazy.block.read", "hoodie.compaction.reverse.log.read"),
            *("hoodie.metadata.optimized.log.blocks.scan.enable", "_hoodie.hfile.use.native.reader"),
            *("hoodie.write.buffer.", "hoodie.write.executor.", "hoodie.write.status.storage.level"),
            *("hoodie.write.tagged.record.storage.level", "hoodie.release.resource.on.completion.enable"),
            "hoodie.datasource.write.row.writer.enable",
        ),
    ),
    WithoutEffect(
        because=NO_CLASSES,
        names=(
            *(
                "hoodie.avro.write.support.class",
                "hoodie.parquet.spark.row.write.support.class",
                "hoodie.writestatus.class",
            ),
            *("hoodie.errortable.write.class", "hoodie.fileid.prefix.provider.class", "hoodie.io.factory.class"),
            *("hoodie.storage.class", "hoodie.storage.layout.", "hoodie.bulkinsert.user.defined.partitioner.class"),
        ),
    ),
    WithoutEffect(
        because=NO_SUCH_FILES,
        names=("hoodie.orc.", "hoodie.hfile.block.size", "hoodie.hfile.max.file.size"),
    ),
    WithoutEffect(
        because="Hudi sets it for itself",
        names=(
            *("hoodie.internal.", "hoodie.avro.schema", "hoodie.base.path", "hoodie.bulkinsert.schema.ddl"),
            *("_.hoodie.allow.multi.write.on.same.instant", "_hoodie.metadata.ignore.spurious.deletes"),
            *("hoodie.schema.cache.enable", "hoodie.meta_sync.global.replicate.timestamp"),
            "hoodie.datasource.meta.sync.base.path",
        ),
    ),
    WithoutEffect(
        because="the index HBASE is refused where it is chosen",
        names=("hoodie.index.hbase.", "hoodie.hbase."),
    ),
    WithoutEffect(
        because="the storages that are served are consistent",
        names=(
            *("hoodie.consistency.", "hoodie.optimistic.consistency.", "_hoodie.optimistic.consistency.guard.enable"),
            "hoodie.fs.atomic_creation.support",
        ),
    ),
    WithoutEffect(
        because="a storage repeats its own calls",
        names=("hoodie.filesystem.operation.",),
    ),
    WithoutEffect(
        because="it belongs to a lock that is not taken, or a job that lost a lock begins anew",
        names=(
            "hoodie.write.lock.num_retries",
            *("hoodie.write.lock.wait_time_ms_between_retry", "hoodie.write.lock.max_wait_time_ms_between_retry"),
            "hoodie.auto.adjust.lock.configs",
        ),
    ),
    WithoutEffect(
        because=CONFLICTS_AT_THE_END,
        names=(
            "hoodie.write.concurrency.async.",
            "hoodie.write.concurrency.early.conflict.detection.strategy",
            "hoodie.write.concurrency.early.conflict.check.commit.conflict",
        ),
    ),
    WithoutEffect(
        because=SERVICES_ARE_JOBS,
        names=(
            *("hoodie.table.service.manager.", "hoodie.archive.async", "hoodie.clustering.async.enabled"),
            *("hoodie.datasource.compaction.async.enable", "hoodie.fail.on.timeline.archiving"),
            *("hoodie.fail.writes.on.inline.table.service.exception", "hoodie.clean.allow.multiple"),
            *("hoodie.datasource.clustering.async.enable", "hoodie.rollback.instant.backup."),
        ),
    ),
    WithoutEffect(
        because="a job tells its numbers by its result, and nothing else is called",
        names=(
            "hoodie.metrics.",
            "hoodie.metricscompaction.",
            "hoodie.metadata.metrics.enable",
            "hoodie.write.commit.callback.",
        ),
    ),
    WithoutEffect(
        because="it is of Hudi's SQL",
        names=("hoodie.spark.sql.", "hoodie.sql."),
    ),
    WithoutEffect(
        because=OF_READERS,
        names=(
            *(
                "hoodie.datasource.query.",
                "hoodie.datasource.view.type",
                "hoodie.datasource.read.",
                "hoodie.datasource.merge.type",
            ),
            *("hoodie.datasource.streaming.startOffset", "hoodie.enable.data.skipping", "hoodie.file.index.enable"),
            *("hoodie.read.timeline.holes.resolution.policy", "hoodie.bootstrap.data.queries.only"),
            "as.of.instant",
            "hoodie.metadata.index.column.stats.inMemory.projection.threshold",
            "hoodie.metadata.index.column.stats.processing.mode.override",
        ),
    ),
    WithoutEffect(
        because="the index CONSISTENT_HASHING is refused where it is chosen",
        names=(
            *("hoodie.bucket.index.max.num.buckets", "hoodie.bucket.index.min.num.buckets"),
            *("hoodie.bucket.index.merge.threshold", "hoodie.bucket.index.split.threshold"),
        ),
    ),
    WithoutEffect(
        because="a stream is retried by whoever schedules it, and its checkpoint stands in the commit",
        names=("hoodie.datasource.write.streaming.",),
    ),
    WithoutEffect(
        because=PARQUET_BY_SPARK,
        names=(
            *(
                "hoodie.parquet.field_id.write.enabled",
                "hoodie.parquet.outputtimestamptype",
                "hoodie.parquet.page.size",
            ),
            "hoodie.parquet.writelegacyformat.enabled",
        ),
    ),
    WithoutEffect(
        because=SIZES_OF_FILES,
        names=(
            *("hoodie.parquet.compression.ratio", "hoodie.logfile.to.parquet.compression.ratio"),
            *of_streamer("sample.writes."),
        ),
    ),
    WithoutEffect(
        because="curves go by the values' ranks",
        names=(
            *("hoodie.layout.optimize.build.curve.sample.size", "hoodie.layout.optimize.curve.build.method"),
            *("hoodie.layout.optimize.data.skipping.enable", "hoodie.layout.optimize.enable"),
        ),
    ),
    WithoutEffect(
        because=NO_SERVER,
        names=("hoodie.metaserver.connect.", "hoodie.metaserver.uris"),
    ),
    WithoutEffect(
        because="older files are always read, and written anew, by the table's schema",
        names=("hoodie.avro.schema.external.transformation", "hoodie.avro.schema.externalTransformation"),
    ),
    WithoutEffect(
        because="rows that can't be written go to the error table where there is one, and the write fails with that",
        names=("hoodie.errortable.validate.", "hoodie.errortable.write.failure.strategy"),
    ),
    WithoutEffect(
        because="validate.py compares the rows of file groups with their counts",
        names=("hoodie.merge.data.validation.enabled",),
    ),
    WithoutEffect(
        because="a write of no rows is a commit, which keeps its idempotency key and its checkpoint",
        names=("hoodie.allow.empty.commit",),
    ),
    WithoutEffect(
        because="the first write with hoodie.metadata.enable makes the metadata table, and each commit a log of it",
        names=(
            *("hoodie.metadata.auto.initialize", "hoodie.metadata.index.check.timeout.seconds"),
            *("hoodie.metadata.log.compaction.", "hoodie.metadata.max.deltacommits.when_pending"),
            "hoodie.metadata.max.logfile.size",
        ),
    ),
    WithoutEffect(
        because="bloom filters are those of the record key",
        names=("hoodie.metadata.index.bloom.filter.column.list",),
    ),
    WithoutEffect(
        because="tables with change data are read only, and no query of Hudi 0.15 goes by a secondary index",
        names=("hoodie.table.cdc.supplemental.logging.mode", "hoodie.table.secondary.indexes.metadata"),
    ),
    WithoutEffect(
        because="tables of earlier versions are not upgraded",
        names=("hoodie.skip.default.partition.validation",),
    ),
    WithoutEffect(
        because=NO_EVENT_TIMES,
        names=("hoodie.payload.event.time.field",),
    ),
    WithoutEffect(
        because="the options of the source say how messages are read",
        names=of_streamer(
            "source.kafka.value.deserializer.",
            "source.kafka.proto.value.deserializer.class",
            "source.kafka.fetch_partition.time.out",
        ),
    ),
    WithoutEffect(
        because="how far a topic is read stands in the table's commits alone",
        names=of_streamer("source.kafka.enable.commit.offset"),
    ),
    WithoutEffect(
        because="Hudi Streamer's source of this kind is not served; --source-format takes those of Spark",
        names=of_streamer(
            *("jdbc.", "s3.source.", "source.cloud.", "source.gcs.", "source.incrpull.root", "source.pulsar."),
            *("source.s3incr.", "source.sql.", "source.hoodieincr.file.format"),
        ),
    ),
    WithoutEffect(
        because="of a source table all columns are read, but for Hudi's own",
        names=of_streamer("source.hoodieincr.drop.all.meta.fields.from.source", "source.hoodieincr.partition."),
    ),
    WithoutEffect(
        because="a source's schema is given by --source-schema or a file",
        names=of_streamer(
            *("schemaprovider.proto.", "schemaprovider.registry.baseUrl", "schemaprovider.registry.schemaconverter"),
            *("schemaprovider.registry.sourceUrlSuffix", "schemaprovider.registry.targetUrlSuffix"),
            *("schemaprovider.registry.url", "schemaprovider.registry.urlSuffix"),
            *("schemaprovider.source.schema.hive.", "schemaprovider.source.schema.jdbc."),
            *("schemaprovider.spark_avro_post_processor.enable", "schemaprovider.target.schema.hive.database"),
        ),
    ),
    WithoutEffect(
        because="it is for a class of the JVM that is refused where it is chosen",
        names=of_streamer(
            *("schemaprovider.schema_post_processor.", "source.dfs.datepartitioned."),
            "source.json.kafka.post.processor.",
        ),
    ),
    WithoutEffect(
        because="a job writes one table, from where its commits or --checkpoint say",
        names=of_streamer("checkpoint.provider.path", "ingestion."),
    ),
    WithoutEffect(
        because="an error names the row that can't be read in any case",
        names=of_streamer("row.throw.explicit.exceptions"),
    ),
    WithoutEffect(
        because="a tool that syncs with this catalog is refused where it is chosen",
        names=("hoodie.datasource.meta.sync.glue.", "hoodie.gcp.bigquery.sync.", "hoodie.meta.sync.datahub."),
    ),
    WithoutEffect(
        because="no service of this cloud is called but for its storage, which has settings of its own",
        names=("hoodie.aws.",),
    ),
    WithoutEffect(
        because="a sync goes by the metastore's Thrift address",
        names=("hoodie.datasource.hive_sync.password", "hoodie.datasource.hive_sync.username"),
    ),
    WithoutEffect(
        because="a sync lists partitions by their metafiles or the metadata table, and the metastore's all at once",
        names=(
            *("hoodie.datasource.hive_sync.assume_date_partitioning", "hoodie.meta.sync.metadata_file_listing"),
            "hoodie.datasource.hive_sync.filter_pushdown_enabled",
            "hoodie.datasource.hive_sync.filter_pushdown_max_size",
        ),
    ),
    WithoutEffect(
        because="Hudi does nothing with it either where a sync goes by hms",
        names=("hoodie.datasource.hive_sync.bucket_sync", "hoodie.datasource.hive_sync.bucket_sync_spec"),
    ),
    WithoutEffect(
        because="it is of Hudi's sink for Kafka Connect",
        names=(
            *("hoodie.kafka.", "hoodie.meta.sync.classes", "hoodie.meta.sync.enable"),
            "hoodie.schemaprovider.class",
        ),
    ),
    WithoutEffect(
        because="validators are refused where they are chosen",
        names=("hoodie.precommit.validators.",),
    ),
)
