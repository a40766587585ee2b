"""What one ``hoodie.*`` key is: its type, default, other names, and what it means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from spark_jobs.core.errors import ConfigError

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[T]):
    """One typed declaration.

    ``parse`` takes the text of the value and raises ValueError where it is no such value; ``aliases`` are its names in
    other versions of Hudi, looked up in their order when ``name`` is absent.
    """

    name: str
    parse: Callable[[str], T]
    default: T
    doc: str
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All its names, the present one first."""
        return (self.name, *self.aliases)

    def of(self, values: Mapping[str, str]) -> T:
        """The value in ``values``, or the default where no name of the key is set or its text is empty.

        :raises ConfigError: the text is no value of this key.
        """
        for name in self.names:
            text = values.get(name)
            if text is None or text == "":
                continue
            try:
                return self.parse(text)
            except ValueError as error:
                raise ConfigError(f"{name}={text} is not valid", todo=str(error), key=name, value=text) from None
        return self.default


def of_streamer(*names: str) -> tuple[str, ...]:
    """Keys of Hudi Streamer by what follows its prefix, each by its present name and then by the older one."""
    return tuple(prefix + name for prefix in ("hoodie.streamer.", "hoodie.deltastreamer.") for name in names)


NO_NAMES: tuple[str, ...] = ()
"""The default of keys that hold names."""


def text(value: str) -> str:
    return value


def names(value: str) -> tuple[str, ...]:
    """A comma-separated list of names, blanks around each dropped."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def boolean(value: str) -> bool:
    lowered = value.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("give true or false")
    return lowered == "true"


def integer(at_least: int = 0, at_most: int | None = None) -> Callable[[str], int]:
    """A whole number not below ``at_least``, and not above ``at_most`` where that is given."""

    def parse(value: str) -> int:
        try:
            number = int(value)
        except ValueError:
            raise ValueError("give a whole number") from None
        if number < at_least:
            raise ValueError(f"give a whole number of at least {at_least}")
        if at_most is not None and number > at_most:
            raise ValueError(f"give a whole number of at most {at_most}")
        return number

    return parse


def real(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("give a number") from None


def share(value: str) -> float:
    """A number between 0 and 1, both left out."""
    number = real(value)
    if not 0 < number < 1:
        raise ValueError("give a number between 0 and 1")
    return number


def choice(kind: type[E]) -> Callable[[str], E]:
    """One of the values of an enumeration, in any case."""

    def parse(value: str) -> E:
        for member in kind:
            if member.value.lower() == value.strip().lower():
                return member
        raise ValueError("give one of " + ", ".join(member.value for member in kind))

    return parse


def class_of(kind: type[E], instead: Mapping[str, str] | None = None) -> Callable[[str], E]:
    """A class of Hudi's by its name, with or without its package.

    :param instead: what to give in the place of classes that Hudi has and this project has not.
    """
    inner = choice(kind)

    def parse(value: str) -> E:
        short = value.strip().rpartition(".")[2]
        if instead and short in instead:
            raise ValueError(instead[short])
        return inner(short)

    return parse


def pattern(value: str) -> str:
    """A regular expression, as text."""
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"give a regular expression ({error})") from None
    return value
