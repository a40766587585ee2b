"""The file in which a job leaves its result, and the one beside it with the failure of a driver on another machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_pyhudi.hooks.lake import StorageAccess
from spark_jobs.options import JobResult, OptionsError
from spark_jobs.options.failed_file import FailedFile


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """``location`` is a path or a URL."""

    location: str
    access: StorageAccess

    def read(self) -> JobResult:
        """The result of a job that ended well.

        :raises AirflowException: there is none.
        """
        from spark_jobs.core.errors import HudiError

        try:
            place = self.access.lake().place(self.location)
            return JobResult.from_json(place.storage.read(place.path).decode())
        except (HudiError, OptionsError) as error:
            raise AirflowException(f"the job ended well but left no result: {error}") from None

    def failure_from_now(self) -> Callable[[], FailedFile | None]:
        """What gives, once it is called, why the job failed that begins now; None where it did not say so here."""
        from spark_jobs.core.errors import HudiError

        try:
            place = self.access.lake().place(FailedFile.beside(self.location))
            earlier = place.storage.stat(place.path)
        except HudiError:
            return lambda: None  # and why, the reader of the result will say

        def failure() -> FailedFile | None:
            with suppress(HudiError, OptionsError):
                found = place.storage.load(place.path)
                if found is not None and (earlier is None or found.status.etag != earlier.etag):
                    return FailedFile.from_json(found.data.decode(errors="replace"))
            return None

        return failure
