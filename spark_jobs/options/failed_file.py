"""Why a job failed whose driver runs on a node of a cluster, in a file beside its result: its exit code and its stderr
stay on that node.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

from spark_jobs.options.errors import OptionsError


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedFile:
    """``message`` is the line of error, ``exit_code`` what the job would have ended with."""

    message: str
    exit_code: int

    @staticmethod
    def beside(result_file: str) -> str:
        """Its path or URL."""
        return f"{result_file}.failed"

    def to_json(self) -> str:
        """One line."""
        return json.dumps({"message": self.message, "exit_code": self.exit_code})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """
        :raises OptionsError: the text is no such object.
        """
        try:
            found = json.loads(text)
            return cls(message=str(found["message"]), exit_code=int(found["exit_code"]))
        except (KeyError, TypeError, ValueError) as error:
            raise OptionsError(f"{text[:80]!r} does not say why a job failed: {error}") from None
