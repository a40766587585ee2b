"""One declaration per option: its names on a command line, its ``hoodie.*`` keys, its text and its value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import Any, TypeVar, get_type_hints

from spark_jobs.options.errors import OptionsError

E = TypeVar("E", bound=StrEnum)

Pairs = Mapping[str, str] | tuple[tuple[str, str], ...]
"""What a field of pairs takes; it is kept as a tuple of pairs in the order given, the last of equal names winning."""


class Kind(Enum):
    """The form of a value."""

    TEXT = "text"
    INTEGER = "a whole number"
    BOOLEAN = "true or false"
    SWITCH = "given or not"
    NAMES = "names with commas between them"
    TEXTS = "texts, the option repeated"
    PAIRS = "name=value, the option repeated"
    CHOICE = "one of a few words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How a field stands on a command line (``names``) and in configuration (``keys``); the first is written."""

    names: tuple[str, ...]
    kind: Kind
    keys: tuple[str, ...]
    help: str
    choices: type[StrEnum] | None
    least: int | None = None
    """Of whole numbers the smallest."""
    private: bool = False
    """Whether a value may be secret, and so is left out of command lines and messages."""

    def parse(self, text: str) -> Any:
        """A value from its text.

        :raises ValueError: it is none; the message says what to give.
        """
        if self.choices is not None:
            return parse_choice(self.choices, text)
        if self.kind is Kind.INTEGER:
            return _integer(text, self.least)
        if self.kind is Kind.BOOLEAN:
            return _boolean(text)
        if self.kind is Kind.NAMES:
            return tuple(part.strip() for part in text.split(",") if part.strip())
        return text

    def arguments(self, value: Any) -> list[str]:
        """The command line's words for a value; none for one that is not set."""
        name = self.names[0]
        if value is None or (value is False and self.kind is Kind.SWITCH) or value == ():
            return []
        if self.kind is Kind.SWITCH:
            return [name]
        if self.kind is Kind.TEXTS:
            return [f"{name}={text}" for text in value]
        if self.kind is Kind.PAIRS:
            return [f"{name}={key}={text}" for key, text in value]
        return [f"{name}={self.text(value)}"]

    def text(self, value: Any) -> str:
        """A single value's text, as a ``hoodie.*`` key has it."""
        if self.kind is Kind.BOOLEAN:
            return "true" if value else "false"
        if self.kind is Kind.NAMES:
            return ",".join(value)
        return str(value)

    def checked(self, value: Any) -> Any:
        """The value in the form in which it is kept.

        :raises OptionsError: it does not fit the option.
        """
        if value is None:
            return () if self.kind in (Kind.NAMES, Kind.TEXTS, Kind.PAIRS) else None
        try:
            kept = self._kept(value)
            _refuse_halves(kept, private=self.private)
            return kept
        except (TypeError, ValueError) as error:
            shown = "" if self.private else f"={_shown(value)}"
            raise OptionsError(f"{self.names[0]}{shown} is not valid: {error}") from None

    def _kept(self, value: Any) -> Any:
        if self.kind is Kind.PAIRS:
            return _pairs(value)
        if self.kind in (Kind.NAMES, Kind.TEXTS):
            return self._many(value)
        if self.choices is not None:
            return parse_choice(self.choices, str(value))
        if self.kind is Kind.INTEGER:
            return _integer(str(value), self.least)
        if self.kind in (Kind.BOOLEAN, Kind.SWITCH):
            return value if isinstance(value, bool) else _boolean(str(value))
        return str(value)

    def _many(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            return tuple(self.parse(value)) if self.kind is Kind.NAMES else (value,)
        values = tuple(str(part) for part in value)
        for part in values:
            if self.kind is Kind.NAMES and (not part.strip() or "," in part or part != part.strip()):
                raise ValueError(f"{part!r} is no name: give names without commas or blanks around them")
        return values


def flag(
    *names: str,
    help: str,
    kind: Kind = Kind.TEXT,
    keys: tuple[str, ...] = (),
    choices: type[StrEnum] | None = None,
    least: int | None = None,
    private: bool = False,
) -> Flag:
    """The declaration that stands in the ``Annotated`` type of a dataclass field."""
    kind = Kind.CHOICE if choices else kind
    private = private or kind is Kind.PAIRS  # whose names are the user's
    return Flag(names=names, kind=kind, keys=keys, help=help, choices=choices, least=least, private=private)


def flags_of(options: type[Any]) -> dict[str, Flag]:
    """Field name -> declaration of a dataclass, in the order of definition."""
    kind: Any = options  # a class may be a key, whatever the type checker thinks of its instances
    return _flags_of(kind)


@cache
def _flags_of(options: Any) -> dict[str, Flag]:
    return {
        name: declared
        for name, hint in get_type_hints(options, include_extras=True).items()
        for declared in getattr(hint, "__metadata__", ())
        if isinstance(declared, Flag)
    }


def parse_choice(kind: type[E], text: str) -> E:
    """A member by its value, in any case.

    :raises ValueError: there is none; the message lists them.
    """
    for member in kind:
        if member.value.lower() == text.strip().lower():
            return member
    raise ValueError("give one of " + ", ".join(member.value for member in kind))


def _shown(value: Any) -> str:
    """As it can be printed."""
    return str(value).encode(errors="backslashreplace").decode()


def _integer(text: str, least: int | None) -> int:
    try:
        number = int(text)
    except ValueError:
        raise ValueError("give a whole number") from None
    if least is not None and number < least:
        raise ValueError(f"give {least} or more")
    return number


def _boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("give true or false")
    return lowered == "true"


def _refuse_halves(value: Any, *, private: bool) -> None:
    """
    :raises ValueError: a text, or one in tuples, that has no UTF-8; words with wrong bytes come as such.
    """
    if isinstance(value, tuple):
        for part in value:
            _refuse_halves(part, private=private)
    elif isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{'a value' if private else repr(value)} is no Unicode text") from None


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    items = value.items() if isinstance(value, Mapping) else value
    found: dict[str, str] = {}
    for item in items:
        if isinstance(item, str):
            raise ValueError("give pairs of a name and a value")
        name, text = item
        if not name or "=" in name:
            raise ValueError(f"{name!r} is no name: give name=value")
        found.pop(name, None)
        found[name] = "true" if text is True else "false" if text is False else str(text)
    return tuple(found.items())
