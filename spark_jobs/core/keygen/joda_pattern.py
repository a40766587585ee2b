"""Joda-Time's date patterns, which Hudi's time-based keys use, taken apart (org.joda.time.format.DateTimeFormat).

``yyyy-MM-dd'T'HH`` is year, ``-``, month, ``-``, day, ``T``, hour.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from spark_jobs.core.errors import ConfigError

NUMERIC = "cCxyYdhHmsSeDFwWkK"
"""Letters whose value is always a number; a month of one or two letters is one too."""
FORMATTED = "GCYxweEyDMdaKhHkmsSZ"
"""Letters that this release writes."""
PARSED = "yYDMdaKhHkmsSZ"
"""Letters that this release reads."""

_TOKEN = re.compile(r"([A-Za-z])\1*")


@dataclass(frozen=True, slots=True)
class Element:
    """``letter`` so many times; or, without a letter, literal ``text``."""

    letter: str
    count: int
    text: str = ""

    @property
    def is_numeric(self) -> bool:
        return (self.letter in NUMERIC or (self.letter == "M" and self.count <= 2)) if self.letter else False


def elements_of(pattern: str, letters: str, what: str) -> tuple[Element, ...]:
    """Take a pattern apart.

    :param letters: those that can be translated.
    :param what: the key that holds the pattern, for messages.
    :raises ConfigError: another letter, or an empty pattern.
    """
    if not pattern:
        raise ConfigError(f"{what} is empty", todo="give a date pattern such as yyyy/MM/dd", key=what)
    found: list[Element] = []
    position = 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            text, position = _literal(pattern, position)
            if text:
                found.append(Element("", 0, text))
            continue
        letter, position = token[1], token.end()
        if letter not in letters or (letter == "Z" and len(token[0]) > 2):
            raise ConfigError(
                f"{what}={pattern} has {token[0]}, which can't be translated",
                todo="use the letters " + " ".join(letters) + " (of Z at most two)",
                key=what,
                letter=letter,
            )
        found.append(Element(letter, len(token[0])))
    return tuple(found)


def _literal(pattern: str, position: int) -> tuple[str, int]:
    """Text up to the next letter outside of quotes, and where it ends; two quotes are one."""
    text, quoted = "", False
    while position < len(pattern):
        char = pattern[position]
        if char == "'":
            if pattern[position + 1 : position + 2] == "'":
                text += char
                position += 1
            else:
                quoted = not quoted
        elif not quoted and char.isascii() and char.isalpha():
            break
        else:
            text += char
        position += 1
    return text, position
