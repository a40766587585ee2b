"""What can be run: each job is declared beside its options, with its function, its file and its operator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from spark_jobs.options.base import JobOptions
from spark_jobs.options.result import JobResult

_WORD = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """``name`` is how Hudi calls the service.

    ``runner`` is ``module:function``, the function ``run_...(options, context) -> JobResult``; ``judge`` another one,
    where a result can end the job with an exit code of its own. They are imported when the job runs, so that whoever
    parses a DAG, prints a help text or names the job that would mend something pays for nothing else. ``operator`` is a
    class of the provider, ``Hudi...Operator``; empty where it has none. ``sensor`` is the word by which
    ``HudiTableServiceSensor`` waits until the service is due, which a dry run with the options ``planning`` says; empty
    where it does not.
    """

    name: str
    options: type[JobOptions]
    runner: str
    operator: str = ""
    judge: str = ""
    sensor: str = ""
    planning: Mapping[str, Any] = field(default_factory=dict)

    @property
    def file(self) -> str:
        """Of the entry point, in ``spark_jobs/``."""
        return f"{self.options.job}.py"

    @property
    def operator_module(self) -> str:
        """Of the provider's operators, by the name of the class: ``hive_sync`` has ``HudiHiveSyncOperator``."""
        return _WORD.sub("_", self.operator.removeprefix("Hudi").removesuffix("Operator")).lower()

    def run(self, options: JobOptions, context: Any) -> JobResult:
        """
        :param options: of the type that the job has.
        :param context: the ``JobContext`` of ``spark_jobs.engine``.
        :raises HudiError: as its function says.
        """
        result: JobResult = function_named(self.runner)(options, context)
        return result

    def verdict(self, result: JobResult) -> Any:
        """What the job ends with, where it is not done all the same: a text, or a ``Failure`` of the engine's."""
        return function_named(self.judge)(result) if self.judge else None


def function_named(reference: str) -> Any:
    """``module:function``."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
