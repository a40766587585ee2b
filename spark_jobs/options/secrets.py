"""Which values are secret, by their names or their form, and texts without them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote

HIDDEN = "***"
SENSITIVE_KEYS = "hoodie.sensitive.config.keys"
"""Hudi's key for parts of names whose values are hidden, too."""
_LEAST = 4
"""Characters of a value that is hidden wherever it stands: shorter ones are parts of too many words."""
_WORDS_OF_A_LOG = frozenset({"true", "false", "none", "null"})
_SECRET = re.compile(
    r"passw|pwd|passphrase|passcode|secret|token|cookie|credential|jaas|bearer|authorization|user\.?info|api_?key|"
    r"(^|[^a-z])(sas|sig|signature)($|[^a-z])",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_KEYS_OF_ACCESS = frozenset(
    {"access", "account", "api", "encryption", "master", "private", "secret", "shared", "storage"}
)
_BEFORE_NO_SECRET = frozenset(
    {
        *("cluster", "foreign", "merge", "message", "partition", "precombine", "primary", "record", "sort", "unique"),
        "idempotency",  # the name of a run
    }
)
_AFTER_NO_SECRET = frozenset(
    {"class", "column", "columns", "deserializer", "field", "fields", "format", "generator", "serializer", "type"}
)
_IN_A_URL = (
    re.compile(r"://[^/?#@\s:]*:([^/?#\s]+)@"),
    # one that is not encoded as it should be; not the port of a host with such a character later on
    re.compile(r"://[^/?#@\s:]*:(?!\d{1,5}[/,?#])([^/?#@\s]*[/?#][^@\s]*)@"),
    re.compile(r"jdbc:oracle:\w+:[^/@\s]*/([^\s]+)@", re.IGNORECASE),
)
_PARAMETER_NAMES = (
    r"(?:passw\w*|(?<![a-z])pass|pwd|passphrase|passcode|secret\w*|\w*token|sig|signature|\w*api_?key|\w*access_?key"
    r"|\w*account_?key|\w*private_?key)"
)
_PARAMETER = re.compile(
    _PARAMETER_NAMES + r"""\s*=\s*(?:"([^"]*)"|'([^']*)'|\{((?:[^}]|\}\})*)\}|([^\s&;,"'{]+))""", re.IGNORECASE
)
_MEMBER = re.compile(
    r"""["']\w*""" + _PARAMETER_NAMES + r"""["']\s*:\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)')""", re.IGNORECASE
)
"""Of JSON."""
_CREDENTIALS = re.compile(r"\b(?:Basic|Bearer)\s+([\w+/=.~-]{8,})", re.IGNORECASE)
"""Of an Authorization header."""
_LINE = 16
"""Characters of one line of a secret that is hidden alone: a private key is shown line by line."""
_ENCODED = re.compile("%[0-9A-F]{2}")


def is_secret_name(name: str) -> bool:
    """Whether the value of an option or property of this name is to be hidden, known or not."""
    if _SECRET.search(name):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    ours = name.startswith(("hoodie.", "pyhudi."))  # whose keys are mostly those of records
    for at, word in enumerate(words):
        if word == "pass" and words[at + 1 : at + 2] not in (["through"], ["thru"]):
            return True
        if word not in ("key", "keys", "accesskey", "accountkey"):
            continue
        before = words[at - 1] if at else ""
        after = words[at + 1] if at + 1 < len(words) else ""
        if word.startswith("acc") or before in _KEYS_OF_ACCESS:
            return True
        if not ours and before not in _BEFORE_NO_SECRET and after not in _AFTER_NO_SECRET:
            return True
    return False


def secrets_within(text: str) -> Iterator[str]:
    """The passwords and tokens that a text holds: in URLs, in ``name=value`` parameters, in a JAAS configuration, in
    JSON and in an Authorization header.
    """
    for pattern in (*_IN_A_URL, _CREDENTIALS):
        yield from pattern.findall(text)
    for pattern in (_PARAMETER, _MEMBER):
        for parts in pattern.findall(text):
            yield from filter(None, parts)


def secret_values(pairs: Iterable[tuple[str, str]]) -> set[str]:
    """All that is to be hidden of named values: the whole of what has a secret's name, parts of the others."""
    found: set[str] = set()
    given = tuple(pairs)
    listed = ",".join(value.lower() for name, value in given if name == SENSITIVE_KEYS)
    parts = [part.strip() for part in listed.split(",") if part.strip()]
    for name, value in given:
        found.update(secrets_within(value))
        if is_secret_name(name) or any(part in name.lower() and name != SENSITIVE_KEYS for part in parts):
            found.add(value)
    return found


def can_be_hidden(value: str) -> bool:
    """Whether a secret value is long enough, and no word that a log is full of."""
    return len(value.strip()) >= _LEAST and value.lower() not in _WORDS_OF_A_LOG


def _spellings(value: str) -> Iterator[str]:
    """A value as texts show it: in one line, line by line, in JSON, in Python, in URLs."""
    for text in (value, " ".join(value.split())):
        yield from (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1], repr(text)[1:-1])
    for text in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield from (text, _ENCODED.sub(lambda found: found[0].lower(), text))
    yield unquote(value)
    lines = value.split("\n")
    yield from (line.strip() for line in lines if len(lines) > 1 and len(line.strip()) >= _LINE)


class Hiding:
    """Texts without secret values, in whatever spelling they stand there."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        spellings = {
            spelling
            for value in values
            if can_be_hidden(value)
            for spelling in _spellings(value)
            if len(spelling) >= _LEAST
        }
        longest_first = sorted(spellings, key=lambda one: (-len(one), one))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def text(self, text: str) -> str:
        """The same text with each secret value as ``***``."""
        return self._pattern.sub(HIDDEN, text) if self._pattern else text

    def within(self, value: object) -> object:
        """The same for all texts in lists and dictionaries; names stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.within(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.within(part) for part in value]
        return value
