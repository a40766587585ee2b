"""Files and folders of the code that the pages name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
_PATH = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+(?:\.py|/))`|`((?:[a-z_0-9]+/)+[a-z_0-9]+)`")
_CODE = (
    "airflow_provider_pyhudi",
    "benchmarks",
    "dags_examples",
    "distributions",
    "pyhudi",
    "scripts",
    "spark_jobs",
    "tests",
)
_ELSEWHERE = frozenset(
    {
        *("archived/", "metadata/", "us/"),  # folders of tables, or of a user
        *("options/vacuum.py", "services/vacuum.py", "spark_jobs/vacuum.py", "operators/vacuum.py"),  # an example
    }
)


@pytest.fixture(scope="module")
def there() -> str:
    """Every file and folder of the code, each in its line and with a slash in front; behind folders one more."""
    found = [
        path for top in _CODE for path in (ROOT / top, *(ROOT / top).rglob("*")) if "__pycache__" not in path.parts
    ]
    return "\n".join(f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}" for path in found) + "\n"


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: page.name)
def test_what_a_page_names_is_there(page: Path, there: str) -> None:
    named = {file or folder for file, folder in _PATH.findall(page.read_text(encoding="utf-8"))} - _ELSEWHERE
    missing = [path for path in sorted(named) if not re.search(rf"/{re.escape(path)}(/|\.py)?$", there, re.MULTILINE)]
    assert missing == []
