"""A whole command line, as a user may type it: also with what an operator hands over by a private file."""

from __future__ import annotations

from spark_jobs.options import JobOptions
from spark_jobs.options.flags import flags_of


def all_words(options: JobOptions) -> list[str]:
    """The words of every option that is set."""
    return [word for name, one in flags_of(type(options)).items() for word in one.arguments(getattr(options, name))]
