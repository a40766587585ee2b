"""The commands that the pages show have options that their jobs take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark_jobs.options.flags import flags_of
from spark_jobs.options.registry import JOBS

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
_COMMAND = re.compile(
    r"^    (?:spark-submit|python)\b.*?spark_jobs[./]([a-z_]+)(?:\.py)? (.*(?:\\\n.*)*)", re.MULTILINE
)
COMMANDS = sorted(
    (page.name, job, text)
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    for job, text in _COMMAND.findall(page.read_text(encoding="utf-8"))
)
NAMES: dict[str, set[str]] = {}
for one in JOBS:
    NAMES.setdefault(one.options.job, set()).update(
        name for flag in flags_of(one.options).values() for name in flag.names
    )


def test_pages_show_commands() -> None:
    assert len(COMMANDS) > 8


@pytest.mark.parametrize(("page", "job", "text"), COMMANDS)
def test_a_command_has_options_of_its_job(page: str, job: str, text: str) -> None:
    assert [word for word in re.findall(r"(?<!\S)--[a-z-]+", text) if word not in NAMES[job]] == []
