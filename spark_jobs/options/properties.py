"""A file of ``java.util.Properties`` as users write them for Hudi's tools: ``key=value`` lines and comments."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from spark_jobs.options.errors import OptionsError

_FOUR_DIGITS = re.compile("[0-9a-fA-F]{4}")
MOST_BYTES = 1 << 20
"""Of a file of properties: Hudi's tools are given a few kilobytes."""
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(location: str) -> dict[str, str]:
    """The pairs of a local file (a path or a ``file:`` URL), in its order; the last of equal keys wins.

    :raises OptionsError: the file can't be read, is too large, or a line of it is no pair.
    """
    path = Path(unquote(urlsplit(location).path)) if location.startswith("file:") else Path(location)
    try:
        with path.open("rb") as file:  # also a pipe, which has no size: never more than this is taken from it
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise OptionsError(f"--props {location} can't be read ({error.strerror}): give a readable file") from error
    return parse_properties(text_of(data, location), location)


def text_of(data: bytes, location: str) -> str:
    """What a file has, of which at least a byte more than ``MOST_BYTES`` was asked for: UTF-8, else Latin-1 as Java has
    it.

    :raises OptionsError: it is too large.
    """
    if len(data) > MOST_BYTES:
        raise OptionsError(f"--props {location} has more than {MOST_BYTES} bytes: give a file of hoodie.* properties")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_properties(text: str, location: str = "properties") -> dict[str, str]:
    """The pairs of a text; ``=``, ``:`` or a blank ends a key, a line that ends with a backslash goes on in the next.

    :raises OptionsError: a ``\\u`` escape without four hexadecimal digits, or one that spells half a character.
    """
    found: dict[str, str] = {}
    pending = ""
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        if (len(line) - len(line.rstrip("\\"))) % 2:
            pending += line[:-1]
            continue
        key, value = _split(pending + line)
        found[_unescape(key, location)] = _unescape(value, location)
        pending = ""
    if pending:
        key, value = _split(pending)
        found[_unescape(key, location)] = _unescape(value, location)
    return found


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    rest = line[end:].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return line[:end], rest


def _unescape(text: str, location: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\" or at + 1 == len(text):
            out.append(text[at])
            at += 1
        elif text[at + 1] == "u":
            digits = text[at + 2 : at + 6]
            if not _FOUR_DIGITS.fullmatch(digits):
                raise OptionsError(f"{location}: \\u{digits} is no escape: give four hexadecimal digits")
            out.append(chr(int(digits, 16)))
            at += 6
        else:
            out.append(_ESCAPES.get(text[at + 1], text[at + 1]))
            at += 2
    joined = "".join(out).encode("utf-16", "surrogatepass")  # two escapes can spell one character
    try:
        return joined.decode("utf-16")
    except UnicodeDecodeError:
        raise OptionsError(f"{location}: {text} is no Unicode text: spell whole characters") from None
