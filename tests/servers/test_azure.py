"""What is Azure's own: the forms of a URL, files that are read without asking for their end, and SAS tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest

from spark_jobs.core.clock import SYSTEM_CLOCK
from spark_jobs.core.errors import StorageError
from spark_jobs.core.lake import Lake
from spark_jobs.core.storage.objects.storage import ObjectStorage
from spark_jobs.core.storage.objects.streams import TAIL_BYTES
from tests.servers.losing import Losing, losing
from tests.support.azure import ACCOUNT, AZURE_SERVER, KEY

pytestmark = [pytest.mark.azure, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def container() -> str:
    return AZURE_SERVER.new_bucket().partition("://")[2]


@pytest.fixture(scope="module")
def proxy() -> Iterator[Losing]:
    with losing(AZURE_SERVER.endpoint()) as found:
        yield found


@pytest.mark.parametrize(
    "form",
    [
        *("az://{}", "abfs://{}", "abfss://{}", "abfss://{}@devstoreaccount1.dfs.core.windows.net"),
        *("wasb://{}@devstoreaccount1.blob.core.windows.net", "wasbs://{}@devstoreaccount1.blob.core.windows.net"),
    ],
)
def test_files_lie_below_the_url_that_was_asked_for(container: str, form: str) -> None:
    top = form.format(container)
    place = Lake().reached_by(AZURE_SERVER.options()).place(f"{top}/{form.partition(':')[0]}/t")
    storage, path = place.storage, f"{place.path}/a/file"
    storage.replace(path, b"1")
    status = storage.stat(path)
    assert status is not None
    assert status.path == path
    assert [one.path for one in storage.list(place.path)] == [f"{place.path}/a"]
    assert [one.path for one in storage.list(f"{place.path}/a")] == [path]
    assert [one.path for one in storage.walk(place.path)] == [path]
    whole = ObjectStorage(AZURE_SERVER.settings())
    assert whole.read(f"az://{container}/{form.partition(':')[0]}/t/a/file") == b"1"


@pytest.mark.parametrize(("size", "requests"), [(10, 1), (TAIL_BYTES, 1), (TAIL_BYTES + 1, 2), (3 * TAIL_BYTES, 2)])
def test_the_end_of_a_file_takes_two_requests_at_most(container: str, proxy: Losing, size: int, requests: int) -> None:
    storage, path = ObjectStorage(AZURE_SERVER.settings(proxy.url)), f"az://{container}/ends/{size}"
    content = bytes(range(256)) * (size // 256 + 1)
    storage.replace(path, content[:size])
    proxy.seen.clear()
    with storage.open_input(path) as file:
        assert file.size() == size
        file.seek(size - 8)
        assert file.read() == content[size - 8 : size]
    assert proxy.seen == ["GET"] * requests


def test_a_file_that_is_replaced_meanwhile_is_an_error(container: str, proxy: Losing) -> None:
    storage, path = ObjectStorage(AZURE_SERVER.settings(proxy.url)), f"az://{container}/replaced"
    storage.replace(path, b"1" * 3 * TAIL_BYTES)
    proxy.seen.clear()

    def replaced(method: str, number: int) -> str:
        if method == "GET" and number == 2:
            ObjectStorage(AZURE_SERVER.settings()).replace(path, b"2" * 3 * TAIL_BYTES)
        return ""

    proxy.fault = replaced
    with pytest.raises(StorageError, match="can't be read"):
        storage.open_input(path)
    proxy.fault = lambda method, number: ""


def test_a_sas_token_opens_what_it_allows_and_is_never_shown(container: str) -> None:
    storage, path = ObjectStorage(AZURE_SERVER.settings()), f"az://{container}/sas/file"
    storage.replace(path, b"1")
    token = sas("rl")
    lake = Lake().reached_by(
        {"account_name": ACCOUNT, "azure_endpoint": AZURE_SERVER.endpoint(), "sas_token": f"?{token}"}
    )
    place = lake.place(f"az://{container}/sas")
    assert place.storage.read(path) == b"1"
    assert [one.path for one in place.storage.list(place.path)] == [path]
    with pytest.raises(StorageError) as error:
        place.storage.create(f"{place.path}/new", b"")
    signature = token.rpartition("sig=")[2]
    assert signature not in str(error.value) + repr(error.value) + repr(place) + repr(lake)


def sas(rights: str) -> str:
    """An account SAS for blobs (Create an account SAS, in the reference of Azure's REST API)."""
    until = (SYSTEM_CLOCK.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    version, services, kinds = "2021-06-08", "b", "sco"
    signed = f"{ACCOUNT}\n{rights}\n{services}\n{kinds}\n\n{until}\n\nhttps,http\n{version}\n\n"
    signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), signed.encode(), hashlib.sha256)).decode()
    said = {"sv": version, "ss": services, "srt": kinds, "sp": rights, "se": until, "spr": "https,http"}
    return urlencode({**said, "sig": signature})
