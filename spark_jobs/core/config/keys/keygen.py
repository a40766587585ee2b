"""The keys of key generators (Hudi: KeyGeneratorOptions, TimestampKeyGeneratorConfig)."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, boolean, text

TIMESTAMP_TYPE = Key(
    name="hoodie.keygen.timebased.timestamp.type",
    parse=text,
    default="",
    doc="What time columns hold: UNIX_TIMESTAMP, DATE_STRING, MIXED, EPOCHMILLISECONDS or SCALAR.",
    aliases=("hoodie.deltastreamer.keygen.timebased.timestamp.type",),
)
SCALAR_UNIT = Key(
    name="hoodie.keygen.timebased.timestamp.scalar.time.unit",
    parse=text,
    default="SECONDS",
    doc="Unit of SCALAR, by Java's TimeUnit.",
    aliases=("hoodie.deltastreamer.keygen.timebased.timestamp.scalar.time.unit",),
)
INPUT_FORMATS = Key(
    name="hoodie.keygen.timebased.input.dateformat",
    parse=text,
    default="",
    doc="Patterns of the dates in a text column.",
    aliases=("hoodie.deltastreamer.keygen.timebased.input.dateformat",),
)
DELIMITER = Key(
    name="hoodie.keygen.timebased.input.dateformat.list.delimiter.regex",
    parse=text,
    default=",",
    doc="What separates the input patterns, as a regular expression.",
    aliases=("hoodie.deltastreamer.keygen.timebased.input.dateformat.list.delimiter.regex",),
)
INPUT_ZONE = Key(
    name="hoodie.keygen.timebased.input.timezone",
    parse=text,
    default="",
    doc="Zone of dates in text that name none.",
    aliases=("hoodie.deltastreamer.keygen.timebased.input.timezone",),
)
OUTPUT_FORMAT = Key(
    name="hoodie.keygen.timebased.output.dateformat",
    parse=text,
    default="",
    doc="Pattern of partition values.",
    aliases=("hoodie.deltastreamer.keygen.timebased.output.dateformat",),
)
OUTPUT_ZONE = Key(
    name="hoodie.keygen.timebased.output.timezone",
    parse=text,
    default="",
    doc="Zone of partition values.",
    aliases=("hoodie.deltastreamer.keygen.timebased.output.timezone",),
)
ZONE = Key(
    name="hoodie.keygen.timebased.timezone",
    parse=text,
    default="",
    doc="Zone of input and output; wins over both.",
    aliases=("hoodie.deltastreamer.keygen.timebased.timezone",),
)
PARSER_CLASS = Key(
    name="hoodie.keygen.datetime.parser.class",
    parse=text,
    default="org.apache.hudi.keygen.parser.HoodieDateTimeParser",
    doc="Reader of time-based settings; this release has Hudi's own alone.",
    aliases=("hoodie.deltastreamer.keygen.datetime.parser.class",),
)
REFUSE_AMBIGUOUS = Key(
    name="pyhudi.recordkey.refuse.ambiguous",
    parse=boolean,
    default=False,
    doc="Of keys of several columns: rows don't fit whose key the values of another record may give, too.",
)
PERSISTED = (
    SCALAR_UNIT,
    DELIMITER,
    INPUT_FORMATS,
    INPUT_ZONE,
    OUTPUT_FORMAT,
    OUTPUT_ZONE,
    ZONE,
    PARSER_CLASS,
)
"""Those that a table keeps in ``hoodie.properties`` from its creation on; the timestamp type is not among them."""
