"""Requests whose answers are lost, or that the server wants later: what was put counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count

import pyarrow as pa
import pytest

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage.objects.storage import ObjectStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.nightly import SERVERS
from tests.servers.losing import Losing
from tests.support.servers import Server

pytestmark = [*(getattr(pytest.mark, kind) for kind in SERVERS), pytest.mark.timeout(300)]


@pytest.fixture
def path(server: Server, proxy: Losing) -> Iterator[str]:
    bucket = server.new_bucket()
    proxy.seen.clear()
    yield f"{bucket}/lake/file"
    proxy.fault = lambda method, number: ""


@pytest.fixture
def storage(server: Server, proxy: Losing) -> ObjectStorage:
    return ObjectStorage(server.settings(proxy.url))


def first(method: str, what: str) -> tuple[list[str], object]:
    """A fault of the first request of a method."""
    done: list[str] = []

    def fault(asked: str, number: int) -> str:
        del number
        if asked == method and not done:
            done.append(asked)
            return what
        return ""

    return done, fault


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down", "reset"])
def test_a_file_is_created_once(storage: ObjectStorage, proxy: Losing, path: str, what: str) -> None:
    done, proxy.fault = first("PUT", what)  # type: ignore[assignment]
    storage.create(path, b"mine")
    assert done
    assert storage.read(path) == b"mine"
    with pytest.raises(AlreadyExistsError):
        storage.create(path, b"another's")


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down", "reset"])
def test_a_version_is_replaced_once(storage: ObjectStorage, proxy: Losing, path: str, what: str) -> None:
    storage.create(path, b"first")
    status = storage.stat(path)
    assert status is not None
    done, proxy.fault = first("PUT", what)  # type: ignore[assignment]
    storage.replace_if(path, b"mine", status.etag)
    assert done
    assert storage.read(path) == b"mine"
    with pytest.raises(EtagMismatchError):
        storage.replace_if(path, b"another's", status.etag)


def test_who_lost_the_answer_and_the_race_is_told_so(
    server: Server, storage: ObjectStorage, proxy: Losing, path: str
) -> None:
    def another_is_faster(method: str, number: int) -> str:
        if method != "PUT" or proxy.seen.count("PUT") > 1:
            return ""
        ObjectStorage(server.settings()).create(path, b"another's")
        return "refuse"

    proxy.fault = another_is_faster
    with pytest.raises(AlreadyExistsError):
        storage.create(path, b"mine")
    assert storage.read(path) == b"another's"


def test_a_version_that_another_replaces_just_before_is_not_replaced(
    server: Server, storage: ObjectStorage, proxy: Losing, path: str
) -> None:
    storage.create(path, b"first")
    status = storage.stat(path)
    assert status is not None
    etag, puts = status.etag, proxy.seen.count("PUT")

    def another_is_faster(method: str, number: int) -> str:
        if method == "PUT" and proxy.seen.count("PUT") == puts + 1:
            ObjectStorage(server.settings()).replace_if(path, b"another's", etag)
        return ""

    proxy.fault = another_is_faster
    with pytest.raises(EtagMismatchError):
        storage.replace_if(path, b"mine", etag)
    assert storage.read(path) == b"another's"


@pytest.mark.parametrize("method", ["GET", "HEAD", "deletion"])
@pytest.mark.parametrize("what", ["lose", "refuse", "slow down", "reset"])
def test_what_is_asked_or_deleted_is_asked_again(
    server: Server, storage: ObjectStorage, proxy: Losing, path: str, method: str, what: str
) -> None:
    storage.create(path, b"0123456789")
    deletion = {"s3": "POST", "azure": "POST"}.get(server.kind, "DELETE")
    done, proxy.fault = first(deletion if method == "deletion" else method, what)  # type: ignore[assignment]
    assert storage.read(path, 2, 3) == b"234"
    assert storage.stat(path) is not None
    assert [one.path for one in storage.list(path.rpartition("/")[0])] == [path]
    assert storage.delete(path)
    assert storage.stat(path) is None
    assert done, proxy.seen


def nth(number: int, what: str, *more: str) -> Callable[[str, int], str]:
    """A fault of the request of that number from now on, and others of those that follow."""
    fates, seen = [what, *more], count(1)

    def fault(asked: str, _: int) -> str:
        del asked
        at = next(seen) - number
        return fates[at] if 0 <= at < len(fates) else ""

    return fault


@pytest.mark.parametrize("number", range(1, 7))
@pytest.mark.parametrize("what", ["lose", "refuse", "slow down", "reset"])
def test_a_long_file_is_put_whole(storage: ObjectStorage, proxy: Losing, path: str, what: str, number: int) -> None:
    """By requests for: is it there, begin, three parts, end."""
    data = bytes(range(256)) * (20 * 4096)
    proxy.fault = nth(number, what)
    with storage.open_output(path) as file:
        file.write(data)
    proxy.fault = lambda method, number: ""
    assert storage.read(path) == data


def test_the_last_request_of_a_long_file_had_all_it_needs(
    server: Server, storage: ObjectStorage, proxy: Losing, path: str
) -> None:
    """Where its answer is lost, S3 may say that there is no such upload any more."""
    if server.kind != "s3":
        pytest.skip("of S3's protocol")
    data = bytes(20 << 20)
    proxy.fault = nth(6, "lose", "gone")
    with storage.open_output(path) as file:
        file.write(data)
    assert storage.read(path) == data


@pytest.mark.parametrize("number", [1, 2, 3, 6])
def test_of_a_file_that_could_not_be_written_nothing_is_put(
    storage: ObjectStorage, proxy: Losing, path: str, number: int
) -> None:
    proxy.fault = nth(number, *["forbid"] * 20)
    file = storage.open_output(path)
    with pytest.raises(StorageError, match=r"^\w+://\S+ can't be \w+ \(access denied\): [\w ]+$"):  # noqa: PT012
        file.write(bytes(20 << 20))
        file.close()
    proxy.fault = lambda method, number: ""
    with suppress(StorageError):
        file.close()
    del file
    assert storage.stat(path) is None


def test_a_walk_that_breaks_goes_on_where_it_was(storage: ObjectStorage, proxy: Losing, path: str) -> None:
    folder = path.rpartition("/")[0]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: storage.create(f"{folder}/{number:04}", b"x"), range(1500)))
    proxy.seen.clear()
    proxy.fault = nth(2, "reset")
    assert [one.name for one in storage.walk(folder)] == [f"{number:04}" for number in range(1500)]
    assert proxy.seen == ["GET"] * 3


def test_a_server_that_is_gone_is_one_line(server: Server, path: str) -> None:
    nobody = ObjectStorage(server.settings("http://127.0.0.1:9"))
    with pytest.raises(StorageError, match=r"^\w+://\S+/lake/file can't be read \(connection refused\)$"):
        nobody.read(path)


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down", "reset"])
@pytest.mark.parametrize("each", [3, 7])
def test_writes_over_a_bad_line_are_what_they_say(
    server: Server, proxy: Losing, path: str, what: str, each: int
) -> None:
    base = path.rpartition("/")[0] + "/t"
    lake = Lake().reached_by(server.options(proxy.url))
    table = HudiTable.create(base, name="t", record_key_fields=["id"], table_type="MERGE_ON_READ", lake=lake)
    proxy.fault = lambda method, number: what if number % each == 0 else ""
    table.upsert(pa.table({"id": [1, 2, 3], "v": [1, 1, 1]}))
    table.refreshed().upsert(pa.table({"id": [3, 4], "v": [2, 2]}))
    proxy.fault = lambda method, number: ""
    found = table.refreshed().scan(columns=["id", "v"]).to_arrow().to_pydict()
    assert dict(zip(found["id"], found["v"], strict=True)) == {1: 1, 2: 1, 3: 2, 4: 2}
    assert len(table.refreshed().timeline.completed_commits()) == 2
    assert [str(one) for one in validate(base, deep=True, lake=lake)] == []


@pytest.mark.parametrize(("folders", "each"), [(1, 30), (60, 3), (3, 2)])
def test_deletions_say_what_was_there(
    storage: ObjectStorage, proxy: Losing, path: str, folders: int, each: int
) -> None:
    """Few are looked at one by one, more are listed, wherever they lie."""
    top = path.rpartition("/")[0]
    paths = [f"{top}/p{number % folders}/f{number}" for number in range(folders * each)]
    there = set(paths[::2])
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda one: storage.create(one, b"x"), [*there, f"{top}/p0/other"]))
    proxy.seen.clear()
    assert storage.delete_files(paths) == [one in there for one in paths]
    looks = Counter(proxy.seen)
    assert (looks["HEAD"], looks["GET"]) == ((len(paths), 0) if len(paths) < 10 else (0, 1))
    assert [one.path for one in storage.walk(top)] == [f"{top}/p0/other"]


def test_a_listing_that_goes_on_for_too_long_ends(storage: ObjectStorage, proxy: Losing, path: str) -> None:
    top = path.rpartition("/")[0]
    paths = [f"{top}/a", *(f"{top}/z{number}" for number in range(10))]
    with ThreadPoolExecutor(16) as pool:
        others = [f"{top}/m{number:04}" for number in range(1001)]
        list(pool.map(lambda one: storage.create(one, b"x"), [*paths[:5], *others]))
    proxy.seen.clear()
    assert storage.delete_files(paths) == [True] * 5 + [False] * 6
    assert (proxy.seen.count("GET"), proxy.seen.count("HEAD")) == (1, 10)
