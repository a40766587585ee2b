"""The option by which a task tells its job which try of it this is."""

from __future__ import annotations

from typing import Annotated

from spark_jobs.options.flags import flag

AttemptOfTask = Annotated[
    str | None,
    flag(
        "--attempt",
        help="TRY/HIGHEST_TRY/RETRIES of an Airflow task; it lets a retry find its write and a later run write anew.",
    ),
]
