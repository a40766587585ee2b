"""A text of one SQL statement, in Spark's grammar, as sqlglot reads it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from spark_jobs.core.errors import ConfigError
from spark_jobs.core.text import is_unicode

MAX_CHARACTERS = 1 << 20
DIALECT = "spark"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A token of a statement, from character ``start`` up to ``end``; ``text`` is without its quotes."""

    text: str
    start: int
    end: int
    is_literal: bool


# sqlglot warns through logging of what it can't parse, besides telling it in the value it gives
logging.getLogger("sqlglot").addHandler(logging.NullHandler())


def refuse_no_text(text: str) -> None:
    """
    :raises ConfigError: the text is too long, or holds halves of characters.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"the statement has {len(text)} characters", todo=f"give one of at most {MAX_CHARACTERS}")
    if not is_unicode(text):
        halves = next(word for word in text.split() if not is_unicode(word))
        raise ConfigError(f"the statement has {halves!r}, which is no Unicode text", todo="spell whole characters")


def words_of(text: str, form: str) -> list[Word]:
    """The words of one statement, without the semicolon behind it.

    :param form: what a statement looks like, for errors.
    :raises ConfigError: it can't be read.
    """
    refuse_no_text(text)
    words = [
        Word(text=one.text, start=one.start, end=one.end + 1, is_literal=one.token_type is TokenType.STRING)
        for one in _read(lambda: sqlglot.tokenize(text, dialect=DIALECT), form)
    ]
    while words and words[-1].text == ";":
        words.pop()
    return words


def one_statement(text: str, form: str) -> exp.Expr:
    """
    :param form: what a statement looks like, for errors.
    :raises ConfigError: it can't be read, or there are none or several.
    """
    parsed = _read(lambda: sqlglot.parse(text, dialect=DIALECT), form)
    statements = [one for one in parsed if one is not None and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        raise ConfigError(f"there are {len(statements)} statements", todo=f"give one; the form is {form}")
    return statements[0]


def type_of(text: str, form: str) -> exp.DataType:
    """A column's type.

    :raises ConfigError: it is none.
    """
    return _read(lambda: exp.DataType.build(text, dialect=DIALECT), form)


def _read(read: Callable[[], T], form: str) -> T:
    try:
        return read()
    except ParseError as error:
        raise ConfigError(_where(error), todo=f"check the SQL, or the type, there; the form is {form}") from error
    except (SqlglotError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
        raise ConfigError(f"the statement can't be read: {reason}", todo=f"the form is {form}") from error


def _where(error: ParseError) -> str:
    if not error.errors:
        return "the statement can't be read"
    first = error.errors[0]
    reason = str(first.get("description") or "not expected").splitlines()[0]
    return (
        f"the statement can't be read at {first.get('highlight')!r}, line {first.get('line')}, column "
        f"{first.get('col')} ({reason})"
    )
