"""Keys of payloads: how two records of one key become one (Hudi: HoodiePayloadConfig, DefaultHoodieRecordPayload)."""

from __future__ import annotations

from spark_jobs.core.config.key import NO_NAMES, Key, names, text

ORDERING_FIELD = Key(
    name="hoodie.payload.ordering.field",
    parse=text,
    default="",
    doc="Column by which stored records are compared with incoming ones; the precombine field if not given.",
)
DELETE_FIELD = Key(
    name="hoodie.payload.delete.field",
    parse=text,
    default="",
    doc="Column that says which records are deletes, with DefaultHoodieRecordPayload and its kin.",
)
DELETE_MARKER = Key(
    name="hoodie.payload.delete.marker",
    parse=text,
    default="",
    doc="The value of that column that says so; needed with it.",
)
MERGER_IMPLS = Key(
    name="hoodie.datasource.write.record.merger.impls",
    parse=names,
    default=NO_NAMES,
    doc="Record mergers, by Hudi's class names: HoodieAvroRecordMerger, which leaves it to the payload, is known.",
)
MERGER_STRATEGY = Key(
    name="hoodie.datasource.write.record.merger.strategy",
    parse=text,
    default="",
    doc="Id of the record merger of a new MERGE_ON_READ table; that of HoodieAvroRecordMerger is known.",
)
PAYLOAD_FUNCTION = Key(
    name="pyhudi.payload.function",
    parse=text,
    default="",
    doc="One's own payload, as module:function, for COPY_ON_WRITE tables.",
)
