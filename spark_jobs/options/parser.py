"""From the words of a command line to the values of fields, by their declarations."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from spark_jobs.options.errors import OptionsError
from spark_jobs.options.flags import Flag, Kind
from spark_jobs.options.foreign_words import answer_to


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionsError(" ".join(message.split()).removeprefix("argument "))


def parse_arguments(job: str, flags: Mapping[str, Flag], arguments: Sequence[str] | None) -> dict[str, Any]:
    """The fields that the words set, by name (``sys.argv`` without ``arguments``).

    :raises OptionsError: an unknown option (the nearest known one is named), a value that does not fit.
    :raises SystemExit: ``--help`` was asked for and printed.
    """
    parser = _Parser(prog=job, allow_abbrev=False, argument_default=argparse.SUPPRESS)
    for field, declared in flags.items():
        parser.add_argument(*declared.names, dest=field, help=declared.help.replace("%", "%%"), **_how(declared))
    namespace, rest = parser.parse_known_args(arguments)
    if rest:
        raise OptionsError(_unknown(job, flags, rest))
    return vars(namespace)


def _how(declared: Flag) -> dict[str, Any]:
    metavar = declared.names[0].lstrip("-").upper().replace("-", "_")
    if declared.kind is Kind.SWITCH:
        return {"action": "store_true"}
    if declared.kind is Kind.TEXTS:
        return {"action": "extend", "nargs": "+", "metavar": metavar}
    if declared.kind is Kind.PAIRS:
        return {"action": "append", "type": _pair, "metavar": "NAME=VALUE"}
    if declared.kind is Kind.BOOLEAN:
        return {"nargs": "?", "const": True, "type": _typed(declared), "metavar": "true|false"}
    if declared.choices is not None:
        metavar = "|".join(declared.choices)
    return {"type": _typed(declared), "metavar": metavar}


def _typed(declared: Flag) -> Any:
    def convert(text: str) -> Any:
        try:
            return declared.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not valid: {error}") from None

    return convert


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError("give name=value")  # not the text, which may be secret
    return name, value


def _unknown(job: str, flags: Mapping[str, Flag], rest: Sequence[str]) -> str:
    word = next((word for word in rest if word.startswith("-")), rest[0]).split("=", 1)[0]
    if not word.startswith("-"):
        return f"{word!r} belongs to no option of {job}: see --help"
    answer = answer_to(job, word)
    if answer is not None:
        return answer
    known = [name for declared in flags.values() for name in declared.names]
    nearest = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"{word} is no option of {job}: " + (f"did you mean {nearest[0]}?" if nearest else "see --help")
