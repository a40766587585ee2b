"""The driver's marker service, asked over HTTP as tasks ask it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPConnection

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import AlreadyExistsError, StorageError
from spark_jobs.core.files.marker_service import CREATE_PATH, TOKEN_HEADER, MarkerService
from spark_jobs.core.files.markers import marker_folder, read_markers
from spark_jobs.core.files.names import Marker, MarkerType
from spark_jobs.core.storage import Storage
from spark_jobs.engine.marker_server import MarkerServer, MarkerSettings
from tests.support.folder import Folder, file_at
from tests.support.through import Through
from tests.unit.core.support import HandClock

pytestmark = pytest.mark.unit

T = "20240506070809123"


def server(table: Folder, storage: Storage | None = None, threads: int = 4, interval_ms: int = 5) -> MarkerServer:
    settings = MarkerSettings(threads=threads, interval_ms=interval_ms)
    return MarkerServer(storage or table.storage, str(table), T, SYSTEM_CLOCK, settings)


def marker(number: int) -> Marker:
    return Marker(f"p{number % 3}", f"f{number}_0-1-{number}_1.parquet", MarkerType.CREATE)


def found(table: Folder) -> Sequence[Marker]:
    return read_markers(table.storage, str(table), T) or []


def folder_of(table: Folder) -> Folder:
    return file_at(table.storage, marker_folder(str(table), T))


def test_an_answer_means_the_marker_is_on_storage(root: Folder) -> None:
    with server(root) as service:
        travelled: MarkerService = pickle.loads(pickle.dumps(service))

        def ask(number: int) -> bool:
            travelled.create(marker(number))
            return marker(number) in found(root)

        with ThreadPoolExecutor(16) as pool:
            assert all(pool.map(ask, range(100)))
    assert set(found(root)) == {marker(number) for number in range(100)}
    files = {path.name for path in folder_of(root).iterdir()}
    assert files <= {"MARKERS.type", *(f"MARKERS{number}" for number in range(4))}


def test_what_comes_within_the_interval_is_written_at_once(root: Folder) -> None:
    written: list[str] = []

    class Counting(Through):
        def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
            written.append(path)
            self.inner.replace(path, data, durable=durable)

    with server(root, Counting(root.storage), interval_ms=300) as service, ThreadPoolExecutor(30) as pool:
        list(pool.map(lambda number: service.create(marker(number)), range(30)))
    assert len(written) <= 3
    assert len(found(root)) == 30


def test_the_second_to_ask_for_a_marker_does_not_get_it(root: Folder) -> None:
    with server(root) as service:
        service.create(marker(1))
        with pytest.raises(AlreadyExistsError, match=r"p1/f1_0-1-1_1\.parquet\.marker\.CREATE exists already"):
            service.create(marker(1))


def test_an_answer_that_is_lost_is_asked_for_again(root: Folder) -> None:
    asked: list[str] = []

    class Losing(MarkerService):
        def _ask(self, marker: Marker, number: str) -> tuple[int, str]:
            asked.append(number)
            answer = super()._ask(marker, number)
            if len(asked) < 3:
                raise ConnectionResetError("the answer did not come")
            return answer

    with server(root) as service:
        losing = Losing(host=service.host, port=service.port, token=service.token)
        losing.create(marker(1), HandClock())
    assert len(asked) == 3
    assert len(set(asked)) == 1
    assert list(found(root)) == [marker(1)]


def test_strangers_are_sent_away(root: Folder) -> None:
    with server(root) as service:
        with pytest.raises(StorageError, match="another write"):
            replace(service, token="guessed").create(marker(1))
        for body in (b"p/f.parquet", b"../f.parquet.marker.CREATE", b"a\nb/f.parquet.marker.CREATE", b"x" * 20_000):
            connection = HTTPConnection(service.host, service.port, timeout=10)
            connection.request("POST", CREATE_PATH, body, {TOKEN_HEADER: service.token})
            assert connection.getresponse().status == 400
            connection.close()
    assert not folder_of(root).exists()


def test_a_write_that_has_ended_takes_no_marker(root: Folder) -> None:
    with server(root) as service:
        service.create(marker(1))
    with pytest.raises(StorageError, match=r"does not answer .*hoodie\.write\.markers\.type=DIRECT"):
        service.create(marker(2), HandClock())
    assert list(found(root)) == [marker(1)]


def test_a_storage_that_fails_is_told_to_whoever_asked(root: Folder) -> None:
    class Full(Through):
        def replace(self, path: str, data: bytes, *, durable: bool = True) -> None:
            raise StorageError(f"{path} could not be written (no space left)")

    with server(root, Full(root.storage)) as service:
        with pytest.raises(StorageError, match="no space left"):
            service.create(marker(1))


def test_requests_that_wait_at_the_end_are_refused(root: Folder) -> None:
    with ThreadPoolExecutor(1) as pool:
        with server(root, interval_ms=60_000) as service:
            late = pool.submit(service.create, marker(1))
            SYSTEM_CLOCK.sleep(0.5)
        with pytest.raises(StorageError, match="takes no more markers"):
            late.result(timeout=60)
    assert not folder_of(root).exists()
