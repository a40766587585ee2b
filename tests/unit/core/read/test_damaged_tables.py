"""Tables that Hudi wrote, some of their files damaged: read as far as they go, or an error of ours."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest

from spark_jobs.core.clock import SystemClock
from spark_jobs.core.errors import HudiError
from tests.support.folder import Folder, unzip

pytestmark = pytest.mark.unit

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
ARCHIVES = sorted(path for path in FIXTURES.glob("*/*.zip") if "before" not in path.name)
DAMAGES = 6


class HastyClock(SystemClock):
    """Waits for no writer to complete what is cut."""

    def sleep(self, seconds: float) -> None:
        pass


CLOCK = HastyClock()


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.stem)
def test_any_damage_is_an_error_of_ours(archive: Folder, root: Folder) -> None:
    chance = random.Random(archive.stem)
    unzip(archive, root)
    table = next(path for path in root.iterdir() if (path / ".hoodie").is_dir())
    files = [path for path in sorted(table.rglob("*")) if path.is_file() and path.size]
    whole = {path: path.read_bytes() for path in files if not path.name.endswith(".crc")}
    own = [path for path in whole if ".hoodie" in str(path)]
    for number in range(DAMAGES):
        chosen = chance.sample(own if number % 2 else sorted(whole), 1 + number % 3)
        for path in chosen:
            path.write_bytes(_damaged(whole[path], chance))
        _use(table)
        for path in chosen:
            path.write_bytes(whole[path])


def _damaged(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    form = chance.randrange(4)
    if form == 0:
        return bytes(data[: chance.randrange(len(data))])
    if form == 1:
        return chance.randbytes(chance.randrange(200))
    for _ in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _use(path: Folder) -> None:
    with suppress(HudiError):
        table = path.by(CLOCK).table()
        for query in ("snapshot", "read_optimized"):
            with suppress(HudiError):
                table.scan(query=query).to_arrow()
        with suppress(HudiError):
            archive = table.archived_timeline()
            for instant in archive.instants:
                with suppress(HudiError):
                    archive.payload(instant)
        for instant in table.timeline.instants:
            with suppress(HudiError):
                table.timeline.payload(instant, CLOCK)
