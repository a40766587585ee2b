"""Payloads in the form of version 6, and what stands in such files."""

from __future__ import annotations

from typing import Any

from spark_jobs.core.format.instant import Instant
from spark_jobs.core.timeline.commit_metadata import CommitMetadata
from spark_jobs.core.timeline.payloads.payload import Payload, kind_of
from spark_jobs.core.timeline.payloads.shapes import shaped
from spark_jobs.core.timeline.payloads.v6 import PayloadsOf6, commit_record

FORM = PayloadsOf6()


def stored(payload: Payload) -> bytes:
    """The content of its file."""
    return FORM.encode(payload)


def commit_in(data: bytes, name: str = "x") -> CommitMetadata:
    """What the file of a commit says."""
    return CommitMetadata.of(commit_record(data, name), name)


def payload_in(data: bytes, instant: Instant, name: str = "x") -> Payload:
    """What the file of an instant says, as it stands there."""
    kind = kind_of(instant)
    assert kind is not None, instant
    return Payload(kind, FORM.decode(data, kind, name))


def shaped_in(data: bytes, instant: Instant, name: str = "") -> dict[str, Any]:
    """The plan or result in the file of an instant."""
    return shaped(FORM.decode(data, kind_of(instant), name or str(instant)), instant, name)
