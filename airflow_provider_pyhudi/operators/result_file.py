"""The file in which a job leaves its result, and the one beside it with the failure of a driver on another machine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from airflow.providers.common.compat.sdk import AirflowException

from airflow_provider_pyhudi.hooks.lake import StorageAccess
from spark_jobs.options import JobResult, OptionsError
from spark_jobs.options.failed_file import FailedFile

Version = tuple[str, int]
"""Its etag, which a store of objects makes of the content alone, and its time."""


@dataclass(frozen=True, kw_only=True)
class ResultFile:
    """``location`` is a path or a URL."""

    location: str
    access: StorageAccess

    def from_now(self) -> Left:
        """What the job leaves that begins now; what stands there already is an earlier one's."""
        return Left(
            file=self,
            result_before=self.version(self.location),
            failure_before=self.version(FailedFile.beside(self.location)),
        )

    def version(self, location: str) -> Version | None:
        """None where nothing is, or where it can't be seen: why, the reader of the result will say."""
        from spark_jobs.core.errors import HudiError

        with suppress(HudiError):
            place = self.access.lake().place(location)
            status = place.storage.stat(place.path)
            return None if status is None else (status.etag, status.modified_ms)
        return None

    def read(self, location: str) -> str:
        """
        :raises HudiError: nothing can be read there.
        """
        place = self.access.lake().place(location)
        return place.storage.read(place.path).decode(errors="replace")


@dataclass(frozen=True, kw_only=True)
class Left:
    """What one job left at a result file."""

    file: ResultFile
    result_before: Version | None
    failure_before: Version | None

    def result(self) -> JobResult:
        """Of a job that ended well.

        :raises AirflowException: there is none, or it is an earlier job's.
        """
        from spark_jobs.core.errors import HudiError

        location = self.file.location
        if self.result_before is not None and self.file.version(location) == self.result_before:
            raise AirflowException(
                f"spark-submit ended well, and the result in {location} is that of an earlier run: let it wait for "
                "the job"
            )
        try:
            return JobResult.from_json(self.file.read(location))
        except (HudiError, OptionsError) as error:
            raise AirflowException(f"the job ended well but left no result: {error}") from None

    def failure(self) -> FailedFile | None:
        """Why it failed; None where it did not say so here."""
        from spark_jobs.core.errors import HudiError

        location = FailedFile.beside(self.file.location)
        found = self.file.version(location)
        if found is None or found == self.failure_before:
            return None
        with suppress(HudiError, OptionsError):
            return FailedFile.from_json(self.file.read(location))
        return None
