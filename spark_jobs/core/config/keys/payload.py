"""Keys of payloads: how two records of one key become one (Hudi: HoodiePayloadConfig, DefaultHoodieRecordPayload)."""

from __future__ import annotations

from spark_jobs.core.config.key import Key, text

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
PAYLOAD_FUNCTION = Key(
    name="pyhudi.payload.function",
    parse=text,
    default="",
    doc="One's own payload, as module:function, for COPY_ON_WRITE tables.",
)
