"""What a form of payloads is asked: how a table version writes records to the files of its instants."""

from __future__ import annotations

from typing import Any, Protocol

from spark_jobs.core.timeline.payloads.payload import Kind, Payload


class PayloadForm(Protocol):
    """A value: it is pickled with the timeline."""

    def encode(self, payload: Payload) -> bytes:
        """The content of a file."""

    def decode(self, data: bytes, kind: Kind | None, name: str) -> dict[str, Any]:
        """The record of a file, as it stands there: what it lacks and what does not belong there is for others to see.

        :param kind: what the file has to hold; None where this release knows of no record that belongs there.
        :param name: of the file, as an error names it.
        :raises CorruptTableError: it holds no record.
        """

    def note_of(self, data: bytes) -> dict[str, str]:
        """The note beside the record; nothing of a damaged file."""
