"""Avro types as JSON: checked, with names replaced by what they name (Avro specification, "Names")."""

from __future__ import annotations

from typing import Any

from spark_jobs.core.errors import CorruptTableError, UnsupportedTableError
from spark_jobs.core.schema.kinds import PRIMITIVES
from spark_jobs.core.text import is_unicode

AvroType = Any
"""A type in a schema: a name, a list (union) or a dict."""

MOST_DIGITS = 76
"""Of a decimal: Arrow has no longer ones."""

_MOST_LEVELS = 100
_MOST_TYPES = 100_000
_MOST_WITHOUT_BYTES = 256
_LARGEST_FIXED = 2**31 - 1


def split_nullable(avro: AvroType) -> tuple[AvroType, int | None]:
    """The type of a field without its null, and the null's place in the union (None where it is not nullable).

    :raises UnsupportedTableError: a union of several types.
    """
    if not isinstance(avro, list):
        return avro, None
    if avro == ["null"]:
        return "null", 0
    others = [branch for branch in avro if branch not in ("null", {"type": "null"})]
    if len(others) != 1 or len(avro) > 2:
        raise UnsupportedTableError(f"an Avro union of {_names_of(avro)} has no Arrow type")
    return others[0], (avro.index("null") if len(avro) == 2 else None)


def resolve_names(avro: AvroType) -> AvroType:
    """The same type with every reference to a named type replaced by its definition.

    :raises CorruptTableError: it is no Avro type, or one of absurd size.
    :raises UnsupportedTableError: a record that contains itself, a decimal that Arrow does not have.
    """
    try:
        resolved = _resolved(avro, "", {}, ())
        weight, without_bytes = _weight(resolved, {}), _without_bytes(resolved, {})
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptTableError(f"an Avro schema is not one ({type(error).__name__}: {error})") from error
    if weight > _MOST_TYPES:
        raise CorruptTableError(f"an Avro schema has more than {_MOST_TYPES} types when its names are resolved")
    if without_bytes > _MOST_WITHOUT_BYTES:
        raise CorruptTableError(f"an Avro schema has {without_bytes} values that take no bytes")
    return resolved


def _weight(avro: AvroType, known: dict[int, int]) -> int:
    """How many types a resolved type has in it; one that is in several places counts in each, and is walked once."""
    if isinstance(avro, str):
        return 1
    if id(avro) not in known:
        inner = avro if isinstance(avro, list) else [avro[key] for key in ("items", "values") if key in avro]
        fields = [] if isinstance(avro, list) else [field["type"] for field in avro.get("fields", ())]
        known[id(avro)] = 1 + sum(_weight(each, known) for each in [*inner, *fields])
    return known[id(avro)]


def _without_bytes(avro: AvroType, known: dict[int, int]) -> int:
    """How many values in one of a resolved type take no bytes: each costs its reader, and the file nothing."""
    if isinstance(avro, str):
        return int(avro == "null")
    if id(avro) not in known:
        if isinstance(avro, list):
            parts = [branch for branch in avro if branch not in ("null", {"type": "null"})]
        else:
            parts = [avro[key] for key in ("items", "values") if key in avro]
            parts += [field["type"] for field in avro.get("fields", ())]
        is_one = isinstance(avro, dict) and not parts and (avro["type"] in ("null", "record") or avro.get("size") == 0)
        known[id(avro)] = is_one + sum(_without_bytes(part, known) for part in parts)
    return known[id(avro)]


