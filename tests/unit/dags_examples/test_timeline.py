"""Bars from a timeline's files, and the picture of them."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dags_examples.demo.instants import Bar, read_bars
from dags_examples.demo.timeline_svg import draw
from spark_jobs.core.timeline.payloads.avro_codec import encode_payload
from spark_jobs.core.timeline.payloads.schemas import ROLLBACK_METADATA

pytestmark = pytest.mark.unit

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def instant(seconds: int) -> str:
    return f"{NOON + timedelta(seconds=seconds):%Y%m%d%H%M%S}123"


def put(folder: Path, name: str, seconds: float, content: bytes = b"") -> None:
    path = folder / name
    path.write_bytes(content)
    moment = (NOON + timedelta(seconds=seconds)).timestamp()
    os.utime(path, (moment, moment))


def rollback_content(rolled_back: str) -> bytes:
    return encode_payload(
        ROLLBACK_METADATA,
        {
            "startRollbackTime": instant(20),
            "timeTakenInMillis": 1,
            "totalFilesDeleted": 0,
            "commitsRollback": [rolled_back],
            "partitionMetadata": {},
        },
    )


def set_zone(base_path: Path, zone: str) -> None:
    lines = ["hoodie.table.name=t", "hoodie.table.type=MERGE_ON_READ", "hoodie.table.version=6"]
    lines += ["hoodie.timeline.layout.version=1", f"hoodie.table.timeline.timezone={zone}"]
    lines.append(f"hoodie.table.checksum={zlib.crc32(b'.t')}")
    (base_path / ".hoodie" / "hoodie.properties").write_text("\n".join(lines) + "\n")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / ".hoodie"
    folder.mkdir()
    set_zone(tmp_path, "UTC")
    commit = json.dumps({"operationType": "BULK_INSERT"}).encode()
    put(folder, f"{instant(0)}.deltacommit.requested", 0)
    put(folder, f"{instant(0)}.deltacommit.inflight", 1)
    put(folder, f"{instant(0)}.deltacommit", 4, commit)
    put(folder, f"{instant(20)}.rollback.requested", 20)
    put(folder, f"{instant(20)}.rollback.inflight", 20)
    put(folder, f"{instant(20)}.rollback", 21, rollback_content(instant(10)))
    put(folder, f"{instant(30)}.compaction.requested", 30)
    put(folder, f"{instant(30)}.compaction.inflight", 35)
    put(folder, f"{instant(30)}.commit", 40, json.dumps({"operationType": "COMPACT"}).encode())
    put(folder, f"{instant(50)}.commit.requested", 50)
    put(folder, f"{instant(50)}.inflight", 51)
    put(folder, f"{instant(60)}.clean.requested", 60)
    (folder / "archived").mkdir()
    return tmp_path


def test_each_instant_is_a_bar_and_a_rolled_back_one_is_told_by_its_rollback(table: Path) -> None:
    bars = read_bars(str(table))
    assert [(bar.action, bar.label, bar.finished is not None, bar.rolled_back_by) for bar in bars] == [
        ("deltacommit", "bulk_insert", True, None),
        ("rolled back", "rolled back", False, instant(20)),
        ("rollback", "rollback", True, None),
        ("compaction", "compaction", True, None),
        ("commit", "commit", False, None),
        ("clean", "clean", False, None),
    ]
    first = bars[0]
    assert first.planned == NOON + timedelta(milliseconds=123)
    assert first.started == NOON + timedelta(seconds=1)
    assert first.finished == NOON + timedelta(seconds=4)


def test_instants_in_local_time_are_read_in_local_time(table: Path) -> None:
    set_zone(table, "LOCAL")
    local = datetime(2026, 3, 1, 12, 0, 0, 123000).astimezone(UTC)
    assert read_bars(str(table))[0].planned == local


def test_the_picture_is_xml_and_shows_every_kind_of_action(table: Path) -> None:
    picture = draw({"flights & more": read_bars(str(table))})
    root = ElementTree.fromstring(picture)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"flights & more", "deltacommit", "compaction", "rollback", "clean", "pending"} <= set(texts)
    assert any("rolled back by" in (title.text or "") for title in root.iter("{http://www.w3.org/2000/svg}title"))


def test_idle_hours_take_no_room() -> None:
    bars = [
        Bar(instant=str(n), action="commit", label="upsert", planned=at, started=at, finished=at + timedelta(seconds=5))
        for n, at in enumerate([NOON, NOON + timedelta(seconds=20), NOON + timedelta(hours=5)])
    ]
    picture = draw({"flights": bars})
    assert "⋯ 4 h ⋯" in picture
    widths = [
        float(r.get("width", 0)) for r in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect")
    ]
    assert sum(width > 100 for width in widths[1:]) >= 3


def test_an_empty_timeline_is_an_error() -> None:
    with pytest.raises(ValueError, match="no instant to draw"):
        draw({"flights": []})
