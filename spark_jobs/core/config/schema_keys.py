"""Keys of writes that say what may become of a table's schema."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, text

RECONCILE_SCHEMA = Key(
    name="hoodie.datasource.write.reconcile.schema",
    parse=boolean,
    default=False,
    doc="Keep the table's columns that the source lacks, and add or widen those that it has beyond.",
)
SET_NULL_FOR_MISSING = Key(
    name="hoodie.write.set.null.for.missing.columns",
    parse=boolean,
    default=False,
    doc="Columns that the source lacks become null; else they are an error.",
)
ALLOW_COLUMN_DROP = Key(
    name="hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
    parse=boolean,
    default=False,
    doc="Columns that the source lacks leave the table.",
)
SCHEMA_ON_READ = Key(
    name="hoodie.schema.on.read.enable",
    parse=boolean,
    default=False,
    doc="With reconcile.schema, start a schema history; a table that has one goes on with it in any case.",
)
SCHEMA_VALIDATE = Key(
    name="hoodie.avro.schema.validate",
    parse=boolean,
    default=False,
    doc="Accepted; schemas are always checked.",
)
SANITIZE_NAMES = Key(
    name="hoodie.streamer.source.sanitize.invalid.schema.field.names",
    parse=boolean,
    default=False,
    doc="Rename columns of the source whose names Avro does not have; else they are an error.",
    aliases=("hoodie.deltastreamer.source.sanitize.invalid.schema.field.names",),
)
SANITIZE_MASK = Key(
    name="hoodie.streamer.source.sanitize.invalid.char.mask",
    parse=text,
    default="__",
    doc="What stands in such a name for each character that Avro does not have.",
    aliases=("hoodie.deltastreamer.source.sanitize.invalid.char.mask",),
)
