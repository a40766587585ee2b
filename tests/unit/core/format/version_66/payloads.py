"""The form of its payloads: a line with the number of the kind and the note, then the record, compressed."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.timeline.payloads.payload import Kind, Payload


@dataclass(frozen=True, slots=True)
class CompressedPayloads:
    def encode(self, payload: Payload) -> bytes:
        head = json.dumps([payload.kind.value, dict(payload.note)]).encode()
        return head + b"\n" + zlib.compress(json.dumps(payload.record).encode())

    def decode(self, data: bytes, kind: Kind | None, name: str) -> dict[str, Any]:
        if not data and kind is Kind.COMMIT:
            return {}
        try:
            head, _, record = data.partition(b"\n")
            if kind is None or json.loads(head)[0] != kind.value:
                raise ValueError(f"it is no {kind}")
            found: dict[str, Any] = json.loads(zlib.decompress(record))
            return found
        except (ValueError, zlib.error) as error:
            raise CorruptTableError(f"{name} is no payload ({error})") from error

    @staticmethod
    def text_of(data: bytes) -> bytes:
        """The record as text."""
        return zlib.decompress(data.partition(b"\n")[2]) if data else b""

    def note_of(self, data: bytes) -> dict[str, str]:
        found: dict[str, str] = json.loads(data.partition(b"\n")[0])[1] if data else {}
        return found
