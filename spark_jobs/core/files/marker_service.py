"""Asking the driver for a marker: the address of its service as a value that goes to executors with the task.

Source: ``org.apache.hudi.table.marker.TimelineServerBasedWriteMarkers``.
"""

from __future__ import annotations

import http.client
from dataclasses import dataclass

from spark_jobs.core.clock import SYSTEM_CLOCK, Clock
from spark_jobs.core.errors import AlreadyExistsError, StorageError
from spark_jobs.core.files.names import Marker

CREATE_PATH = "/v1/hoodie/marker/create"
TOKEN_HEADER = "X-Marker-Token"
NUMBER_HEADER = "X-Marker-Number"
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerService:
    """Where the markers of one instant are asked for. ``token`` lets its tasks in, and nobody else."""

    host: str
    port: int
    token: str
    timeout_seconds: float = 300.0

    def create(self, marker: Marker, clock: Clock = SYSTEM_CLOCK) -> None:
        """Returns when the marker is on storage; asks again where no answer comes.

        :raises AlreadyExistsError: another attempt has it.
        :raises StorageError: the service is gone, or could not write.
        """
        number = clock.new_uuid()
        for attempt in range(_TRIES):
            try:
                status, text = self._ask(marker, number)
                break
            except (OSError, http.client.HTTPException) as error:
                if attempt == _TRIES - 1:
                    raise StorageError(
                        f"the driver's marker service {self.host}:{self.port} does not answer ({error})",
                        todo="let executors reach the driver's host, or set hoodie.write.markers.type=DIRECT",
                    ) from error
                clock.sleep(0.2 * 2**attempt)
        if status != http.client.OK:
            raise StorageError(f"marker {marker.relative_path} could not be written: {text}")
        if text != "true":
            raise AlreadyExistsError(f"marker {marker.relative_path} exists already", path=marker.relative_path)

    def _ask(self, marker: Marker, number: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_seconds)
        try:
            headers = {TOKEN_HEADER: self.token, NUMBER_HEADER: number}
            connection.request("POST", CREATE_PATH, marker.relative_path.encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(errors="replace")
        finally:
            connection.close()
