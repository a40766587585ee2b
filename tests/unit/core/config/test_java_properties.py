"""The text form of ``java.util.Properties``; the expected values are what Java 17 gave for the same input."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.core.config.java_properties import format_properties, parse_properties
from spark_jobs.core.errors import CorruptTableError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\n", {"a": "1"}),
        (" a : 1 \n", {"a": "1 "}),
        ("a 1", {"a": "1"}),
        ("a\\ b=c\\=d", {"a b": "c=d"}),
        ("a=\\u00e9\\u4F60", {"a": "é你"}),
        ("a=1\\\n   2\n", {"a": "12"}),
        ("a=1\\\n\nb=2", {"a": "1", "b": "2"}),
        ("#c\n!d\na=1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("=v", {"": "v"}),
        ("a\\:b\\==c", {"a:b=": "c"}),
        ("a=x\\ty\\nz\\q", {"a": "x\ty\nzq"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\\", {"a": "1"}),
        ("\\\n#x=1\ny=2", {"y": "2"}),
        ("a==b", {"a": "=b"}),
        ("a= = b", {"a": "= b"}),
        ("a=\\\\\nb=2", {"a": "\\", "b": "2"}),
        ("\\u0041=\\uD83D\\uDE00", {"A": "😀"}),
        ("a=é", {"a": "é"}),
        ("a\tb", {"a": "b"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=x \\\n# y", {"a": "x # y"}),
        ("a\f=\f1", {"a": "1"}),
    ],
)
def test_what_java_reads(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text.encode("latin-1")) == expected


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("a", "1", b"a=1\n"),
        ("a b", " c d ", b"a\\ b=\\ c d \n"),
        ("#k", "!v", b"\\#k=\\!v\n"),
        ("k=:", "v=:", b"k\\=\\:=v\\=\\:\n"),
        ("t\tn\n", "\r\f\\", b"t\\tn\\n=\\r\\f\\\\\n"),
        ("é", "你😀", b"\\u00E9=\\u4F60\\uD83D\\uDE00\n"),
        ("e", "", b"e=\n"),
        ("\x7f", "\x01", b"\\u007F=\\u0001\n"),
    ],
)
def test_what_java_writes(key: str, value: str, line: bytes) -> None:
    assert format_properties({key: value}) == line


@pytest.mark.parametrize("text", ["a=\\u12", "a=\\u12g4", "a=\\u+123", "a=\\u 123", "a=\\u1_23", "a=\\u"])
def test_a_short_or_odd_escape_is_refused_as_java_refuses_it(text: str) -> None:
    with pytest.raises(CorruptTableError, match="malformed"):
        parse_properties(text.encode())


def test_half_a_surrogate_pair_is_kept() -> None:
    assert parse_properties(b"a=\\uD83D") == {"a": "\ud83d"}


def test_comments_come_first_and_keys_sorted() -> None:
    assert format_properties({"b": "2", "a": "1"}, ("one", "two")) == b"#one\n#two\na=1\nb=2\n"


@given(st.dictionaries(st.text(st.characters(codec=None)), st.text(st.characters(codec=None))))
def test_round_trip(values: dict[str, str]) -> None:
    assert parse_properties(format_properties(values, ("a comment",))) == values
