"""Where a SQL text ends a statement."""

from __future__ import annotations

import pytest

from spark_jobs.write.sql_statements import statements_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", []),
        (" ;\n; ", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT ';', \"a;b\", `c;d` FROM x; SELECT 2;", ["SELECT ';', \"a;b\", `c;d` FROM x", "SELECT 2"]),
        ("-- a; b\nSELECT 1 -- c;\n", ["SELECT 1"]),
        ("SELECT /* a; 'b */ 1; /* whole */", ["SELECT   1"]),
        ("SELECT /*+ BROADCAST(a) */ 1", ["SELECT /*+ BROADCAST(a) */ 1"]),
        (r"SELECT 'it\'s;', 'it''s;'", [r"SELECT 'it\'s;', 'it''s;'"]),
        ("SELECT 'open; 1", ["SELECT 'open", "1"]),
    ],
)
def test_statements(text: str, statements: list[str]) -> None:
    assert statements_of(text) == statements
