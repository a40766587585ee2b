"""``create table ... using hudi`` as a value: Spark's grammar, parsed by sqlglot; all else is refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from spark_jobs.core.errors import ConfigError
from spark_jobs.ddl.sql import one_statement, words_of
from spark_jobs.ddl.types import arrow_field_of

FORM = (
    "create table [if not exists] [db.]name (column type, ...) using hudi [partitioned by (...)] "
    "[tblproperties (...)] [location '...']"
)

_LONG_NAME = "org.apache.hudi"


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """What a statement says.

    ``database`` and ``name`` are in lower case, as Spark's catalog keeps them. ``database``, ``location`` and
    ``comment`` are empty where the statement does not say. ``schema`` has the partition columns
    last, as Spark orders a table's columns, and comments as metadata of its fields. ``options`` are those of OPTIONS,
    and over them those of TBLPROPERTIES.
    """

    database: str
    name: str
    if_not_exists: bool
    schema: pa.Schema
    partition_fields: tuple[str, ...]
    options: Mapping[str, str]
    location: str
    comment: str


def parse_create_table(text: str) -> CreateTable:
    """The one statement in ``text``.

    :raises ConfigError: it is none, or asks for what Hudi's DDL or this release does not have.
    """
    create = _only_statement(text)
    found = _Clauses()
    for clause in create.args["properties"].expressions if create.args.get("properties") else ():
        found.add(clause)
    if found.provider.lower() not in ("hudi", _LONG_NAME):
        raise ConfigError(
            f"the statement makes a table of {found.provider or 'no named format'}", todo="write USING hudi in it"
        )
    database, name = _names(create)
    schema = create.this
    columns = [_column(part) for part in schema.expressions] if isinstance(schema, exp.Schema) else []
    columns += [arrow_field_of(part) for part in found.partitioned_by if isinstance(part, exp.ColumnDef)]
    if not columns:
        raise ConfigError(f"the table {name} has no columns", todo="list them with their types after its name")
    _refuse_twins([column.name for column in columns], f"the column {{}} stands twice in table {name}")
    partitions = [_partition_column(part, columns) for part in found.partitioned_by]
    _refuse_twins([column.name for column in partitions], "the column {} stands twice in PARTITIONED BY")
    if len(partitions) == len(columns):
        raise ConfigError(
            f"all columns of table {name} are partition columns", todo="leave at least one out of PARTITIONED BY"
        )
    return CreateTable(
        database=database,
        name=name,
        if_not_exists=bool(create.args.get("exists")),
        schema=pa.schema([*[column for column in columns if column not in partitions], *partitions]),
        partition_fields=tuple(column.name for column in partitions),
        options={**found.options, **found.properties},
        location=found.location,
        comment=found.comment,
    )


class _Clauses:
    """What stands behind the columns, gathered clause by clause."""

    def __init__(self) -> None:
        self.provider = ""
        self.partitioned_by: list[exp.Expression] = []
        self.options: dict[str, str] = {}
        self.properties: dict[str, str] = {}
        self.location = ""
        self.comment = ""
        self._seen: set[str] = set()

    def _once(self, what: str) -> None:
        if what in self._seen:
            raise ConfigError(f"{what} stands there twice", todo="leave one of them")
        self._seen.add(what)

    def add(self, clause: exp.Expression) -> None:
        """
        :raises ConfigError: a clause that Hudi's DDL does not have, or one or a property for the second time.
        """
        if isinstance(clause, exp.FileFormatProperty) and not clause.args.get("hive_format"):
            self._once("the clause USING")
            self.provider = clause.name
        elif isinstance(clause, exp.PartitionedByProperty):
            self._once("the clause PARTITIONED BY")
            self.partitioned_by = list(clause.this.expressions)
        elif isinstance(clause, exp.LocationProperty):
            self._once("the clause LOCATION")
            self.location = clause.name
        elif isinstance(clause, exp.SchemaCommentProperty):
            self._once("the clause COMMENT")
            self.comment = clause.name
        elif isinstance(clause, exp.OptionsProperty):
            for option in clause.expressions:
                self._add_to(self.options, "option", option)
        elif type(clause) is exp.Property:
            self._add_to(self.properties, "property", clause)
        elif not isinstance(clause, exp.ExternalProperty):  # every table at a path is one
            raise ConfigError(f"the clause {clause.sql(dialect='spark')} is not supported", todo=f"the form is {FORM}")

    def _add_to(self, pairs: dict[str, str], kind: str, option: exp.Expression) -> None:
        key, value = _pair(option)
        self._once(f"the {kind} {key}")
        pairs[key] = value


def _only_statement(text: str) -> exp.Create:
    create = one_statement(_with_quoted_format(text), FORM)
    if not isinstance(create, exp.Create) or create.args["kind"] != "TABLE":
        begin = " ".join(text.split()[:2])
        raise ConfigError(f"the statement ({begin} ...) is no CREATE TABLE of a known form", todo=f"the form is {FORM}")
    if create.args.get("replace"):
        raise ConfigError("CREATE OR REPLACE TABLE is not supported", todo="remove the old table, then create the new")
    if isinstance(create.args.get("expression"), exp.Subquery) and not isinstance(create.this, exp.Schema):
        raise ConfigError(
            "a SELECT stands where the columns belong",
            todo="put a column of that name in backquotes; CREATE TABLE AS SELECT is not supported",
        )
    if create.args.get("expression") is not None:
        raise ConfigError(
            "CREATE TABLE AS SELECT is not supported", todo="create the table, then write the rows with ingest.py"
        )
    return create


def _with_quoted_format(text: str) -> str:
    """``using org.apache.hudi``, which sqlglot does not know, in backquotes, which mean the same to Spark."""
    words = words_of(text, FORM)
    for at in range(len(words) - 5):
        first, *name = words[at : at + 6]
        if first.text.lower() == "using" and "".join(one.text for one in name).lower() == _LONG_NAME:
            return f"{text[: name[0].start]}`{_LONG_NAME}`{text[name[-1].end :]}"
    return text


def _names(create: exp.Create) -> tuple[str, str]:
    table = create.find(exp.Table)
    if table is None or not isinstance(table.this, exp.Identifier) or table.args.get("catalog") is not None:
        raise ConfigError("the table's name is not of the form name or db.name", todo="give it as db.name")
    return str(table.db).lower(), str(table.name).lower()


def _column(part: exp.Expression) -> pa.Field:
    if isinstance(part, exp.ColumnDef):
        return arrow_field_of(part)
    raise ConfigError(
        f"{part.sql(dialect='spark')} is no column",
        todo="give columns alone; the key goes to tblproperties (primaryKey = '...')",
    )


def _partition_column(part: exp.Expression, columns: Sequence[pa.Field]) -> pa.Field:
    if not isinstance(part, exp.Identifier | exp.ColumnDef):
        raise ConfigError(
            f"the table is partitioned by {part.sql(dialect='spark')}",
            todo="partition by columns; for dates of a timestamp, add a column or a timestamp-based key generator",
        )
    for column in columns:
        if column.name.lower() == part.name.lower():
            return column
    raise ConfigError(
        f"PARTITIONED BY names {part.name}, which is no column of the table",
        todo="define it; the columns are " + ", ".join(column.name for column in columns),
        column=part.name,
    )


def _pair(option: exp.Expression) -> tuple[str, str]:
    name, value = option.this, option.args["value"]
    key = ".".join(part.name for part in name.flatten()) if isinstance(name, exp.Dot) else name.name
    if isinstance(value, exp.Boolean):
        return key, "true" if value.this else "false"
    if isinstance(value, exp.Literal):
        return key, str(value.this)
    raise ConfigError(
        f"the option {key} has the value {value.sql(dialect='spark')}", todo=f"give a text: {key} = '...'", key=key
    )


def _refuse_twins(names: Iterable[str], message: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise ConfigError(message.format(name), todo="names don't differ by case alone; rename or remove one")
        seen.add(name.lower())
