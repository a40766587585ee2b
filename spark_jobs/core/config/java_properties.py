"""The text form of ``java.util.Properties``: ISO-8859-1, escapes with a backslash."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spark_jobs.core.errors import CorruptTableError

_KEY = re.compile(r"(?:[^=: \t\f\\]|\\.?)*", re.DOTALL)
_FOUR_DIGITS = re.compile("[0-9a-fA-F]{4}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}


def parse_properties(data: bytes) -> dict[str, str]:
    """Read what ``Properties.load`` reads; the last of equal keys wins.

    :raises CorruptTableError: a ``\\u`` escape without four hexadecimal digits.
    """
    found: dict[str, str] = {}
    for line in _logical_lines(data.decode("latin-1")):
        key, value = _split(line)
        found[_unescape(key)] = _unescape(value)
    return found


def format_properties(values: Mapping[str, str], comments: tuple[str, ...] = ()) -> bytes:
    """Write what ``Properties.store`` writes, keys sorted, each comment in a line of its own."""
    lines = [f"#{comment}" for comment in comments]
    lines += [f"{_escape(key, is_key=True)}={_escape(values[key], is_key=False)}" for key in sorted(values)]
    return ("\n".join(lines) + "\n").encode("latin-1")


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    pending = ""
    for natural in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        line = natural.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            pending += line[:-1]
            continue
        lines.append(pending + line)
        pending = ""
    if pending:
        lines.append(pending)
    return lines


def _split(line: str) -> tuple[str, str]:
    key = next(_KEY.finditer(line))[0]
    rest = line[len(key) :].lstrip(" \t\f")
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(" \t\f")
    return key, rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out: list[str] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char != "\\" or position + 1 == len(text):
            out.append(char)
            position += 1
            continue
        after = text[position + 1]
        if after == "u":
            digits = text[position + 2 : position + 6]
            if _FOUR_DIGITS.fullmatch(digits) is None:
                raise CorruptTableError(f"malformed \\u escape {digits!r} in a properties file")
            out.append(chr(int(digits, 16)))
            position += 6
        else:
            out.append(_ESCAPES.get(after, after))
            position += 2
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _escape(text: str, *, is_key: bool) -> str:
    out: list[str] = []
    for position, char in enumerate(text):
        if char == " " and (is_key or position == 0):
            out.append("\\ ")
        elif char in _UNESCAPES:
            out.append(_UNESCAPES[char])
        elif char in "\\=:#!":
            out.append("\\" + char)
        elif " " <= char <= "~":
            out.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            out.extend(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
    return "".join(out)
