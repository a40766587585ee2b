"""Transformers: queries and functions that make the rows to write from the source's (Hudi: utilities.transform).

They run in the order of ``--transformer``, whose words are ``module:function``, ``sql`` and ``sql-file`` (or Hudi's
class names for these two); a query that it does not name comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import BadRecordError, ConfigError, HudiError
from spark_jobs.core.lake import Lake
from spark_jobs.core.named_function import named_function
from spark_jobs.engine.failure import failure_of
from spark_jobs.options.ingest import IngestOptions
from spark_jobs.write.sql_statements import statements_of

SOURCE = "<SRC>"
_HUDI_CLASSES = {"SqlQueryBasedTransformer": "sql", "SqlFileBasedTransformer": "sql-file"}


class StepKind(Enum):
    """What a transformer is, by the option that gives it."""

    SQL = "--transformer-sql"
    SQL_FILE = "--transformer-sql-file"
    FUNCTION = "--transformer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One transformer: its query, the path of its queries, or ``module:function``."""

    kind: StepKind
    text: str

    @property
    def label(self) -> str:
        """As messages call it."""
        return self.kind.value if self.kind is StepKind.SQL else f"{self.kind.value} {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """The rows, and by the label of each transformer the columns that it was given."""

    rows: DataFrame
    given: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def refuse_dropped(self, columns: Sequence[str]) -> None:
        """
        :param columns: those that the write goes by; a dot leads to the field of a struct.
        :raises ConfigError: a transformer did not hand one of them on.
        """
        left = set(self.rows.columns)
        for name in columns:
            if name in left or name.partition(".")[0] in left:
                continue
            for label, before in reversed(self.given):
                if name in before or name.partition(".")[0] in before:
                    raise ConfigError(
                        f"{label} drops column {name}, by which the table's records go",
                        todo="keep it; the columns left are " + ", ".join(self.rows.columns),
                        column=name,
                    )


def steps_of(options: IngestOptions) -> tuple[Step, ...]:
    """The transformers in their order.

    :param options: effective ones.
    :raises ConfigError: a word of ``--transformer`` is none, or names a query that is not given.
    """
    queries = {
        word: Step(kind=kind, text=text)
        for word, kind, text in (
            ("sql", StepKind.SQL, options.transformer_sql),
            ("sql-file", StepKind.SQL_FILE, options.transformer_sql_file),
        )
        if text
    }
    named: list[Step] = []
    placed: set[str] = set()
    for given in options.transformer:
        word = _HUDI_CLASSES.get(given.rpartition(".")[2], given)
        if word in ("sql", "sql-file"):
            if word not in queries:
                raise ConfigError(f"--transformer names {given}", todo=f"give --transformer-{word} too")
            named.append(queries[word])
            placed.add(word)
        elif ":" in word:
            named.append(Step(kind=StepKind.FUNCTION, text=word))
        else:
            raise ConfigError(
                f"--transformer {given} is no module:function",
                todo="give for instance cleaning:without_tests; of Hudi's classes SqlQueryBasedTransformer and "
                "SqlFileBasedTransformer are known",
            )
    return (*(step for word, step in queries.items() if word not in placed), *named)


def transform(source: DataFrame, steps: Sequence[Step], properties: Mapping[str, str], lake: Lake) -> Transformed:
    """The source through all transformers; nothing is read yet, but for what they read themselves.

    :raises ConfigError: a query or a function is none, or its answer is no DataFrame.
    :raises BadRecordError: a function failed.
    """
    rows, given = source, []
    for step in steps:
        given.append((step.label, tuple(rows.columns)))
        rows = _run(rows, step, properties, lake)
    return Transformed(rows=rows, given=tuple(given))


def _run(rows: DataFrame, step: Step, properties: Mapping[str, str], lake: Lake) -> DataFrame:
    if step.kind is StepKind.FUNCTION:
        return _call(rows, step, properties)
    text = step.text if step.kind is StepKind.SQL else _read(step.text, lake)
    statements = statements_of(text)
    if SOURCE not in text or not statements or (step.kind is StepKind.SQL and len(statements) > 1):
        raise ConfigError(
            f"{step.label} is no query over {SOURCE}", todo=f"give for instance: SELECT *, 1 AS one FROM {SOURCE}"
        )
    return _query(rows, step, statements, lake.clock)


def _read(path: str, lake: Lake) -> str:
    try:
        place = lake.place(path)
        return place.storage.read(place.path).decode()
    except (HudiError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--transformer-sql-file {path} can't be read ({error})", todo="give the path or URL of a text file"
        ) from error


def _query(rows: DataFrame, step: Step, statements: Sequence[str], clock: Clock) -> DataFrame:
    """The answer to the last statement, the rows being a view under a name of its own meanwhile."""
    spark, view = rows.sparkSession, f"pyhudi_src_{clock.new_uuid().replace('-', '')}"
    rows.createOrReplaceTempView(view)
    try:
        for statement in statements[:-1]:
            spark.sql(statement.replace(SOURCE, view))
        answer = spark.sql(statements[-1].replace(SOURCE, view))
    except (PySparkException, Py4JError) as error:
        shown = _message(error).replace(f"`{view}`", SOURCE).replace(view, SOURCE)
        kind = ConfigError if isinstance(error, AnalysisException | ParseException) else BadRecordError
        raise kind(f"{step.label} failed ({shown})", todo="correct the query") from error
    finally:
        spark.catalog.dropTempView(view)
    if not answer.columns:
        raise ConfigError(f"{step.label} gives no rows", todo="let its last statement be a SELECT")
    return answer


def _call(rows: DataFrame, step: Step, properties: Mapping[str, str]) -> DataFrame:
    function = named_function(step.text, "transformer", "cleaning:without_tests")
    try:
        answer: Any = function(rows, dict(properties))
    except HudiError:
        raise
    except Exception as error:
        shown = _message(error) if isinstance(error, PySparkException) else failure_of(error).message
        raise BadRecordError(f"{step.label} failed ({shown})", todo="correct the function") from error
    if not isinstance(answer, DataFrame):
        raise ConfigError(
            f"{step.label} returned {type(answer).__name__}", todo="let it return a DataFrame", function=step.text
        )
    return answer


def _message(error: BaseException) -> str:
    """The first line, without Spark's pointer at the place in the text."""
    text = failure_of(error).message
    return text.partition(" SQLSTATE:")[0].partition(" == SQL")[0].strip()
