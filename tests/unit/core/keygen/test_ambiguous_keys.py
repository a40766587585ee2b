"""Keys of several columns that two different records get: as in Hudi, told, and refused where that is asked for."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest

from spark_jobs.core.errors import BadRecordError
from spark_jobs.core.keygen.keys import ambiguous_keys, record_keys
from spark_jobs.core.keygen.spec import KeySpec

pytestmark = pytest.mark.unit

SPEC = KeySpec.of(["a", "b"], [], hive_style=False, url_encode=False)
STRICT = pickle.loads(pickle.dumps(replace(SPEC, refuses_ambiguous=True)))


def table(*rows: tuple[str | None, str | None]) -> pa.Table:
    first, second = zip(*rows, strict=True)
    return pa.table({"a": pa.array(first, pa.string()), "b": pa.array(second, pa.string())})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("1,b:2", "3"), ("1", "2,b:3")),
        ((None, "x"), ("__null__", "x")),
        (("", "x"), ("__empty__", "x")),
    ],
)
def test_pairs_with_one_key(one: tuple[str | None, str], other: tuple[str, str]) -> None:
    both = table(one, other)
    assert len(record_keys(both, SPEC).unique()) == 1
    assert ambiguous_keys(both, SPEC).to_pylist()[1]
    with pytest.raises(BadRecordError, match=r"of key column . has one of ',b:', '__null__', '__empty__' in it"):
        record_keys(both, STRICT)


def test_no_other_values_give_the_key() -> None:
    sound = table(("1", "2"), ("a:1", ",a:x"), (None, "null"), ("x,c:1", ""), ("b:1", "b:2"), ("_null_", ",b"))
    assert not any(ambiguous_keys(sound, SPEC).to_pylist())
    assert record_keys(sound, STRICT) == record_keys(sound, SPEC)


def test_a_key_of_one_column_is_its_value() -> None:
    single = KeySpec.of(["a"], [], hive_style=False, url_encode=False)
    rows = table(("__null__", "x"), ("1,a:2", "x"))
    assert not any(ambiguous_keys(rows, single).to_pylist())
    assert record_keys(rows, replace(single, refuses_ambiguous=True)).to_pylist() == ["__null__", "1,a:2"]