def _resolved(
    avro: AvroType, namespace: str, known: dict[str, AvroType], open_names: tuple[str, ...], level: int = 0
) -> AvroType:
    if level > _MOST_LEVELS:
        raise CorruptTableError(f"an Avro schema has more than {_MOST_LEVELS} levels")
    if isinstance(avro, list):
        branches = [_resolved(branch, namespace, known, open_names, level + 1) for branch in avro]
        if any(isinstance(branch, list) for branch in branches):
            raise TypeError("a union in a union")
        return branches
    if isinstance(avro, str):
        return _named(avro, namespace, known, open_names)
    kind = avro["type"]
    if not isinstance(kind, str):
        return _resolved(kind, namespace, known, open_names, level + 1)
    for name, inner in (("array", "items"), ("map", "values")):
        if kind == name:
            found = _resolved(avro[inner], namespace, known, open_names, level + 1)
            return {"type": name, **_attributes(avro), inner: found}
    if avro.get("logicalType") == "decimal" and kind in ("bytes", "fixed"):
        _check_decimal(avro)
    if kind in PRIMITIVES:
        return {"type": kind, **_attributes(avro)}
    if kind in ("record", "error", "enum", "fixed"):
        return _definition(avro, kind, namespace, known, open_names, level)
    return _named(kind, namespace, known, open_names)


def _attributes(avro: AvroType) -> dict[str, Any]:
    """What a type says of itself besides its parts."""
    found = {key: value for key, value in avro.items() if key not in ("type", "items", "values", "fields")}
    if not isinstance(found.get("logicalType", ""), str):
        del found["logicalType"]  # one that is not known counts as none
    return found


def _named(name: str, namespace: str, known: dict[str, AvroType], open_names: tuple[str, ...]) -> AvroType:
    if name in PRIMITIVES:
        return name
    full = name if "." in name or not namespace else f"{namespace}.{name}"
    full = full if full in known or full in open_names else name
    if full in open_names:
        raise UnsupportedTableError(f"the Avro record {full} contains itself, which has no Arrow type")
    if full not in known:
        raise CorruptTableError(f"an Avro schema uses the type {name!r} without defining it")
    return known[full]


def _definition(
    avro: AvroType, kind: str, namespace: str, known: dict[str, AvroType], open_names: tuple[str, ...], level: int
) -> AvroType:
    full = _text(avro["name"], "name")
    outer = avro.get("namespace", namespace)
    if "." not in full and outer:
        full = f"{_text(outer, 'namespace')}.{full}"
    result = {"type": kind, **_attributes(avro)}
    if kind == "fixed":
        size = avro["size"]
        if not isinstance(size, int) or not 0 <= size <= _LARGEST_FIXED:
            raise TypeError("size of a fixed")
    elif kind == "enum":
        if not isinstance(avro["symbols"], list):
            raise TypeError("symbols of an enum")
        for symbol in avro["symbols"]:
            _text(symbol, "one of the symbols of an enum")
    else:
        if not isinstance(avro["fields"], list):
            raise TypeError("fields of a record")
        names = [_text(field["name"], "name of a field") for field in avro["fields"]]
        if len(set(names)) < len(names):
            raise TypeError("two fields of one name")
        inner = full.rpartition(".")[0]
        result["type"] = "record"
        result["fields"] = [
            {
                **field,
                "type": _resolved(field["type"], inner, known, (*open_names, full), level + 1),
            }
            for field in avro["fields"]
        ]
    known[full] = result
    return result


def _check_decimal(avro: AvroType) -> None:
    precision, scale = avro["precision"], avro.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        raise TypeError("precision or scale of a decimal")
    if not 1 <= precision <= MOST_DIGITS or not 0 <= scale <= MOST_DIGITS:
        raise UnsupportedTableError(
            f"an Avro decimal has {precision} digits and the scale {scale}, Arrow has 1 to {MOST_DIGITS} digits"
        )


def _text(value: object, what: str) -> str:
    if not isinstance(value, str):
        raise TypeError(what)
    if not is_unicode(value):
        raise CorruptTableError(f"an Avro schema has the {what} {value!r}, which is no Unicode text")
    return value


def _names_of(union: list[AvroType]) -> str:
    return ", ".join(str(branch["type"]) if isinstance(branch, dict) else str(branch) for branch in union)
