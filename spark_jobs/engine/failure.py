"""From whatever ended a job to one line and an exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.core.errors import ConfigError, HudiError

# as the last line of a Python traceback, or in the words that Spark 4 or 3.5 puts around a message of raise_error
_RAISED_HERE = re.compile(
    r"^\s*(?:.*(?:\[USER_RAISED_EXCEPTION\] |java\.lang\.RuntimeException: ))?"
    r"(?:spark_jobs\.[\w.]+\.)(\w+): (.+?)(?: SQLSTATE: \w{5})?$",
    re.MULTILINE,
)
_JAVA_CAUSE = re.compile(r"^\s*Caused by: (?:[\w$]+\.)*([\w$]+)(?:: (.*))?$", re.MULTILINE)
_JAVA_CALL = re.compile(r"An error occurred while calling .*\n\s*: (?:[\w$]+\.)*([\w$]+)(?:: (.*))?")
_MISSING = re.compile(r"^ModuleNotFoundError: No module named '(\w+)[\w.]*'", re.MULTILINE)
_OF_THE_CODE = ("pyhudi", "spark_jobs")
_TRACEBACK = "Traceback (most recent call last):"
_OUT_OF_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError(?:: (.*))?")
_EXTRAS = {
    **{"py4j": "spark", "pyspark": "spark", "pymetastore": "hive", "thrift": "hive", "sqlglot": "ddl"},
    **{"kazoo": "zookeeper", "boto3": "dynamodb", "botocore": "dynamodb"},
}
"""Packages that pyhudi brings by an extra alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What the person gets to read (one line), and the exit code of the contract."""

    message: str
    exit_code: int


def failure_of(error: BaseException) -> Failure:
    """Reduce an error to its root.

    A :class:`HudiError` speaks for itself, also one that a Python worker raised and that reaches the driver as the
    text of a Spark exception (``PythonException``, or py4j's ``Py4JJavaError``). Of anything else from Spark, the
    innermost cause counts.
    """
    code = getattr(error, "exit_code", None)
    if isinstance(code, int):
        return Failure(message=_one_line(str(error)), exit_code=code)
    if isinstance(error, ModuleNotFoundError) and (package := (error.name or "").partition(".")[0]) in _EXTRAS:
        return Failure(
            message=f"{package} is not installed: pip install 'pyhudi[{_EXTRAS[package]}]'",
            exit_code=ConfigError.exit_code,
        )
    text = str(error)
    for name, message in reversed(_RAISED_HERE.findall(text)):
        kind = _kinds().get(name)
        if kind is not None:
            return Failure(message=_one_line(message), exit_code=kind.exit_code)
    if (missing := _MISSING.search(text)) and _is_of_spark(error):
        return Failure(message=_executors_lack(missing[1]), exit_code=ConfigError.exit_code)
    return Failure(message=_root(error, text), exit_code=1)


def _executors_lack(package: str) -> str:
    if package in _OF_THE_CODE:
        todo = "give --py-files a zip that python -m spark_jobs.engine.code_archive made"
    else:
        todo = "install it there, or name another Python by PYSPARK_PYTHON"
    return f"the Python of an executor has no {package}: {todo} (docs/clusters.md)"


def _root(error: BaseException, text: str) -> str:
    if memory := _OUT_OF_MEMORY.search(text):
        return _one_line(f"Java ran out of memory ({memory[1] or 'no detail'}): give the driver or executors more")
    python = _last_python_error(text)
    if python:
        return _one_line(python)
    causes = [(name, message) for name, message in _JAVA_CAUSE.findall(text) if message]
    if causes:
        return _one_line(": ".join(causes[-1]))
    if call := _JAVA_CALL.search(text):
        return _one_line(f"{call[1]}: {call[2] or 'no message'}")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if _is_of_spark(error) and first:
        return _one_line(first)
    return _one_line(f"{type(error).__name__}: {first}" if first else type(error).__name__)


def _is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark", "py4j"))


def _last_python_error(text: str) -> str | None:
    """The line below the last traceback that a text quotes."""
    found = None
    inside = False
    for line in text.splitlines():
        if _TRACEBACK in line:
            inside = True
        elif inside and line and not line[0].isspace():
            found, inside = line, False
    return found


def _kinds() -> dict[str, type[HudiError]]:
    return {kind.__name__: kind for kind in _with_leaves(HudiError)}


def _with_leaves(kind: type[HudiError]) -> Iterator[type[HudiError]]:
    yield kind
    for leaf in kind.__subclasses__():
        yield from _with_leaves(leaf)


def _one_line(text: str) -> str:
    return " ".join(text.split())
