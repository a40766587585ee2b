"""The examples of docs/python.md run, one after the other, as they stand there."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def test_the_examples_run(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) > 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block.replace("/lake/", f"{tmp_path}/"), str(PAGE), "exec"), names)
