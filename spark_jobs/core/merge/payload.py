"""Payloads by Hudi's class names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from spark_jobs.core.config.keys import datasource as datasource_keys
from spark_jobs.core.config.keys import payload as payload_keys
from spark_jobs.core.config.keys.compact import (
    DEFAULT_MERGER_STRATEGY,
    DEFAULT_PAYLOAD,
    MERGER_STRATEGY,
    OVERWRITE_WITH_LATEST,
)
from spark_jobs.core.config.table_config import TableConfig
from spark_jobs.core.errors import ConfigError, UnsupportedTableError
from spark_jobs.core.merge.payloads.aws_dms import AwsDms
from spark_jobs.core.merge.payloads.event_time import EventTime, EventTimeDeletesAlways
from spark_jobs.core.merge.payloads.fields import OverwriteNonDefaults, PartialUpdate, defaults_of
from spark_jobs.core.merge.payloads.first_value import FirstValue
from spark_jobs.core.merge.payloads.function import FunctionPayload, load_function
from spark_jobs.core.merge.payloads.overwrite import OverwriteWithLatest
from spark_jobs.core.merge.protocol import Payload

__all__ = [
    "EVENT_TIME",
    "OVERWRITE",
    "Payload",
    "ordering_field_of",
    "payload_for_write",
    "payload_of",
    "payload_of_table",
    "refuse_other_mergers",
]

OVERWRITE: Payload = OverwriteWithLatest()
EVENT_TIME: Payload = EventTime()

NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
_MODEL = "org.apache.hudi.common.model."
_BEFORE_IT_HAD_A_NAME = _MODEL + "HoodieAvroPayload"
"""The default of the oldest tables; Hudi 0.15 merges by it as OverwriteWithLatestAvroPayload does."""
_SUPPORTED = (
    "OverwriteWithLatestAvroPayload",
    "DefaultHoodieRecordPayload",
    "EventTimeAvroPayload",
    "FirstValueAvroPayload",
    "OverwriteNonDefaultsWithLatestAvroPayload",
    "PartialUpdateAvroPayload",
    "AWSDmsAvroPayload",
)
_DEBEZIUM = (_MODEL + "debezium.MySqlDebeziumAvroPayload", _MODEL + "debezium.PostgresDebeziumAvroPayload")
_AVRO_MERGER = _MODEL + "HoodieAvroRecordMerger"


def payload_of(
    class_name: str,
    properties: Mapping[str, str] = NO_SETTINGS,
    avro_schema: Mapping[str, Any] | None = None,
) -> Payload:
    """The payload of a table.

    :param properties: of the write or service; a query gives none.
    :param avro_schema: the table's, whose defaults OverwriteNonDefaultsWithLatestAvroPayload compares with.
    :raises UnsupportedTableError: this release does not have the payload class.
    :raises ConfigError: a delete field without its marker.
    """
    ordering = payload_keys.ORDERING_FIELD.of(properties) or None
    if class_name in (OVERWRITE_WITH_LATEST, _BEFORE_IT_HAD_A_NAME):
        return OVERWRITE
    by_time = {
        DEFAULT_PAYLOAD: EventTime,
        _MODEL + "EventTimeAvroPayload": EventTimeDeletesAlways,
        _MODEL + "FirstValueAvroPayload": FirstValue,
    }
    if class_name in by_time:
        delete_field, marker = payload_keys.DELETE_FIELD.of(properties), payload_keys.DELETE_MARKER.of(properties)
        if delete_field and not marker:
            raise ConfigError(
                f"{payload_keys.DELETE_FIELD.name}={delete_field} has no marker",
                todo=f"give {payload_keys.DELETE_MARKER.name} too",
            )
        return by_time[class_name](
            ordering_field=ordering, delete_field=delete_field or None, delete_marker=marker if delete_field else ""
        )
    if class_name == _MODEL + "PartialUpdateAvroPayload":
        return PartialUpdate(ordering_field=ordering)
    if class_name == _MODEL + "OverwriteNonDefaultsWithLatestAvroPayload":
        return OverwriteNonDefaults(defaults=defaults_of(avro_schema) if avro_schema else {})
    if class_name in (_MODEL + "AWSDmsAvroPayload", "org.apache.hudi.payload.AWSDmsAvroPayload"):
        return AwsDms()
    todo = f"use one of {', '.join(_SUPPORTED)}"
    if class_name in _DEBEZIUM:
        todo = (
            "give Debezium's events as flat rows and use EventTimeAvroPayload with the log position as precombine field"
        )
    raise UnsupportedTableError(
        f"payload class {class_name} is not supported by this release", todo=todo, payload=class_name
    )


def payload_of_table(
    config: TableConfig, properties: Mapping[str, str] = NO_SETTINGS, avro_schema: Mapping[str, Any] | None = None
) -> Payload:
    """The payload by which queries and services merge the logs of a table; arguments and errors as of
    :func:`payload_of`.

    A precombine field within a struct decides against base files alone: Hudi looks for it there by its path
    (HoodieAvroUtils.getNestedFieldVal), but not in logs (SpillableMapUtils.getPreCombineVal).
    """
    nested = {payload_keys.ORDERING_FIELD.name: config.precombine_field} if "." in config.precombine_field else {}
    return payload_of(config.payload_class, {**nested, **properties}, avro_schema)


def payload_for_write(
    class_name: str, properties: Mapping[str, str], avro_schema: Mapping[str, Any] | None, *, merge_on_read: bool
) -> Payload:
    """The payload of a write: that of the table, or one's own function.

    :raises ConfigError: also a function for a MERGE_ON_READ table, whose readers would have to know it.
    """
    refuse_other_mergers(properties)
    function = payload_keys.PAYLOAD_FUNCTION.of(properties)
    if not function:
        return payload_of(class_name, properties, avro_schema)
    if merge_on_read:
        raise ConfigError(
            f"payload function {function} is for COPY_ON_WRITE tables alone: logs are merged by their readers, which "
            "know Hudi's payload classes",
            todo="use one of these, or a COPY_ON_WRITE table",
        )
    load_function(function)
    return FunctionPayload(path=function)


def refuse_other_mergers(properties: Mapping[str, str]) -> None:
    """
    :raises ConfigError: a record merger that does not leave it to the payload.
    """
    for merger in datasource_keys.MERGER_IMPLS.of(properties):
        if merger != _AVRO_MERGER:
            raise ConfigError(
                f"record merger {merger} is not supported by this release",
                todo=f"leave {datasource_keys.MERGER_IMPLS.name} out, and choose a payload class "
                "(DefaultHoodieRecordPayload merges as HoodieSparkRecordMerger does)",
            )
    for key in (datasource_keys.MERGER_STRATEGY, MERGER_STRATEGY):
        strategy = key.of(properties)
        if strategy and strategy != DEFAULT_MERGER_STRATEGY:
            raise ConfigError(
                f"{key.name}={strategy} is the id of a record merger that this release does not have",
                todo=f"use a payload class, whose id is {DEFAULT_MERGER_STRATEGY}",
            )


def ordering_field_of(config: TableConfig, names: Collection[str]) -> str | None:
    """The precombine column of a table among those of its schema; None where there is none, as the ``ts`` that Hudi's
    writer names by default need not be one: then the later record wins (Hudi: SpillableMapUtils.getPreCombineVal).
    """
    return config.precombine_field if config.precombine_field in names else None
