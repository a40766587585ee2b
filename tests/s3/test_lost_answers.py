"""Requests to S3 whose answers are lost, or that the server wants later: what was put counts once."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa
import pytest

from spark_jobs.core.errors import AlreadyExistsError, EtagMismatchError, StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage.objects.storage import ObjectStorage
from spark_jobs.core.table import HudiTable
from spark_jobs.services.validation.run import validate
from tests.s3.losing import Losing, losing
from tests.support import s3

pytestmark = [pytest.mark.s3, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Losing]:
    with losing(s3.endpoint()) as found:
        yield found


@pytest.fixture
def path(proxy: Losing) -> Iterator[str]:
    bucket = str(uuid4())
    s3.make_bucket(bucket)
    proxy.seen.clear()
    yield f"s3://{bucket}/lake/file"
    proxy.fault = lambda method, number: ""


@pytest.fixture
def storage(proxy: Losing) -> ObjectStorage:
    return ObjectStorage(s3.settings(proxy.url))


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


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down"])
def test_a_file_is_created_once(storage: ObjectStorage, proxy: Losing, path: str, what: str) -> None:
    done, proxy.fault = first("PUT", what)  # type: ignore[assignment]
    storage.create(path, b"mine")
    assert done
    assert storage.read(path) == b"mine"
    with pytest.raises(AlreadyExistsError):
        storage.create(path, b"another's")


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down"])
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


def test_who_lost_the_answer_and_the_race_is_told_so(storage: ObjectStorage, proxy: Losing, path: str) -> None:
    def another_is_faster(method: str, number: int) -> str:
        if method != "PUT" or proxy.seen.count("PUT") > 1:
            return ""
        ObjectStorage(s3.settings()).create(path, b"another's")
        return "refuse"

    proxy.fault = another_is_faster
    with pytest.raises(AlreadyExistsError):
        storage.create(path, b"mine")
    assert storage.read(path) == b"another's"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST"])
@pytest.mark.parametrize("what", ["lose", "refuse", "slow down"])
def test_what_is_asked_or_deleted_is_asked_again(
    storage: ObjectStorage, proxy: Losing, path: str, method: str, what: str
) -> None:
    storage.create(path, b"0123456789")
    _, proxy.fault = first(method, what)  # type: ignore[assignment]
    assert storage.read(path, 2, 3) == b"234"
    assert storage.stat(path) is not None
    assert [one.path for one in storage.list(path.rpartition("/")[0])] == [path]
    assert storage.delete(path)
    assert storage.stat(path) is None


def test_a_server_that_is_gone_is_one_line(path: str) -> None:
    nobody = ObjectStorage(s3.settings("http://127.0.0.1:9"))
    with pytest.raises(StorageError, match=r"^s3://\S+/lake/file can't be read \(connection refused\)$"):
        nobody.read(path)


@pytest.mark.parametrize("what", ["lose", "refuse", "slow down"])
@pytest.mark.parametrize("nth", [3, 7])
def test_writes_over_a_bad_line_are_what_they_say(proxy: Losing, path: str, what: str, nth: int) -> None:
    base = path.rpartition("/")[0] + "/t"
    lake = Lake().reached_by({**s3.options(), "endpoint": proxy.url})
    table = HudiTable.create(base, name="t", record_key_fields=["id"], table_type="MERGE_ON_READ", lake=lake)
    proxy.fault = lambda method, number: what if number % nth == 0 else ""
    table.upsert(pa.table({"id": [1, 2, 3], "v": [1, 1, 1]}))
    table.refreshed().upsert(pa.table({"id": [3, 4], "v": [2, 2]}))
    proxy.fault = lambda method, number: ""
    found = table.refreshed().scan(columns=["id", "v"]).to_arrow().to_pydict()
    assert dict(zip(found["id"], found["v"], strict=True)) == {1: 1, 2: 1, 3: 2, 4: 2}
    assert len(table.refreshed().timeline.completed_commits()) == 2
    assert [str(one) for one in validate(base, deep=True, lake=lake)] == []
