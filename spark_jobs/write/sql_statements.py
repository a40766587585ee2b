"""Statements of a SQL text, cut at semicolons that stand in no literal, name or comment."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
      '(?:[^'\\]|\\.|'')*'          # literals, with either way to write a quote in one
    | "(?:[^"\\]|\\.|"")*"
    | `(?:[^`]|``)*`                # names
    | --[^\n]*                      # comments
    | /\*.*?\*/
    | ;
    | .
    """,
    re.VERBOSE | re.DOTALL,
)


def statements_of(text: str) -> list[str]:
    """The statements without their semicolons and comments, empty ones left out."""
    found: list[list[str]] = [[]]
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == ";":
            found.append([])
        elif token.startswith("--"):
            continue
        elif token.startswith("/*") and not token.startswith("/*+"):
            found[-1].append(" ")
        else:
            found[-1].append(token)
    joined = ("".join(tokens).strip() for tokens in found)
    return [one for one in joined if one]
