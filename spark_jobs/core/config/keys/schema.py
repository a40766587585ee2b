"""Keys of schemas and their history; ``datasource`` and ``write`` have those of single writes."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean

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
