"""The forms of payloads that this release knows, by the name that a table's format gives its own."""

from __future__ import annotations

from spark_jobs.core.format.protocol import TableFormat
from spark_jobs.core.timeline.payloads.form import PayloadForm
from spark_jobs.core.timeline.payloads.v6 import PayloadsOf6

FORMS: dict[str, PayloadForm] = {"JSON and Avro": PayloadsOf6()}


def payloads_of(format: TableFormat) -> PayloadForm:
    """That of the tables of a format."""
    return FORMS[format.payload_form]
