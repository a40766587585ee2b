"""``alter table`` as a value: Spark's grammar for changes of columns; all else is refused by name.

Spark: ALTER TABLE ADD/DROP/RENAME/ALTER COLUMN. What each does to a schema is in :mod:`spark_jobs.core.schema.changes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from sqlglot import exp

from spark_jobs.core.alter import Change
from spark_jobs.core.errors import ConfigError
from spark_jobs.core.schema.alteration import path_of
from spark_jobs.core.schema.avro import avro_schema_of
from spark_jobs.core.schema.changes import (
    add_column,
    comment_column,
    drop_column,
    make_optional,
    move_column,
    rename_column,
    widen_column,
)
from spark_jobs.core.schema.internal import InternalSchema, InternalType
from spark_jobs.core.schema.internal_avro import internal_of
from spark_jobs.ddl.sql import Word, one_statement, type_of, words_of
from spark_jobs.ddl.types import COMMENT, arrow_field_of, arrow_type_of

FORM = (
    "alter table [db.]name add columns (column type [comment '...'] [first | after column], ...) | drop columns "
    "(column, ...) | rename column column to name | alter column column [type type] [comment '...'] "
    "[first | after column] [drop not null]"
)
_ACTIONS = ("TYPE", "COMMENT", "FIRST", "AFTER", "DROP")


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable:
    """What a statement says. ``database`` is empty where it does not say; both names are in lower case.

    ``text`` is the statement with single blanks between its words: that of two statements is equal where they say the
    same.
    """

    database: str
    name: str
    changes: tuple[Change, ...]
    text: str

    def __call__(self, schema: InternalSchema) -> InternalSchema:
        """The schema with all changes made, in their order.

        :raises ConfigError: one can't be made.
        """
        for change in self.changes:
            schema = change(schema)
        return schema


def parse_alter_table(text: str) -> AlterTable:
    """The one statement in ``text``.

    :raises ConfigError: it is none, or changes something other than columns.
    """
    words = words_of(text, FORM)
    begin = [one.text.upper() for one in words[:2]]
    if begin != ["ALTER", "TABLE"]:
        raise ConfigError(f"the statement ({' '.join(begin)} ...) is no ALTER TABLE", todo=f"the form is {FORM}")
    name, rest = _dotted(words[2:])
    if len(name) > 2:
        raise ConfigError(f"the table's name {'.'.join(name)} has {len(name)} parts", todo="give it as db.name")
    if rest and rest[0].text.upper() in ("ALTER", "CHANGE"):
        changes = tuple(_of_one_column(text, rest[1:]))
    else:
        changes = tuple(_of_statement(one_statement(text, FORM)))
    return AlterTable(
        database=name[0].lower() if len(name) == 2 else "",
        name=name[-1].lower(),
        changes=changes,
        text=" ".join(text[one.start : one.end] for one in words),
    )


def _of_statement(statement: exp.Expr) -> Iterator[Change]:
    for action in statement.args.get("actions") or () if isinstance(statement, exp.Alter) else ():
        if isinstance(action, exp.ColumnDef):
            yield _addition(action)
        elif isinstance(action, exp.Schema):
            yield from map(_addition, action.expressions)
        elif isinstance(action, exp.Drop) and action.args.get("kind") in ("COLUMN", "COLUMNS"):
            for part in action.args["tables"]:
                for column in part.expressions if isinstance(part, exp.Schema) else (part,):
                    yield _drop(_name(column), bool(action.args.get("exists")))
        elif isinstance(action, exp.RenameColumn):
            yield partial(rename_column, name=_name(action.this), new_name=_name(action.args["to"]))
        else:
            raise _unknown(action.sql(dialect="spark"))
    if not isinstance(statement, exp.Alter):
        raise _unknown(statement.sql(dialect="spark"))


def _addition(column: exp.Expr) -> Change:
    if not isinstance(column, exp.ColumnDef):
        raise _unknown(column.sql(dialect="spark"))
    name = _name(column.this)
    field = arrow_field_of(column)
    if not field.nullable:
        raise ConfigError(
            f"the new column {name} is NOT NULL, and the rows that are there have no value for it",
            todo="leave NOT NULL out",
            column=name,
        )
    position = column.args.get("position")
    place = str(position.args.get("position") or "").upper() if position is not None else ""
    return partial(
        add_column,
        name=name,
        kind=_internal(field.type),
        doc=(field.metadata or {}).get(COMMENT, b"").decode() or None,
        after=_name(position.this) if position is not None and place == "AFTER" else None,
        first=place == "FIRST",
    )


def _drop(name: str, if_exists: bool) -> Change:
    def change(schema: InternalSchema) -> InternalSchema:
        return schema if if_exists and not path_of(schema, name) else drop_column(schema, name)

    return change


def _of_one_column(text: str, words: Sequence[Word]) -> Iterator[Change]:
    """``[column] name``, and what becomes of it: sqlglot knows no members of structs there, and no places."""
    name, rest = _dotted(words[1:] if words and words[0].text.upper() == "COLUMN" else words)
    column, seen = ".".join(name), set()
    while rest:
        action, rest = rest[0].text.upper(), rest[1:]
        if action in seen:
            raise ConfigError(f"{action} stands there twice", todo="leave one of them")
        seen.add(action)
        if action == "TYPE":
            end = _end_of_type(rest)
            kind = arrow_type_of(type_of(_source(text, rest[:end]), FORM), column)
            rest = rest[end:]
            yield partial(widen_column, name=column, kind=_internal(kind))
        elif action == "COMMENT" and rest and rest[0].is_literal:
            yield partial(comment_column, name=column, doc=rest[0].text)
            rest = rest[1:]
        elif action == "FIRST":
            yield partial(move_column, name=column, first=True)
        elif action == "AFTER" and rest:
            yield partial(move_column, name=column, after=rest[0].text)
            rest = rest[1:]
        elif action == "DROP" and [one.text.upper() for one in rest[:2]] == ["NOT", "NULL"]:
            yield partial(make_optional, name=column)
            rest = rest[2:]
        else:
            raise _unknown(f"{action} {_source(text, rest)}")
    if not seen:
        raise ConfigError(f"nothing is said of column {column}", todo=f"the form is {FORM}", column=column)


def _end_of_type(words: Sequence[Word]) -> int:
    depth = 0
    for place, one in enumerate(words):
        depth += (one.text in ("(", "<")) - (one.text in (")", ">"))
        if depth == 0 and place > 0 and one.text.upper() in _ACTIONS:
            return place
    return len(words)


def _dotted(words: Sequence[Word]) -> tuple[list[str], Sequence[Word]]:
    """A name of parts with dots between them, and what stands behind it."""
    parts: list[str] = []
    for place in range(0, len(words), 2):
        parts.append(words[place].text)
        if place + 1 >= len(words) or words[place + 1].text != ".":
            return parts, words[place + 1 :]
    raise ConfigError("a name is missing in the statement", todo=f"the form is {FORM}")


def _source(text: str, words: Sequence[Word]) -> str:
    return text[words[0].start : words[-1].end] if words else ""


def _name(expression: exp.Expr) -> str:
    if isinstance(expression, exp.Dot):
        return f"{_name(expression.this)}.{_name(expression.expression)}"
    parts = expression.parts if isinstance(expression, exp.Column) else [expression]
    return ".".join(part.name for part in parts)


def _internal(kind: pa.DataType) -> InternalType:
    avro = avro_schema_of(pa.schema([pa.field("column", kind)]), "table")
    return internal_of(avro).record.columns[0].type


def _unknown(what: str) -> ConfigError:
    return ConfigError(f"{what.strip()} is no change of columns that is known", todo=f"the form is {FORM}")
