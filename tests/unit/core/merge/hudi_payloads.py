"""Hudi 0.15's payload classes on records as dicts, told from the methods of each class: the other side of the tests.

``None`` is a key without a record. A record has ``id``, the ordering value ``ts``, ``_hoodie_is_deleted`` where it is
marked, and other fields.
"""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

OVERWRITE = "OverwriteWithLatestAvroPayload"
DEFAULT = "DefaultHoodieRecordPayload"
EVENT_TIME = "EventTimeAvroPayload"
FIRST_VALUE = "FirstValueAvroPayload"
NON_DEFAULTS = "OverwriteNonDefaultsWithLatestAvroPayload"
PARTIAL = "PartialUpdateAvroPayload"
AWS_DMS = "AWSDmsAvroPayload"
ALL = (OVERWRITE, DEFAULT, EVENT_TIME, FIRST_VALUE, NON_DEFAULTS, PARTIAL, AWS_DMS)


def is_delete(name: str, record: Record) -> bool:
    return record.get("_hoodie_is_deleted") is True or (name == AWS_DMS and (record.get("Op") or "").lower() == "d")


def insert_value(name: str, record: Record) -> Record | None:
    return None if is_delete(name, record) else record


def pre_combine(name: str, older: Record, newer: Record, *, in_log: bool = False) -> Record:
    """``newer.preCombine(older)``; in the log records have meta fields."""
    if name == FIRST_VALUE:
        return older if older["ts"] >= newer["ts"] else newer
    if name != PARTIAL:
        return older if older["ts"] > newer["ts"] else newer
    if older["ts"] > newer["ts"]:
        if not in_log and is_delete(name, older):
            return newer
        return _filled(older, newer)
    return newer if is_delete(name, newer) else _filled(newer, older)


def combine(name: str, stored: Record, incoming: Record) -> Record | None:
    """``incoming.combineAndGetUpdateValue(stored)``."""
    stored_ts, ts = stored["ts"], incoming["ts"]
    if name in (DEFAULT, FIRST_VALUE):
        yields = stored_ts is not None and (stored_ts > ts or (name == FIRST_VALUE and stored_ts == ts))
        return stored if yields else insert_value(name, incoming)
    if is_delete(name, incoming):
        return None
    if name == EVENT_TIME:
        return stored if stored_ts is not None and stored_ts > ts else incoming
    if name == NON_DEFAULTS:
        return _filled(incoming, stored)
    if name == PARTIAL:
        if stored_ts is not None and stored_ts > ts:
            return None if is_delete(name, stored) else _filled(stored, incoming)
        return _filled(incoming, stored)
    return incoming


def _filled(base: Record, other: Record) -> Record:
    return {field: other[field] if value is None else value for field, value in base.items()}
