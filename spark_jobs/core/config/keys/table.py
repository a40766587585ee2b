"""Keys of ``hoodie.properties`` (Hudi: HoodieTableConfig); those with other prefixes stand by these."""

from __future__ import annotations

from enum import StrEnum

from spark_jobs.core.config.key import NO_NAMES, Key, boolean, choice, integer, names, text
from spark_jobs.core.format.instant_time import TimelineZone


class TableType(StrEnum):
    COPY_ON_WRITE = "COPY_ON_WRITE"
    MERGE_ON_READ = "MERGE_ON_READ"


class BaseFileFormat(StrEnum):
    PARQUET = "PARQUET"
    ORC = "ORC"
    HFILE = "HFILE"


NAME = Key(
    name="hoodie.table.name",
    parse=text,
    default="",
    doc="Name of the table.",
    aliases=("hoodie.datasource.write.table.name",),
)
DATABASE = Key(name="hoodie.database.name", parse=text, default="", doc="Database of the table; part of the checksum.")
TYPE = Key(
    name="hoodie.table.type",
    parse=choice(TableType),
    default=TableType.COPY_ON_WRITE,
    doc="COPY_ON_WRITE or MERGE_ON_READ.",
)
VERSION = Key(name="hoodie.table.version", parse=integer(), default=0, doc="Version of the table format.")
LAYOUT_VERSION = Key(
    name="hoodie.timeline.layout.version", parse=integer(), default=0, doc="Version of the timeline's layout."
)
CHECKSUM = Key(name="hoodie.table.checksum", parse=text, default="", doc="CRC32 of `<database>.<table>`, decimal.")
PRECOMBINE_FIELD = Key(
    name="hoodie.table.precombine.field", parse=text, default="", doc="Column that decides between records of one key."
)
PARTITION_FIELDS = Key(
    name="hoodie.table.partition.fields", parse=names, default=NO_NAMES, doc="Partition columns; none: not partitioned."
)
RECORD_KEY_FIELDS = Key(
    name="hoodie.table.recordkey.fields", parse=names, default=NO_NAMES, doc="Columns whose values make the record key."
)
CREATE_SCHEMA = Key(name="hoodie.table.create.schema", parse=text, default="", doc="Avro schema given at creation.")
BASE_FILE_FORMAT = Key(
    name="hoodie.table.base.file.format",
    parse=choice(BaseFileFormat),
    default=BaseFileFormat.PARQUET,
    doc="Format of base files.",
    aliases=("hoodie.table.ro.file.format",),
)
POPULATE_META_FIELDS = Key(
    name="hoodie.populate.meta.fields",
    parse=boolean,
    default=True,
    doc="False: virtual keys, the meta columns stay empty.",
)
KEY_GENERATOR_CLASS = Key(
    name="hoodie.table.keygenerator.class",
    parse=text,
    default="",
    doc="How key and partition path are made, by Hudi's class name.",
)
TIMEZONE = Key(
    name="hoodie.table.timeline.timezone",
    parse=choice(TimelineZone),
    default=TimelineZone.LOCAL,
    doc="Zone of instants.",
)
METAFILE_BASE_FORMAT = Key(
    name="hoodie.partition.metafile.use.base.format", parse=boolean, default=False, doc="Partition metafile as Parquet."
)
CDC_ENABLED = Key(name="hoodie.table.cdc.enabled", parse=boolean, default=False, doc="Change data files are written.")
METADATA_PARTITIONS = Key(
    name="hoodie.table.metadata.partitions",
    parse=names,
    default=NO_NAMES,
    doc="Finished partitions of the metadata table.",
)
METADATA_PARTITIONS_INFLIGHT = Key(
    name="hoodie.table.metadata.partitions.inflight",
    parse=names,
    default=NO_NAMES,
    doc="Partitions of the metadata table being built.",
)
TABLE_SERVICES = Key(
    name="hoodie.table.services.enabled",
    parse=boolean,
    default=True,
    doc="False: a write runs and plans no service afterwards, whatever the other keys say.",
)
