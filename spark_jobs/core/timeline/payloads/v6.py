"""Payloads of table version 6 and older ones: commits in JSON, all others in Avro's container files (Hudi:
HoodieCommitMetadata.toJsonString, TimelineMetadataUtils.serializeAvroMetadata).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import RESTORE_FILE, CorruptTableError
from spark_jobs.core.timeline.payloads.avro_codec import decode_payload, encode_payload, note_of
from spark_jobs.core.timeline.payloads.payload import Kind, Payload
from spark_jobs.core.timeline.payloads.schemas import SCHEMAS


@dataclass(frozen=True, slots=True)
class PayloadsOf6:
    """A commit has no place for a note; an empty file is one that says nothing."""

    def encode(self, payload: Payload) -> bytes:
        if payload.kind is Kind.COMMIT:
            return json.dumps(payload.record, indent=2, ensure_ascii=False).encode("utf-8")
        return encode_payload(SCHEMAS[payload.kind], payload.record, payload.note)

    def decode(self, data: bytes, kind: Kind | None, name: str) -> dict[str, Any]:
        return commit_record(data, name) if kind is Kind.COMMIT else decode_payload(data, name)

    def note_of(self, data: bytes) -> dict[str, str]:
        return note_of(data)


def commit_record(data: bytes, name: str) -> dict[str, Any]:
    """
    :raises CorruptTableError: no JSON object.
    """
    try:
        found: Any = json.loads(data) if data.strip() else {}
        if not isinstance(found, dict):
            raise TypeError(f"a {type(found).__name__} stands there")
        return found
    except (ValueError, TypeError, RecursionError) as error:
        what = f"{name} is not commit metadata ({error})"
        raise CorruptTableError(what, todo=RESTORE_FILE, name=name) from error
