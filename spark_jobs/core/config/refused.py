"""Hudi's keys that are refused: nobody does here what they ask for, and rows, files or a promise would be missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from spark_jobs.core.config.key import of_streamer
from spark_jobs.core.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A key by which Hudi does what nobody does here, so that rows, files or a promise would be missing; ``harmless``
    are the values by which it does not, as lower-case text, the empty one always among them, and so are the values
    that the keys ``same_as`` have beside it.
    """

    names: tuple[str, ...]
    because: str
    todo: str
    harmless: tuple[str, ...] = ("false",)
    same_as: tuple[str, ...] = ()

    def refuses(self, value: str, properties: Mapping[str, str]) -> bool:
        beside = (properties.get(name) for name in self.same_as)
        return value.strip().lower() not in ("", *self.harmless) and value not in beside


_WITH_HUDI = "do it with Hudi, or leave the key out"
_AS_THEY_ARE = "rows are written with the columns that they and the table have"
_CAST = "select and cast the columns in the source, or by a transformer"
_PROVIDER = "schemaprovider."
_FILTERS = ("regex", "selected")
_MERGERS = (
    *("hoodie.record.merge.strategy.id", "hoodie.write.record.merge.strategy.id"),
    "hoodie.write.record.merge.custom.implementation.classes",
)

