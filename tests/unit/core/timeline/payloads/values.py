"""Any value of an Avro schema."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def values_of(schema: Any, known: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values of an Avro schema, whose branches of unions are told apart by their Python types.

    :param known: records by name, filled on the way: a schema may refer to a record that came before.
    """
    if isinstance(schema, str) and schema in known:
        return values_of(known[schema], known)
    if isinstance(schema, list):
        return st.one_of([values_of(branch, known) for branch in schema])
    kind = schema["type"] if isinstance(schema, dict) else schema
    simple: dict[str, st.SearchStrategy[Any]] = {
        "null": st.none(),
        "boolean": st.booleans(),
        "int": st.integers(-(1 << 31), (1 << 31) - 1),
        "long": st.integers(-(1 << 63), (1 << 63) - 1),
        "double": st.floats(allow_nan=False),
        "string": st.text(st.characters(codec="utf-8"), max_size=5),
    }
    if isinstance(kind, (dict, list)):
        return values_of(kind, known)
    if kind in simple:
        return simple[kind]
    if kind == "array":
        return st.lists(values_of(schema["items"], known), max_size=2)
    if kind == "map":
        return st.dictionaries(simple["string"], values_of(schema["values"], known), max_size=2)
    if kind == "record":
        known[schema["name"]] = schema
        return st.fixed_dictionaries({field["name"]: values_of(field["type"], known) for field in schema["fields"]})
    raise AssertionError(f"a kind of schema that this test does not know: {schema}")
