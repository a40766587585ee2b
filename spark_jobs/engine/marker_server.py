"""The driver's marker service: tasks ask it over HTTP, it answers when their markers are on storage.

Requests gather for the batch interval; then one of the threads writes them together, to a file of its own. Hudi has
this in its embedded timeline server (``org.apache.hudi.timeline.service.handlers.MarkerHandler``).
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from types import TracebackType

from spark_jobs.core.clock import Clock
from spark_jobs.core.errors import HudiError, StorageError
from spark_jobs.core.files.marker_batches import MarkerBatches, MarkerRequest
from spark_jobs.core.files.marker_service import CREATE_PATH, NUMBER_HEADER, TOKEN_HEADER, MarkerService
from spark_jobs.core.files.markers import marker_folder
from spark_jobs.core.files.names import Marker, parse_marker
from spark_jobs.core.storage import Storage
from spark_jobs.core.storage.relative_path import is_inside

_MOST_BYTES = 16 << 10
"""Of one request: a marker is a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerSettings:
    """``threads`` write at once, each a file of its own (``hoodie.markers.timeline_server_based.batch.num_threads``);
    requests gather for ``interval_ms`` (``hoodie.markers.timeline_server_based.batch.interval_ms``).
    """

    threads: int = 20
    interval_ms: int = 50


@dataclass(frozen=True, slots=True)
class _Waiting:
    request: MarkerRequest
    answer: Future[bool] = field(default_factory=Future)


class _Http(ThreadingMixIn, TCPServer):
    """Not ``http.server.HTTPServer``, which asks a name server for its own name before it listens."""

    daemon_threads = True
    request_queue_size = 1024


class MarkerServer:
    """The service of one instant, from ``with`` to its end; what that gives is the address for the tasks.

    :param host: the name under which executors reach this machine.
    :param bind: the address to listen at; empty for all of the machine's.
    """

    def __init__(
        self,
        storage: Storage,
        base_path: str,
        instant: str,
        clock: Clock,
        settings: MarkerSettings | None = None,
        *,
        host: str = "127.0.0.1",
        bind: str = "127.0.0.1",
    ) -> None:
        given = settings or MarkerSettings()
        self._host = host
        self._token = clock.new_uuid()
        self._interval = given.interval_ms / 1000
        self._batches = MarkerBatches(storage, marker_folder(base_path, instant), given.threads)
        self._writers = ThreadPoolExecutor(given.threads, thread_name_prefix=f"markers-{instant}")
        self._waiting: list[_Waiting] = []
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._http = _Http((bind, 0), _handler_of(self))
        self._threads = [
            threading.Thread(target=self._http.serve_forever, args=(0.05,), name=f"marker-http-{instant}", daemon=True),
            threading.Thread(target=self._dispatch, name=f"marker-batches-{instant}", daemon=True),
        ]

    def __enter__(self) -> MarkerService:
        for thread in self._threads:
            thread.start()
        return MarkerService(host=self._host, port=self._http.server_address[1], token=self._token)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write nothing after this: the folder is about to be read, and removed."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join()
        self._writers.shutdown(wait=True)

    def lets_in(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token.encode())

    def create(self, marker: Marker, number: str) -> bool:
        """Wait until the marker is on storage; False where another request has it.

        :raises StorageError: it could not be written, or the service is at its end.
        """
        waiting = _Waiting(MarkerRequest(marker=marker, number=number))
        with self._changed:
            if self._stopped.is_set():
                raise StorageError("the write has ended, it takes no more markers")
            self._waiting.append(waiting)
            self._changed.notify_all()
        return waiting.answer.result()

    def _dispatch(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._stopped.is_set())
            self._stopped.wait(self._interval)  # more may come meanwhile
            with self._changed:
                batch, self._waiting = self._waiting, []
                if self._stopped.is_set():
                    _fail(batch, StorageError("the write has ended, it takes no more markers"))
                    return
            self._writers.submit(self._write, batch)

    def _write(self, batch: Sequence[_Waiting]) -> None:
        try:
            answers = self._batches.add([one.request for one in batch])
        except HudiError as error:
            _fail(batch, error)
            return
        except Exception as error:  # whatever it is, somebody waits for an answer
            _fail(batch, StorageError(f"markers could not be written ({error})"))
            return
        for one, answer in zip(batch, answers, strict=True):
            one.answer.set_result(answer)


def _fail(batch: Sequence[_Waiting], error: Exception) -> None:
    for one in batch:
        one.answer.set_exception(error)


def _handler_of(server: MarkerServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """POST the marker's path below the instant's folder; the answer is ``true`` or ``false``."""

        timeout = 60

        def do_POST(self) -> None:
            if not server.lets_in(self.headers.get(TOKEN_HEADER, "")):
                return self._answer(HTTPStatus.FORBIDDEN, "this is the marker service of another write")
            length = self.headers.get("Content-Length", "")
            if self.path != CREATE_PATH or not length.isdigit() or int(length) > _MOST_BYTES:
                return self._answer(HTTPStatus.BAD_REQUEST, f"no such request: {self.path[:100]}")
            text = self.rfile.read(int(length)).decode(errors="replace")
            marker = parse_marker(text)
            if marker is None or "\n" in text or not is_inside(text.rpartition(".marker.")[0]):
                return self._answer(HTTPStatus.BAD_REQUEST, "that is no marker")
            try:
                made = server.create(marker, self.headers.get(NUMBER_HEADER, ""))
            except HudiError as error:
                return self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            return self._answer(HTTPStatus.OK, "true" if made else "false")

        def _answer(self, status: HTTPStatus, text: str) -> None:
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: stderr belongs to the job."""

    return Handler
