"""What real Hudi's key generators make of rows; runs in the process of ``hudi_server``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from py4j.protocol import Py4JJavaError

Answer = dict[str, str]
"""``{"key", "path"}`` of a row, ``{"row_path"}`` besides where the generator's form for Spark rows says otherwise;
``{"error"}`` where it raises."""


def key_answers(jvm: Any, frame: Any, cases: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """For each case (the ``hoodie.*`` options of a write): the class that Hudi chooses, and an answer for each row.

    Rows are put to the generator as the Avro records that a write makes of them.
    """
    schema, rows = frame._jdf.schema(), list(frame._jdf.collectAsList())
    to_avro = jvm.org.apache.hudi.AvroConversionUtils.createConverterToAvro(schema, "record", "hoodie")
    records = [to_avro.apply(row) for row in rows]
    return [_answers(jvm, options, list(zip(rows, records, strict=True))) for options in cases]


def _answers(jvm: Any, options: Mapping[str, str], rows: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
    properties = jvm.org.apache.hudi.common.config.TypedProperties()
    for name, value in options.items():
        properties.setProperty(name, value)
    factory = jvm.org.apache.hudi.keygen.factory.HoodieSparkKeyGeneratorFactory
    try:
        name = factory.getKeyGeneratorClassName(properties)
        generator = factory.createKeyGenerator(properties)
    except Py4JJavaError as error:
        return {"error": _shown(error)}
    return {"class": name, "rows": [_answer(generator, row, record) for row, record in rows]}


def _answer(generator: Any, row: Any, record: Any) -> Answer:
    try:
        key = generator.getKey(record)
        found = {"key": key.getRecordKey(), "path": key.getPartitionPath()}
    except Py4JJavaError as error:
        return {"error": _shown(error)}
    try:
        on_rows = {"row_key": generator.getRecordKey(row), "row_path": generator.getPartitionPath(row)}
    except Py4JJavaError as error:
        on_rows = {"row_path": f"error: {_shown(error)}"}
    return found | {name: text for name, text in on_rows.items() if text != found[name.removeprefix("row_")]}


def _shown(error: Py4JJavaError) -> str:
    """The exception and its first cause, one line each, in one."""
    shown, cause = [], error.java_exception
    while cause is not None and len(shown) < 3:
        shown.append(f"{cause.getClass().getSimpleName()}: {(cause.getMessage() or '').splitlines()[:1]}")
        cause = cause.getCause()
    return " <- ".join(shown)[:400]