REFUSED = (
    Refused(
        names=("hoodie.allow.operation.metadata.field",),
        because="the column _hoodie_operation is not written, and its deletes would count as rows",
        todo="leave it out; write deletes by the operation delete, or by _hoodie_is_deleted",
    ),
    Refused(
        names=("hoodie.assume.date.partitioning",),
        because="partitions are found by their metafiles, those without one would not be read",
        todo="let Hudi write to each partition once without the key",
    ),
    Refused(
        names=("hoodie.auto.commit",),
        because="a job completes the instant that it began",
        todo="leave it out: nothing stays behind for a later commit",
        harmless=("true",),
    ),
    Refused(
        names=("hoodie.base.file.format", "hoodie.table.format"),
        because="tables have base files of Parquet, and Hudi's own timeline",
        todo=_WITH_HUDI,
        harmless=("parquet", "native"),
    ),
    Refused(
        names=("hoodie.bucket.index.partition.expressions",),
        because="all partitions of a table have one number of buckets, and rows would be found in no other",
        todo=_WITH_HUDI,
        harmless=(),
    ),
    Refused(
        names=("hoodie.bulkinsert.overwrite.operation.type",),
        because="a bulk_insert replaces nothing, and the rows that were to go would stay",
        todo="give the operation insert_overwrite or insert_overwrite_table",
        harmless=(),
    ),
    Refused(
        names=tuple(f"hoodie.{name}.partition.filter.{by}" for name in ("clean", "cleaner") for by in _FILTERS),
        because="cleaning looks at all partitions, and files that were to stay would go",
        todo="leave it out, or keep their slices by a savepoint or by more retained commits",
        harmless=(),
    ),
    Refused(
        names=("hoodie.client.init.callback.classes",),
        because="it is code of the JVM that may change the writer's settings",
        todo="make those settings by hoodie_conf",
        harmless=(),
    ),
    Refused(
        names=("hoodie.metaserver.enabled",),
        because="its timeline is kept by a server, and not in .hoodie",
        todo=_WITH_HUDI,
    ),
    Refused(
        names=("hoodie.datasource.write.commitmeta.key.prefix",),
        because="options are not copied into the metadata of a commit",
        todo="leave it out",
        harmless=("_",),
    ),
    Refused(
        names=("hoodie.datasource.write.slash.separated.date.partitioning",),
        because="partitions are named by the values of their columns, and a date's would be another folder",
        todo="give the path by the key generator TimestampBasedKeyGenerator with the output format yyyy/MM/dd",
    ),
    Refused(
        names=("hoodie.metadata.dir.filter.regex",),
        because="the metadata table has all partitions, those that Hudi would leave out too",
        todo="leave it out, or turn hoodie.metadata.enable off",
        harmless=(),
    ),
    Refused(
        names=("hoodie.partition.ttl.inline",),
        because="no partition goes by its age, and rows that were to go would stay",
        todo="delete partitions by the operation delete_partition",
    ),
    Refused(
        names=("hoodie.precommit.validators", "hoodie.prewrite.validators"),
        because="they are code of the JVM, and a commit that they would stop would be completed",
        todo="check the rows by a transformer before, or by validate.py after",
        harmless=(),
    ),
    Refused(
        names=("hoodie.record.merge.mode", "hoodie.write.record.merge.mode", *_MERGERS),
        because="in tables of version 6 the payload class says how rows of one key are merged",
        todo="give hoodie.datasource.write.payload.class: DefaultHoodieRecordPayload merges by event time, "
        "OverwriteWithLatestAvroPayload by commit time",
        harmless=(),
    ),
    Refused(
        names=("hoodie.table.keygenerator.type",),
        because="a table keeps the class of its key generator",
        todo="give hoodie.datasource.write.keygenerator.type or hoodie.datasource.write.keygenerator.class",
        harmless=(),
        same_as=("hoodie.datasource.write.keygenerator.type",),
    ),
    Refused(
        names=("hoodie.table.log.file.format", "hoodie.table.rt.file.format"),
        because="log files have the format HOODIE_LOG",
        todo=_WITH_HUDI,
        harmless=("hoodie_log",),
    ),
    Refused(
        names=("hoodie.table.ordering.fields",),
        because="tables of version 6 have one precombine field",
        todo="give hoodie.datasource.write.precombine.field",
        harmless=(),
        same_as=("hoodie.datasource.write.precombine.field", "hoodie.table.precombine.field"),
    ),
    Refused(
        names=(
            *("hoodie.table.partial.update.mode", "hoodie.write.partial.update.schema"),
            "hoodie.write.partial.update.unavailable.value",
        ),
        because="rows are written whole, and what stands for a missing value would be stored",
        todo="give the payload class PartialUpdateAvroPayload, with null for what is to stay",
        harmless=(),
    ),
    Refused(
        names=("hoodie.write.schema",),
        because=_AS_THEY_ARE,
        todo=_CAST,
        harmless=(),
    ),
    Refused(
        names=("hoodie.write.table.version",),
        because="tables of version 6 are made and written",
        todo="leave it out, or give 6",
        harmless=("6",),
    ),
    Refused(
        names=of_streamer("checkpoint.force.skip"),
        because="a batch notes in its commit how far the source is read, and the next one goes on from there",
        todo="leave it out, and tell the next run by --checkpoint where to go on",
    ),
    *(
        Refused(
            names=of_streamer(f"{_PROVIDER}{target}"),
            because=_AS_THEY_ARE,
            todo=_CAST,
            harmless=(),
            same_as=of_streamer(f"{_PROVIDER}{source}"),
        )
        for target, source in (
            ("registry.targetUrl", "registry.url"),
            ("target.schema.file", "source.schema.file"),
            ("target.schema.hive.table", "source.schema.hive.table"),
        )
    ),
    Refused(
        names=of_streamer(f"{_PROVIDER}schema_post_processor"),
        because="it is code of the JVM, and columns that it takes off would be written",
        todo=_CAST,
        harmless=(),
    ),
    Refused(
        names=of_streamer("source.hoodieincr.data.datasource.options"),
        because="it may name rows that Hudi's reader would leave out",
        todo="leave it out, and choose rows by a transformer",
        harmless=(),
    ),
    Refused(
        names=of_streamer("source.input.selector"),
        because="it is code of the JVM that chooses the files to read",
        todo="name files or folders by --source",
        harmless=("org.apache.hudi.utilities.sources.helpers.dfspathselector",),
    ),
    Refused(
        names=of_streamer("source.json.kafka.processor.class"),
        because="it is code of the JVM, and messages that it changes or leaves out would be written as they are",
        todo="change and choose rows by a transformer",
        harmless=(),
    ),
    Refused(
        names=of_streamer("source.kafka.checkpoint.type"),
        because="a checkpoint holds the offset of each partition",
        todo="give --checkpoint TOPIC,PARTITION:OFFSET,...",
        harmless=("string",),
    ),
    Refused(
        names=of_streamer("transformer.class"),
        because="it is code of the JVM, and rows would be written as they are",
        todo="give --transformer-sql, --transformer-sql-file, or --transformer with a function of Python",
        harmless=(
            "org.apache.hudi.utilities.transform.sqlquerybasedtransformer",
            "org.apache.hudi.utilities.transform.sqlfilebasedtransformer",
        ),
    ),
)
"""In the order of their names, those of Hudi Streamer last."""


def refuse_unserved(properties: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a key asks for what nobody does here, and whose absence would harm the table or its users.
    """
    for one in REFUSED:
        for name in one.names:
            value = properties.get(name, "")
            if one.refuses(value, properties):
                raise ConfigError(f"{name}={value} is not served: {one.because}", todo=one.todo, key=name, value=value)
