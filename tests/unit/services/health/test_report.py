"""The report in text and the picture, as a reader gets them."""

from __future__ import annotations

import io
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from spark_jobs.services.health.advice import advise
from spark_jobs.services.health.facts import MIB, GroupLoad, readable, size_bounds
from spark_jobs.services.health.job import marks_of
from spark_jobs.services.health.picture import draw
from spark_jobs.services.health.text import ASCII, BLOCKS, class_names, report
from tests.unit.services.health.healthy import HEALTHY, health, partition, pending

pytestmark = pytest.mark.unit

SVG = "{http://www.w3.org/2000/svg}"
BUSY = health(
    archivable=5,
    active_commits=35,
    commits_since_compaction=10,
    rows=1234,
    largest_logs=(
        GroupLoad(partition="p" * 40, file_id="f" * 36, base_bytes=0, log_bytes=4 * MIB, logs=3),
        GroupLoad(partition="q", file_id="g", base_bytes=MIB, log_bytes=MIB, logs=1),
    ),
    largest_partitions=(partition("<a&b>", 4 * MIB, small=2), partition("b", 1), partition("c", 0)),
    pending=(pending(overdue=True, hours=30), pending(alive=True)),
)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (1 << 30, "1.0 GiB")]
)
def test_bytes_for_a_person(size: int, text: str) -> None:
    assert readable(size) == text


def test_the_limit_of_small_files_is_a_bound() -> None:
    assert [bound // MIB for bound in size_bounds(100 * MIB)] == [1, 4, 16, 64, 100, 256, 1024]
    assert size_bounds(0) == size_bounds(64 * MIB)
    assert class_names(HEALTHY.sizes) == [
        "below 1 MiB",
        "1 MiB to 4 MiB",
        "4 MiB to 16 MiB",
        "16 MiB to 64 MiB",
        "64 MiB to 100 MiB",
        "100 MiB to 256 MiB",
        "256 MiB to 1 GiB",
        "1 GiB or more",
    ]


def test_a_report_of_a_healthy_table() -> None:
    lines = report(HEALTHY, ()).splitlines()
    assert lines[0] == "trips  MERGE_ON_READ, version 6, listed by its metadata table"
    assert "  3 partitions, 12 file groups, 12 base files (1.3 GiB), 4 logs (4.0 MiB)" in lines
    assert f"  100 MiB to 256 MiB         {'█' * 30}      12         0 B" in lines
    assert f"  commits since compaction   {'█' * 24}{'·' * 6}       4  of 5" in lines
    assert lines[-1] == "Nothing is due."


@pytest.mark.parametrize("width", [40, 80, 100, 200])
def test_lines_keep_to_the_terminal(width: int) -> None:
    text = report(BUSY, advise(BUSY), width, ASCII)
    assert "\x1b" not in text
    assert text.isascii() or "…" in text
    advice = text.split("What would help")[1]
    assert max(len(line) for line in advice.splitlines()) <= max(width, 60)


def test_what_a_busy_table_adds() -> None:
    text = report(BUSY, advise(BUSY))
    for words in (
        "1,234 rows in base files",
        "3 log(s), no base",
        "1 log(s) on 1.0 MiB",
        "OVERDUE",
        "its writer is alive",
        "! compaction (compact.py, HudiCompactionOperator)",
        "- archival (archive.py, HudiArchiveOperator)",
        "2 small",
    ):
        assert words in text


@pytest.mark.parametrize("seen", [HEALTHY, BUSY, health(largest_partitions=(), base_files=0, sizes=HEALTHY.sizes)])
def test_the_picture_is_whole(seen: object) -> None:
    assert isinstance(seen, type(HEALTHY))
    root = ElementTree.fromstring(draw(seen, advise(seen)))
    height, width = float(root.attrib["height"]), float(root.attrib["width"])
    for shape in root.iter(f"{SVG}rect"):
        assert float(shape.get("x", 0)) >= 0
        assert float(shape.get("x", 0)) + float(shape.attrib["width"]) <= width
        assert float(shape.get("y", 0)) + float(shape.attrib["height"]) <= height
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.attrib["y"]) < height
    words = " ".join("".join(one.itertext()) for one in root.iter(f"{SVG}text"))
    assert all(one.job in words for one in advise(seen))
    assert "trips" in words


def test_a_stream_that_can_not_show_blocks_gets_signs() -> None:
    assert marks_of(io.TextIOWrapper(io.BytesIO(), "ascii")) == ASCII
    assert marks_of(io.TextIOWrapper(io.BytesIO(), "utf-8")) == BLOCKS


def test_a_table_without_files() -> None:
    nothing = tuple(replace(one, files=0) for one in HEALTHY.sizes)
    lines = report(health(sizes=nothing, largest_partitions=(), partitions=0), ()).splitlines()
    assert "  none" in lines
