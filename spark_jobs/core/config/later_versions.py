"""Keys that Hudi has since 1.0 and that change nothing here, each with the reason. Those that would change rows or
files are refused, and other names of keys that are read stand beside these.
"""

from __future__ import annotations

from spark_jobs.core.config.without_effect import (
    CONFLICTS_AT_THE_END,
    CUT_BY_FILES,
    NO_CLASSES,
    NO_EVENT_TIMES,
    NO_SERVER,
    NO_SUCH_FILES,
    OF_READERS,
    PARQUET_BY_SPARK,
    SERVICES_ARE_JOBS,
    SIZES_OF_FILES,
    WithoutEffect,
)

OF_LATER_VERSIONS = (
    WithoutEffect(
        because="it is of timelines, logs or metadata tables as versions 8 and 9 have them, which are refused",
        names=(
            *("hoodie.timeline.", "hoodie.time.generator.", "_hoodie.time.generator.reuse.enable"),
            *("hoodie.table.initial.version", "hoodie.table.legacy.payload.class", "hoodie.table.index.defs.path"),
            *("hoodie.merge.use.record.positions", "hoodie.write.record.positions", "hoodie.write.rolling.metadata."),
            *("hoodie.metadata.streaming.write.", "hoodie.metadata.write.", "hoodie.metadata.range.repartition."),
            *("hoodie.metadata.repartition.", "hoodie.record.merge.property.", "hoodie.support.payload"),
        ),
    ),
    WithoutEffect(
        because="new keys are always written as those that the table has",
        names=("hoodie.write.complex.keygen.validation.enable",),
    ),
    WithoutEffect(
        because="a table stays at its version, which says how it is written",
        names=("hoodie.write.auto.upgrade",),
    ),
    WithoutEffect(
        because="this index is not kept, and not needed for any answer",
        names=(
            *("hoodie.metadata.index.expression.", "hoodie.expression.index.", "hoodie.metadata.index.secondary."),
            *("hoodie.datasource.write.secondarykey.column", "hoodie.metadata.index.partition.stats."),
            *("hoodie.metadata.record.level.index.", "hoodie.metadata.partitioned.record.index."),
            *("hoodie.vector.columns", "hoodie.index.name", "hoodie.metadata.index.drop"),
        ),
    ),
    WithoutEffect(
        because="the metadata table is compacted and cleaned by commits and by numbers of its own",
        names=(
            *("hoodie.metadata.compact.max.delta.seconds", "hoodie.metadata.compact.trigger.strategy"),
            *("hoodie.metadata.derive.from.datatable.clean.policy", "hoodie.metadata.table.service.manager."),
        ),
    ),
    WithoutEffect(
        because="indexes are taken off by their own keys alone, or have no such limit",
        names=(
            *("hoodie.metadata.auto.delete.partitions", "hoodie.metadata.index.column.stats.max.columns.to.index"),
            "hoodie.metadata.record.index.enable.validation.on.initialization",
        ),
    ),
    WithoutEffect(
        because="base files of the metadata table have no bloom filter, no cache and no key twice",
        names=(
            *("hoodie.metadata.bloom.filter.", "hoodie.metadata.file.cache.max.size.mb", "hoodie.hfile.block.cache."),
            "hoodie.hfile.writes.allow.duplicates",
        ),
    ),
    WithoutEffect(
        because=CUT_BY_FILES,
        names=(
            *("hoodie.metadata.record.preparation.parallelism", "hoodie.clustering.group.read.parallelism"),
            *("hoodie.bloom.index.bucketized.checking.enable.dynamic.parallelism", "hoodie.clean.parallelism"),
            *("hoodie.bloom.index.fileid.key.sorting.enable", "hoodie.bulkinsert.sort.suffix.record_key"),
            *("hoodie.bucket.index.remote.partitioner.enable", "hoodie.errortable.source.rdd.persist"),
            *("hoodie.errortable.write.union.enable", "hoodie.cdc.file.group.iterator.memory.spill.bytes"),
        ),
    ),
    WithoutEffect(
        because="plans are made where the job runs, once, of all partitions that may have work",
        names=(
            *("hoodie.table.services.incremental.enabled", "hoodie.clean.optimize.using.local.engine.context"),
            *("hoodie.clean.max.commits.to.clean", "hoodie.rollback.avoid.duplicate.plan"),
            *("hoodie.clustering.plan.generation.", "hoodie.compaction.plan.generator"),
            *("hoodie.clustering.plan.strategy.earliest.commit.to.cluster", "hoodie.write.empty.clean.interval.hours"),
            "hoodie.clustering.plan.strategy.file.slices.sort.by",
            "hoodie.clustering.plan.strategy.binary.copy.schema.evolution.enable",
        ),
    ),
    WithoutEffect(
        because="a clustering yields to the writes that change its groups",
        names=("hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution",),
    ),
    WithoutEffect(
        because=SERVICES_ARE_JOBS,
        names=(
            *("hoodie.clean.multiple.enabled", "hoodie.prewrite.cleaner.policy"),
            *("hoodie.archive.block.on.latest.clean.ectr", "hoodie.post.commit.failures.ignored"),
            *("hoodie.write.can.ignore.post.commit.failures", "hoodie.write.ignore.failed"),
        ),
    ),
    WithoutEffect(
        because="files of attempts that came to nothing are told by their markers and deleted before the commit",
        names=("hoodie.block.writes.on.speculative.execution", "hoodie.fail.job.on.duplicate.data.file.detection"),
    ),
    WithoutEffect(
        because=CONFLICTS_AT_THE_END,
        names=("hoodie.write.concurrency.schema.conflict.resolution.enable", "hoodie.write.application.id"),
    ),
    WithoutEffect(
        because="it belongs to a lock that is not taken",
        names=("hoodie.write.lock.app_id",),
    ),
    WithoutEffect(
        because="no partition goes by its age unless hoodie.partition.ttl.inline asks for it, which is refused",
        names=("hoodie.partition.ttl.management.strategy.type", "hoodie.partition.ttl.strategy."),
    ),
    WithoutEffect(
        because="bucket numbers are one for a table; expressions for others are refused",
        names=("hoodie.bucket.index.partition.rule.type",),
    ),
    WithoutEffect(
        because=NO_CLASSES,
        names=(
            *("hoodie.write.merge.handle.", "hoodie.write.concat.handle.class", "hoodie.compact.merge.handle.class"),
            *("hoodie.parquet.write.config.injector.class", "hoodie.parquet.flink.rowdata.write.support.class"),
            *("hoodie.spark.polaris.catalog.class", "hoodie.datasource.partition_extractor_class"),
            "hoodie.table.partition_extractor_class",
        ),
    ),
    WithoutEffect(
        because=NO_SUCH_FILES,
        names=("hoodie.lance.", "hoodie.table.multiple.base.file.formats.enable"),
    ),
    WithoutEffect(
        because="what a bootstrap knows of its source stands in HFiles",
        names=("hoodie.bootstrap.index.type",),
    ),
    WithoutEffect(
        because=PARQUET_BY_SPARK,
        names=("hoodie.parquet.write.utc-timezone.enabled",),
    ),
    WithoutEffect(
        because=SIZES_OF_FILES,
        names=("hoodie.record.size.estimator.", "_hoodie.record.size.estimator.max.commits"),
    ),
    WithoutEffect(
        because=OF_READERS,
        names=(
            *("hoodie.file.group.reader.enabled", "hoodie.file.index.cache.", "hoodie.read.blob.inline.mode"),
            *("hoodie.realtime.merge.skip", "hoodie.bucket.index.query.pruning"),
        ),
    ),
    WithoutEffect(
        because=NO_SERVER,
        names=("hoodie.instant_state.timeline_server_based.",),
    ),
    WithoutEffect(
        because="of equal ordering values the later row counts",
        names=("hoodie.payload.update.on.same.ordering.field",),
    ),
    WithoutEffect(
        because=NO_EVENT_TIMES,
        names=("hoodie.write.track.event.time.watermark",),
    ),
    WithoutEffect(
        because="a sync changes what differs in the metastore, and fails where it can't",
        names=(
            *("hoodie.datasource.hive_sync.recreate_table_on_error", "hoodie.datasource.hive_sync.use_spark_catalog"),
            *("hoodie.meta.sync.no_partition_metadata", "hoodie.meta.sync.touch.partitions.enabled"),
        ),
    ),
)
