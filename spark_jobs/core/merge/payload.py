"""Payload semantics by Hudi's class names, as the few questions that a merge asks."""

from __future__ import annotations

from enum import Enum

from spark_jobs.core.config.table_keys import DEFAULT_PAYLOAD, OVERWRITE_WITH_LATEST
from spark_jobs.core.errors import UnsupportedTableError


class Payload(Enum):
    """``OVERWRITE`` takes the incoming record over the stored one, ``EVENT_TIME`` the one of greater ordering value.

    Within a batch and between log blocks both go by the ordering value.
    """

    OVERWRITE = OVERWRITE_WITH_LATEST
    EVENT_TIME = DEFAULT_PAYLOAD


_BEFORE_IT_HAD_A_NAME = "org.apache.hudi.common.model.HoodieAvroPayload"
"""The default of the oldest tables; Hudi 0.15 merges by it as OverwriteWithLatestAvroPayload does."""


def payload_of(class_name: str) -> Payload:
    """
    :raises UnsupportedTableError: this release does not have the payload class.
    """
    if class_name == _BEFORE_IT_HAD_A_NAME:
        return Payload.OVERWRITE
    for payload in Payload:
        if payload.value == class_name:
            return payload
    known = ", ".join(payload.value.rsplit(".", 1)[-1] for payload in Payload)
    raise UnsupportedTableError(
        f"payload class {class_name} is not supported", todo=f"use one of {known}", payload=class_name
    )
