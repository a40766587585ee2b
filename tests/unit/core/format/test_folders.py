"""One module names the folders of a table's own files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[4]
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef)


def named_folders(source: str) -> Iterator[int]:
    """Lines of a module with a text that is a path in ``.hoodie``; sentences and docstrings may name one."""
    tree = ast.parse(source)
    docs = {id(one.body[0].value) for one in ast.walk(tree) if isinstance(one, DOCUMENTED) and _has_text(one)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            text = node.value
            if " " not in text and (text == ".hoodie" or text.startswith(".hoodie/") or "/.hoodie" in text):
                yield node.lineno


def _has_text(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return bool(node.body) and isinstance(node.body[0], ast.Expr)


@pytest.mark.parametrize("text", ['FOLDER = ".hoodie/.aux/x"', 'f"{base}/.hoodie"', 'name != ".hoodie"'])
def test_a_folder_is_seen(text: str) -> None:
    assert list(named_folders(text)) == [1]


@pytest.mark.parametrize("text", ['"""In ``.hoodie/.aux``."""', 'error("give the name of a folder in .hoodie")'])
def test_words_of_it_are_passed_over(text: str) -> None:
    assert list(named_folders(text)) == []


def test_nothing_but_the_format_names_a_folder_of_a_table() -> None:
    found = []
    for package in ("spark_jobs", "airflow_provider_pyhudi"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if not name.startswith("spark_jobs/core/format/"):
                found += [f"{name}:{line}" for line in named_folders(path.read_text())]
    assert found == [], "ask the table's format, or take it from spark_jobs/core/format/folders.py"
