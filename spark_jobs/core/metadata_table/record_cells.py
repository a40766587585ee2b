"""Records of the partition ``record_index``: where a record key is, and how that stands in a cell.

Hudi: HoodieMetadataPayload.createRecordIndexUpdate, HoodieRecordIndexInfo. All keys of a file group that one instant
wrote share one value, so that values are encoded and decoded once for each such group, never once a key.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.core.errors import CorruptTableError
from spark_jobs.core.format.instant_time import instant_text, parse_instant_time
from spark_jobs.core.metadata_table.codec import Codec

RECORD_INDEX_TYPE = 5
UUID_ENCODING, TEXT_ENCODING = 0, 1
_NO_NUMBER = -1
_FILE_ID = re.compile(r"([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})(?:-(0|[1-9][0-9]{0,8}))?")
_HALF = 1 << 64
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """The file group that has a record; ``instant`` is the one that put it there, 17 digits."""

    partition: str
    file_id: str
    instant: str


def millis_of(instant: str) -> int:
    """Milliseconds since 1970 of an instant, whose digits Hudi reads in this machine's time zone, always."""
    return round(parse_instant_time(instant).timestamp() * 1000)


def instant_of(millis: int) -> str:
    """The 17 digits of a moment, in this machine's time zone.

    :raises CorruptTableError: no moment that the calendar has.
    """
    try:
        moment = datetime.fromtimestamp(millis // 1000) + timedelta(milliseconds=millis % 1000)
    except (ValueError, OverflowError, OSError) as error:
        raise CorruptTableError(f"the record index has the instant {millis}, which is none ({error})") from error
    return instant_text(moment)


def _to_avro(_: str, one: RecordLocation) -> Mapping[str, Any]:
    found = _FILE_ID.fullmatch(one.file_id)
    high = low = number = _NO_NUMBER
    if found is not None:
        whole = uuid.UUID(found[1]).int
        high, low = _signed(whole // _HALF), _signed(whole % _HALF)
        number = _NO_NUMBER if found[2] is None else int(found[2])
    return {
        "type": RECORD_INDEX_TYPE,
        "recordIndexMetadata": {
            "partitionName": one.partition,
            "fileIdHighBits": high,
            "fileIdLowBits": low,
            "fileIndex": number,
            "fileId": one.file_id if found is None else "",
            "instantTime": millis_of(one.instant),
            "fileIdEncoding": TEXT_ENCODING if found is None else UUID_ENCODING,
        },
    }


def _from_avro(record: Mapping[str, Any], where: str) -> RecordLocation:
    raw = record.get("recordIndexMetadata")
    if record.get("type") != RECORD_INDEX_TYPE or not isinstance(raw, Mapping):
        raise CorruptTableError(f"{where} has a record of type {record.get('type')} in the record index", where=where)
    if raw.get("fileIdEncoding") == TEXT_ENCODING:
        file_id = str(raw.get("fileId") or "")
    else:
        high, low = int(raw.get("fileIdHighBits") or 0), int(raw.get("fileIdLowBits") or 0)
        file_id = str(uuid.UUID(int=high % _HALF * _HALF + low % _HALF))
        number = raw.get("fileIndex")
        if number is not None and number != _NO_NUMBER:
            file_id = f"{file_id}-{number}"
    return RecordLocation(
        partition=str(raw.get("partitionName") or ""),
        file_id=file_id,
        instant=instant_of(int(raw.get("instantTime") or 0)),
    )


def _signed(half: int) -> int:
    return half - _HALF if half >= _SIGN else half


RECORD_LOCATIONS: Codec[RecordLocation] = Codec(_to_avro, _from_avro, lambda older, newer: newer)
